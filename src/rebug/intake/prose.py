"""Sentences of a report with the line they begin on, and the code spans in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_BREAK = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)(?<!vs\.)[\"')\]*]{0,3} {1,3}(?=[\"'(`*\[]?[A-Z\d`])")
_NEW_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)]|\||#{1,6})\s")
SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)(?P<code>[^`\n]{1,400}?)(?<!`)\1(?!`)")
MAX_SENTENCE = 1500


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence or line of a list or table; `section` is the heading it stands under."""

    text: str
    line: int
    section: str = ""


def sentences_of(lines: Sequence[str], first: int, section: str = "") -> list[Sentence]:
    """The sentences of a run of prose whose first line has number `first`."""
    out: list[Sentence] = []
    buffer: list[str] = []
    began = first
    for offset, raw in enumerate(lines):
        text = re.sub(r"^(?:\s{0,3}> ?){1,6}", "", raw) if raw.lstrip().startswith(">") else raw
        line_item = bool(_NEW_ITEM.match(text)) or _is_row(text)
        if (not text.strip() or line_item) and buffer:
            out += _split(buffer, began, section)
            buffer = []
        if not text.strip():
            continue
        if not buffer:
            began = first + offset
        buffer.append(" ".join(text.split()))
        if _is_row(text):
            out += _split(buffer, began, section)
            buffer = []
    return out + (_split(buffer, began, section) if buffer else [])


def _is_row(text: str) -> bool:
    """A line that stands for itself: of a table, or `key: value`."""
    stripped = text.strip()
    return stripped.startswith("|") or bool(
        re.match(r"^(?:\*\*)?[\w ./-]{2,40}(?:\*\*)?:(?:\*\*)?\s+\S.{0,120}$", stripped)
    )


def _split(buffer: Sequence[str], began: int, section: str) -> list[Sentence]:
    """Cut joined lines at sentence ends, keeping the line on which each sentence begins."""
    joined = " ".join(buffer)
    starts: list[int] = []
    position = 0
    for text in buffer:
        starts.append(position)
        position += len(text) + 1
    out: list[Sentence] = []
    at = row = 0
    for piece, end in _pieces(joined):
        while row + 1 < len(starts) and starts[row + 1] <= at:
            row += 1
        if piece.strip():
            out.append(Sentence(piece.strip()[:MAX_SENTENCE], began + row, section))
        at = end
    return out


def _pieces(text: str) -> list[tuple[str, int]]:
    out: list[tuple[str, int]] = []
    at = 0
    for found in _BREAK.finditer(text):
        out.append((text[at : found.start()], found.end()))
        at = found.end()
    out.append((text[at:], len(text)))
    return out


def spans(text: str) -> list[str]:
    """The code spans of a sentence, in order."""
    return [found["code"].strip() for found in SPAN.finditer(text) if found["code"].strip()]


def plain(text: str) -> str:
    """`text` without Markdown's marks, links reduced to their words."""
    text = re.sub(r"!?\[([^\]\n]{0,200})\]\([^)\s]{0,400}\)", r"\1", text)
    return re.sub(r"[*_]{2,3}|`", "", text).strip()
