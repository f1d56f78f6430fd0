"""Cutting files into passages: one per function, the rest of classes and modules, windows elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebug.ports import Passage, Symbol

_LONGEST = 80  # lines of one passage
_OVERLAP = 10
_LONGEST_LINE = 400  # characters; longer ones are data


def cut(text: str, file: str, symbols: Sequence[Symbol]) -> Iterator[Passage]:
    """The passages of one file, in order of line."""
    lines = text.splitlines()
    at = 0
    for symbol in sorted(_leaves(symbols), key=lambda symbol: symbol.line):
        start = _with_decorators(lines, symbol.line - 1, at)
        if start < at:
            continue
        yield from _windows(lines, at, start, file, _around(symbols, at + 1))
        end = min(symbol.end_line, len(lines))
        yield from _windows(lines, start, end, file, symbol.qualname)
        at = max(at, end)
    yield from _windows(lines, at, len(lines), file, _around(symbols, at + 1))


def _leaves(symbols: Sequence[Symbol]) -> list[Symbol]:
    return [symbol for symbol in symbols if symbol.kind in {"function", "method"}]


def _with_decorators(lines: Sequence[str], start: int, floor: int) -> int:
    """The line index where the decorators above a definition begin."""
    place = start
    while place > floor and place > start - 20 and lines[place - 1].lstrip().startswith("@"):
        place -= 1
    return place


def _around(symbols: Sequence[Symbol], line: int) -> str:
    """The class that a line outside of functions stands in, "" at module level."""
    inside = [symbol for symbol in symbols if symbol.kind == "class" and symbol.line <= line <= symbol.end_line]
    return max(inside, key=lambda symbol: symbol.line).qualname if inside else ""


def _windows(lines: Sequence[str], start: int, end: int, file: str, symbol: str) -> Iterator[Passage]:
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    while start < end:
        stop = min(start + _LONGEST, end)
        text = "\n".join(line[:_LONGEST_LINE] for line in lines[start:stop])
        yield Passage(file=file, line=start + 1, end_line=stop, text=text, symbol=symbol)
        if stop == end:
            return
        start = stop - _OVERLAP
