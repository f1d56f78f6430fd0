"""Reported values looked for in an observed output: as they stand, as repr or str, and by their words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rebug.model import Symptom, Value
from rebug.propose.needles import mask, pieces_of

_NUMBERS = {
    "zero": "0", "no": "0", "one": "1", "single": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6",
    "seven": "7", "eight": "8", "nine": "9", "ten": "10", "twice": "2", "once": "1",
}  # fmt: skip
_EMPTY = {"", "''", '""', "[]", "{}", "()", "b''", "set()", "None"}
_LABEL = re.compile(r"^[\w .\[\]()'\"-]{1,40}?(?::|=|->|=>|→)\s*")


@dataclass(frozen=True, slots=True)
class Seen:
    """Wrong lines of an output: their numbers and texts, and the right text where the report gives one."""

    at: tuple[int, ...]
    lines: tuple[str, ...]
    right: str = ""


def same(line: str, value: str) -> bool:
    """Whether a line of output is a reported line: white space, quotes, addresses and paths aside."""
    return _normal(line) == _normal(value)


def _normal(text: str) -> str:
    return mask(text).replace('"', "'").rstrip(".")


def holds(line: str, value: str) -> bool:
    """Whether a line of output shows a value, as the whole line or as a token of it."""
    wanted = _normal(value)
    if not wanted:
        return not line.strip()
    text = _normal(line)
    bare = wanted.strip("'")
    if text == wanted or _LABEL.sub("", text) == wanted or (bare and _LABEL.sub("", text).strip("'") == bare):
        return True
    token = re.compile(r"(?<![\w.])" + re.escape(wanted) + r"(?![\w])")
    return len(wanted) > 1 and bool(token.search(text))


def wrong_lines(symptom: Symptom, output: Sequence[str]) -> list[Seen]:
    """The places where an output shows what the report calls wrong, most telling first."""
    exact = [v for v in symptom.actual if v.exact]
    if len(exact) > 1 and len(symptom.expected) != len(symptom.actual):
        together = _all_seen(exact, symptom, output)
        return [together] if together else []
    found: list[Seen] = []
    for value in symptom.actual:
        pair = _partner(value, symptom)
        if value.exact and len(value.text.splitlines()) > 1:
            seen = _block_seen(value.text, pair.text if pair else "", output)
        elif value.exact:
            seen = _line_seen(value.text, pair.text if pair else "", output)
        else:
            seen = _meant(value.text, output)
        found.extend([seen] if seen else [])
    return list(dict.fromkeys(found))


def _all_seen(values: Sequence[Value], symptom: Symptom, output: Sequence[str]) -> Seen | None:
    """All the lines of several values that are seen, in order: without a right value for each, nobody knows which of
    them is the wrong one, and only all of them together are what the report says it got."""
    right = symptom.expected[0].text if len(symptom.expected) == 1 and symptom.expected[0].exact else ""
    at: list[int] = []
    start = 0
    for line in (x for value in values for x in value.text.splitlines()):
        place = next((n for n in range(start, len(output)) if same(output[n], line)), None)
        place = (
            place if place is not None else next((n for n in range(start, len(output)) if holds(output[n], line)), None)
        )
        if place is not None and stable(output[place]):
            at.append(place)
            start = place + 1
    return Seen(tuple(at), tuple(output[n] for n in at), right) if at else None


def _partner(value: Value, symptom: Symptom) -> Value | None:
    """The expected value that belongs to an actual one: the one at the same place of the two lists."""
    if len(symptom.expected) == len(symptom.actual):
        return symptom.expected[symptom.actual.index(value)]
    return symptom.expected[0] if len(symptom.expected) == 1 else None


def _line_seen(text: str, right: str, output: Sequence[str]) -> Seen | None:
    whole = [n for n, line in enumerate(output) if same(line, text)]
    places = whole or [n for n, line in enumerate(output) if holds(line, text)]
    places = [n for n in places if stable(output[n])]
    if not places:
        return None
    at = places[0]
    return Seen((at,), (output[at],), right)


def _block_seen(text: str, right: str, output: Sequence[str]) -> Seen | None:
    """Lines of a reported wrong output that the right one does not have, if all of them are seen, in order."""
    expected = [_normal(line) for line in right.splitlines()]
    wanted = text.splitlines()
    aligned = len(expected) == len(wanted)
    telling = [
        line
        for n, line in enumerate(wanted)
        if line.strip()
        and stable(line)
        and not (_normal(line) == expected[n] if aligned else _normal(line) in expected)
    ]
    at: list[int] = []
    start = 0
    for line in telling:
        place = next((n for n in range(start, len(output)) if same(output[n], line)), None)
        if place is None:
            return None
        at.append(place)
        start = place + 1
    return Seen(tuple(at), tuple(output[n] for n in at), right.replace("\n", " / ")) if at else None


def _meant(words: str, output: Sequence[str]) -> Seen | None:
    """A value given in words: "empty", "one statement", "None instead of …"; only where one line can be meant."""
    low = words.lower()
    first = re.search(r"\b(" + "|".join(_NUMBERS) + r"|\d{1,9})\b", low)
    if re.search(r"\b(empty|nothing|blank)\b", low):
        places = [n for n, line in enumerate(output) if _LABEL.sub("", line.strip()).strip() in _EMPTY]
    elif first:
        number = _NUMBERS.get(first[1], first[1])
        places = [n for n, line in enumerate(output) if _LABEL.sub("", line.strip()).strip() == number]
    else:
        literal = re.search(r"\b(None|True|False)\b", words)
        places = [n for n, line in enumerate(output) if literal and holds(line, literal[1])]
    return Seen((places[0],), (output[places[0]],)) if len(places) == 1 else None


def expected_place(symptom: Symptom, output: Sequence[str]) -> tuple[int, str] | None:
    """The line of an output that stands where the only expected value should: with as many lines as expected ones."""
    exact = [v.text for v in symptom.expected if v.exact]
    if symptom.actual or not exact:
        return None
    lines = exact[0].splitlines() if len(exact) == 1 else exact
    if len(lines) != len(output):
        return None
    differing = [(n, want) for n, (want, line) in enumerate(zip(lines, output, strict=True)) if not same(line, want)]
    return differing[0] if len(differing) == 1 or (differing and len(lines) > 1) else None


def stable(line: str) -> bool:
    """Whether enough of a line would be printed alike by another run."""
    return bool(pieces_of(line)) or mask(line) == " ".join(line.split())
