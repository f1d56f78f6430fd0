"""How many times slower a report says something is. Pure."""

from __future__ import annotations

import re

_WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "eight": 8, "ten": 10, "twenty": 20, "fifty": 50, "hundred": 100,
          "hundreds": 100, "thousand": 1000, "thousands": 1000, "dozen": 12, "dozens": 12}  # fmt: skip
_SAID = re.compile(
    r"\b(?P<number>\d{1,6}(?:\.\d{1,3})?) ?(?:x\b|×|times\b|-?fold\b)"
    rf"|\b(?P<word>{'|'.join(_WORDS)}) (?:of )?times\b|\b(?P<orders>two|three|four|five|several) orders of magnitude\b"
    r"|\b(?P<order>an order of magnitude)\b",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\bslow\w*|\blonger\b|\bfast\w*|\bspeed\w*|\btime\b|\bratio\b|\bas long\b|\btak\w+|\btook\b", re.IGNORECASE
)


def factor_said(text: str) -> float:
    """The factor between the times that a text compares, the first sentence that gives one deciding; 0.0 for none."""
    for sentence in re.split(r"(?<=[.!?])\s|\n", text[:50_000]):
        if not _ABOUT.search(sentence):
            continue
        for found in _SAID.finditer(sentence[:2000]):
            value = _value(found)
            if value > 1:
                return value
    return 0.0


def _value(found: re.Match[str]) -> float:
    if found["number"]:
        return float(found["number"])
    if found["word"]:
        return float(_WORDS[found["word"].lower()])
    if found["orders"]:
        return 10.0 ** _WORDS.get(found["orders"].lower(), 2)
    return 10.0
