"""Tracebacks in a log of any size: each distinct one once, with how often it stands there and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

MARK = b"(most recent call "
MAX_LINES = 200  # of one traceback, with those it came from
MAX_DISTINCT = 200
MAX_KEPT = 40_000  # bytes of one traceback

_DIGITS = b"0123456789"
_LINKS = (b"During handling of the above", b"The above exception was the direct")


@dataclass(slots=True)
class Trace:
    """The text of a traceback with two lines before it, and its occurrences."""

    text: str
    count: int
    first: int
    last: int

    @property
    def lead(self) -> int:
        """Lines before the header."""
        return self.text.partition(MARK.decode())[0].count("\n")


@dataclass(slots=True)
class Traces:
    """The tracebacks found so far by their digit-less text."""

    found: dict[bytes, Trace] = field(default_factory=dict)
    total: int = 0
    _open: tuple[list[bytes], int] | None = None  # one that the last block cut off, and its line

    def feed(self, block: bytes, raw: Sequence[bytes], start: int) -> None:
        """Take in a block and its lines, which follow line `start`."""
        done = 0
        if self._open is not None:
            lines, line = self._open
            self._open = None
            joined = [*lines, *raw[:MAX_LINES]]
            end = _end(joined, 0)
            self._add(joined[: end or len(joined)], line)
            done = max(0, (end or len(joined)) - len(lines))
        at, line = block.find(MARK), 0
        seen = 0
        while at >= 0:
            line += block.count(b"\n", seen, at)
            seen = at
            if line >= done:
                end = _end(raw, line)
                if end is None and len(raw) - line < MAX_LINES:
                    self._open = (list(raw[line:]), start + line + 1)
                    return
                done = end if end is not None else line + MAX_LINES
                self._add(raw[max(0, line - 2) : done], start + line + 1)
            at = block.find(MARK, at + len(MARK))

    def _add(self, lines: Sequence[bytes], line: int) -> None:
        self.total += 1
        text = b"\n".join(lines)[:MAX_KEPT]
        begin = text.find(MARK)
        key = text[begin:].translate(None, _DIGITS)
        known = self.found.get(key)
        if known is not None:
            known.count += 1
            known.last = line
        elif len(self.found) < MAX_DISTINCT:
            self.found[key] = Trace(text.decode("utf-8", "replace"), 1, line, line)


def _end(raw: Sequence[bytes], at: int) -> int | None:
    """The index after the traceback that begins on line `at`; None when it is not in `raw`."""
    header = raw[at]
    column = header.find(b"Traceback")
    column = max(column, 0)
    if b"\\n" in header[column:]:  # one line of JSON
        return at + 1
    prefix = header[:column]
    mark = prefix.translate(None, _DIGITS)
    number = at + 1
    while number < len(raw) and number - at < MAX_LINES:
        line = _inner(raw[number], column, mark)
        if line[:1] not in (b" ", b"\t", b"|", b"+", b""):
            following = _linked(raw, number + 1, column, mark)
            if following is None:
                return number + 1
            number = following
        elif not line and number - at > 1 and raw[number - 1][:1] not in (b" ", b""):
            return number
        number += 1
    return None if number >= len(raw) else number


def _inner(line: bytes, column: int, mark: bytes) -> bytes:
    """The line without the prefix that a collector puts before each."""
    line = line.rstrip(b"\r")
    return line[column:] if column and line[:column].translate(None, _DIGITS) == mark else line


def _linked(raw: Sequence[bytes], number: int, column: int, mark: bytes) -> int | None:
    """The header's index of a traceback joined to the one that ended before `number`, None when there is none."""
    linked = False
    for at in range(number, min(len(raw), number + 5)):
        line = _inner(raw[at], column, mark)
        linked = linked or line.startswith(_LINKS)
        if linked and line.startswith(b"Traceback"):
            return at
        if line and not linked:
            return None
    return None
