"""Reads every Python traceback out of a text, whatever tool printed it and however it was pasted.

One pass over the lines; each shape has its own reader, which says where it ended. Failures that Python joins by
a sentence ("During handling of the above exception ...") are one chain, outermost exception last.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rebug.intake import tb_python as plain
from rebug.intake.lines import Line, numbered
from rebug.intake.tb_other import (
    IPYTHON_HEADER,
    PYSPY_HEADER,
    PYTEST_ERROR,
    RICH_HEADER,
    PytestReader,
    read_ipython,
    read_pyspy,
    read_rich,
)
from rebug.model import Failure

MAX_CHAIN = 40
MAX_FAILURES = 2000

_WHERE = (
    (re.compile(r"Exception in thread "), "thread"),
    (re.compile(r"Exception ignored (?:in|on|while)\b"), "unraisable"),
    (re.compile(r"(?:Task|Future) exception was never retrieved"), "task"),
)
_BARE = re.compile(r"^(?:[EI]\s{1,8})?(?P<type>(?:[^\W\d]\w*\.){0,12}[^\W\d]\w*)(?:: (?P<message>\S.*)|:)?$")
_BARE_NAME = re.compile(
    r"(?:Error|Exception|ExceptionGroup|Interrupt|Exit|StopIteration|StopAsyncIteration|Timeout|Failure)$"
)
_FOREIGN = re.compile(r"^\s+at [\w.$<>\[\] ]{1,200}\(?")  # a stack frame of another language
_FATAL = re.compile(r"^Fatal Python error: (?P<message>.{1,300})$")


@dataclass(slots=True)
class _Scan:
    """The failures found so far and what the next one is joined to."""

    found: list[Failure] = field(default_factory=list)
    linked: bool = False  # a connecting sentence was read after the last failure
    depth: int = 0  # length of the last chain
    where: str = ""
    where_until: int = 0
    fatal: str = ""

    def add(self, failure: Failure, at: int) -> None:
        if len(self.found) >= MAX_FAILURES:
            return
        where = self.where if at <= self.where_until else ""
        if self.linked and self.found and self.depth < MAX_CHAIN:
            cause = self.found.pop()
            self.found.append(plain.with_cause(failure, cause, where or cause.where))
            self.depth += 1
        else:
            self.found.append(replace(failure, where=where) if where else failure)
            self.depth = 1
        self.linked, self.where = False, ""

    def note(self, text: str, at: int) -> None:
        """Take in a line that is no failure itself."""
        if plain.CONNECTOR.search(text):
            self.linked = bool(self.found)
            return
        if "xception" in text:
            for pattern, where in _WHERE:
                if pattern.search(text):
                    self.where, self.where_until = where, at + 8
        fatal = _FATAL.match(text.strip())
        if fatal:
            self.fatal = fatal["message"]
        if text.strip(" |>+-"):
            self.linked = False


def parse_tracebacks(text: str) -> tuple[Failure, ...]:
    """Every failure shown in `text`, in order; never raises, linear in the length of `text`.

    Frames run from the outermost call inwards, also for dumps that list the most recent call first (type "").
    `complete` is False where the top or the bottom was cut off, so for a lone last line too. `where` is "thread",
    "unraisable" or "task" when the line before says so, else "printed". `line` is the 1-based line in `text`.
    """
    lines = numbered(text)
    scan, pytest = _Scan(), PytestReader()
    i = 0
    while i < len(lines):
        read = _read_at(lines, i, scan, pytest)
        if read is None:
            scan.note(lines[i].text, i)
            pytest.see(lines[i].text)
            i += 1
            continue
        failure, end = read
        if failure.type or failure.frames or failure.message:
            scan.add(failure, i)
        i = max(end, i + 1)
    return tuple(scan.found)


def _read_at(lines: Sequence[Line], i: int, scan: _Scan, pytest: PytestReader) -> tuple[Failure, int] | None:
    """The failure that begins at `lines[i]` with the index after it, or None."""
    text = lines[i].text
    if not text:
        return None
    header = plain.HEADER.search(text)
    if header:
        return _read_headed(lines, i, header.start())
    if "most recent call first" in text and plain.DUMP.search(text):
        message, scan.fatal = scan.fatal, ""
        return plain.read_dump(lines, i + 1, header=i, message=message)
    if text.lstrip().startswith("Thread ") and PYSPY_HEADER.match(text):
        return read_pyspy(lines, i)
    at = text.find('File "')
    if at >= 0:
        return _read_headless(lines, i, at)
    if PYTEST_ERROR.match(text) and (text.lstrip()[1:2] == " " or pytest.frames or pytest.code):
        return pytest.fail(lines, i)
    return _read_bare(lines, i)


def _read_headed(lines: Sequence[Line], i: int, column: int) -> tuple[Failure, int]:
    text = lines[i].text
    ipython = IPYTHON_HEADER.match(text)
    if ipython:
        return read_ipython(lines, i, ipython["type"])
    if RICH_HEADER.match(text):
        return read_rich(lines, i)
    if text[:column].endswith("Exception Group "):
        column -= len("Exception Group ")
        margin = plain.margin_of(lines, i, column)
        if margin.strip(text).lstrip().startswith("+"):
            taken, end = plain.group_extent(lines, i, margin)
            return plain.read_group(taken)[0], end
    return plain.read_plain(lines, i + 1, plain.margin_of(lines, i, column))


def _read_headless(lines: Sequence[Line], i: int, column: int) -> tuple[Failure, int] | None:
    """A traceback that lost its top: it begins with a frame."""
    text = lines[i].text
    width = max(column - 2, 0)
    found = plain.FRAME.match(text[width:])
    if not found:
        return None
    if found["function"] and not found["comma"]:  # the style of dumps: most recent call first
        return plain.read_dump(lines, i, header=i)
    lead = text[:width]
    shape = "".join("0" if c.isdigit() else c for c in lead)
    return plain.read_plain(lines, i, plain.Margin(width, shape), headless=True)


def _read_bare(lines: Sequence[Line], i: int) -> tuple[Failure, int] | None:
    """A lone last line, `package.SomeError: message`."""
    text = lines[i].text.lstrip("> ") if lines[i].text[:1] in "> " else lines[i].text
    found = _BARE.match(text) if text[:1].isalpha() or text[:1] == "_" else None
    if not found or not _BARE_NAME.search(found["type"]) or found["type"] in {"Error", "Failure", "Exit", "Timeout"}:
        return None
    if found["message"] is None and not text.endswith(":") and not _alone(lines, i):
        return None
    if i + 1 < len(lines) and _FOREIGN.match(lines[i + 1].text):
        return None
    margin = plain.Margin(len(lines[i].text) - len(text), "")
    message, notes, end = plain.read_message(lines, i, margin, found["message"] or "")
    return Failure(
        type=found["type"],
        message=message,
        notes=notes,
        complete=False,
        line=lines[i].number,
        where="printed",
    ), end


def _alone(lines: Sequence[Line], i: int) -> bool:
    """Whether a line without a message still reads as a failure: nothing but its name, between blank lines or marks."""
    before = lines[i - 1].text.strip() if i else ""
    after = lines[i + 1].text.strip() if i + 1 < len(lines) else ""
    return before in {"", "...", "[...]", "```"} and after in {"", "```"}
