"""Tracebacks as CPython prints them: plain, chained, of exception groups, and faulthandler's dumps.

A traceback found in a report seldom stands at the margin: it is indented, quoted, or every line of it carries the
prefix of a log. `Margin` is worked out from the header and the first frame, and taken off each line while reading.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rebug.intake.lines import Line, looks_logged
from rebug.model import Failure, Frame

MAX_FRAMES = 2000  # a RecursionError written out in full has about a thousand
MAX_MESSAGE_LINES = 60
MAX_DEPTH = 12  # of nested exception groups

HEADER = re.compile(r"Traceback \((?:most recent call last|innermost last)\):?")
DUMP = re.compile(
    r"(?:Current thread|Thread) 0x[0-9a-fA-F]{4,16}.{0,200}\(most recent call first\):?"
    r"|^\s*Stack \(most recent call first\)"
)
FRAME = re.compile(
    r'^(?P<indent>\s*)(?:[>*]\s{0,3})?(?:File|file) ["“](?P<file>[^"”\n]{1,1000})["”], line (?P<line>\d{1,9})'
    r"(?:(?P<comma>,)? in (?P<function>.{1,400}))?\s*$"
)
FINAL = re.compile(
    r"^(?P<type>(?:(?:[^\W\d]\w*|<locals>|<module>)\.)*[^\W\d]\w*)(?:(?:\s*\[[\w.-]{1,40}\])?:(?:\s(?P<message>.*))?)?$"
)
CONNECTOR = re.compile(
    r"The above exception was the direct cause of the following exception"
    r"|During handling of the above exception, another exception occurred"
)
_MARKERS = re.compile(r"^[\s~^│└┌├─|]+$")
_VALUE_MARK = re.compile(r"^\s*[│└]")
_ELISION = re.compile(
    r"^\s*(?:\[?(?:\.{2,}|…)\]?|<snip>|\[?snip\]?"
    r"|\[\s?(?:truncated|omitted|cut|snipped).{0,60}|\.\.\.<\d+ lines>\.\.\.)\s*$"
)
_REPEATED = re.compile(r"^\s*\[Previous line repeated \d+ more times?\]")
_MEMBER = re.compile(r"^\s*\+(?:-\+)?-{4,}(?: (?P<number>\d+|\.\.\.) -{4,})?\s*$")
_CAPITAL = re.compile(r"(?:^|\.)_*[A-Z]\w*$|(?:error|exception|timeout|Empty|Full)$")
_STOP = re.compile(
    r"^(?:>>> |\.\.\. |In \[\d+\]|Out\[\d+\]|[$%#] "
    r"|[\w.-]{1,40}@[\w.-]{1,60}[:\s]|[A-Z]:\\[^>\n]{0,200}>|```|~~~"
    r"|Exception (?:in|ignored)"
    r"|Task exception was|Future exception was|Process finished with|sys:1:|Fatal Python error"
    r"|={5,}|_{5,}|\+-|Thread 0x|Current thread 0x)"
)
_LOOSE = (
    " " * (2 * MAX_DEPTH + 2) + "\0"
)  # before further lines of a message in a group, which CPython sets at column 0
_CONTINUES = re.compile(r"[:,(\[{\\]$")


@dataclass(frozen=True, slots=True)
class Margin:
    """What stands before each line of a traceback; `shape` is its text with digits made equal."""

    width: int
    shape: str

    def strip(self, text: str) -> str:
        """`text` without the margin, or with only the blanks of it that it has."""
        if not self.width:
            return text
        before = text[: self.width]
        if before.isspace() or not before:
            return text[self.width :]
        if not self.shape.strip():
            kept = len(before) - len(before.lstrip())
            return text[min(self.width, kept) :]
        if _shape(before) == self.shape:
            return text[self.width :]
        if len(before) < self.width and self.shape.startswith(_shape(before).rstrip()):
            return ""
        return text


def _shape(text: str) -> str:
    return "".join("0" if c.isdigit() else c for c in text)


def margin_of(lines: Sequence[Line], header: int, column: int) -> Margin:
    """The margin of the traceback whose header stands at `column` of `lines[header]`."""
    before = lines[header].text[:column]
    if before.rstrip().endswith("+"):
        before = before[: before.rindex("+")]
        before = before.removesuffix("  ")
        return Margin(len(before), _shape(before))
    for line in lines[header + 1 : header + 4]:
        at = line.text.find('File "')
        if at >= 0:
            width = max(at - 2, 0)
            lead = line.text[:width]
            if lead.rstrip().endswith(("|", "+")) and before.rstrip().endswith(("|", "+")):
                return Margin(column, _shape(before))
            return Margin(width, _shape(lead))
        if line.text.strip() and not _ELISION.match(line.text[column:]):
            break
    if not before.strip(" \t>|"):
        return Margin(column, _shape(before))
    return Margin(0, "")


def make_frame(found: re.Match[str], code: str = "") -> Frame:
    return Frame(
        file=found["file"].replace("\\", "/"),
        line=int(found["line"]),
        function=(found["function"] or "").strip(),
        code=code,
    )


@dataclass(slots=True)
class _Frames:
    """The frames read so far, and what was left out."""

    frames: list[Frame]
    cut_top: bool = False
    elided: bool = False  # the last thing read was a mark of omission

    def add(self, found: re.Match[str]) -> None:
        if len(self.frames) < MAX_FRAMES:
            self.frames.append(make_frame(found))
        self.elided = False

    def code(self, text: str) -> None:
        if self.frames and not self.frames[-1].code and not _MARKERS.match(text) and not _VALUE_MARK.match(text):
            self.frames[-1] = replace(self.frames[-1], code=text.strip())


def read_plain(lines: Sequence[Line], start: int, margin: Margin, *, headless: bool = False) -> tuple[Failure, int]:
    """The traceback whose frames begin at `lines[start]`; with the index of the first line after it."""
    read = _Frames([])
    flat = False
    number = lines[max(start - (not headless), 0)].number
    i = start
    while i < len(lines):
        text = margin.strip(lines[i].text)
        found = FRAME.match(text)
        if found:
            flat = flat or (not found["indent"] and not headless)
            read.add(found)
        elif not text.strip():
            if not _goes_on(lines, i + 1, margin):
                break
        elif _ELISION.match(text) or _REPEATED.match(text):
            read.cut_top = read.cut_top or not read.frames
            read.elided = not _REPEATED.match(text) and "<" not in text
        elif text[0].isspace() or _is_flat_code(text, read, flat=flat):
            read.code(text)
        else:
            return _finish(lines, i, margin, read, number, headless=headless)
        i += 1
    return Failure(type="", frames=tuple(read.frames), complete=False, line=number, where="printed"), i


def _is_flat_code(text: str, read: _Frames, *, flat: bool) -> bool:
    """Whether a line at the margin is source: in pastes that lost their indentation, right after its frame."""
    if not flat or not read.frames or read.frames[-1].code:
        return flat and bool(_MARKERS.match(text))
    final = FINAL.match(text)
    return not (final and _CAPITAL.search(final["type"])) and not HEADER.search(text) and not CONNECTOR.search(text)


def _goes_on(lines: Sequence[Line], start: int, margin: Margin) -> bool:
    """Whether a traceback continues after a blank line: with a frame, or with its last line."""
    for line in lines[start : start + 2]:
        text = margin.strip(line.text)
        if not text.strip():
            continue
        if FRAME.match(text):
            return True
        final = FINAL.match(text)
        return bool(final and _CAPITAL.search(final["type"]) and final["message"] is not None)
    return False


def _finish(
    lines: Sequence[Line], at: int, margin: Margin, read: _Frames, number: int, *, headless: bool
) -> tuple[Failure, int]:
    """The last line of a traceback (type and message), or its absence."""
    text = margin.strip(lines[at].text)
    final = FINAL.match(text)
    usable = (
        final
        and not HEADER.search(text)
        and (final["message"] is not None or _CAPITAL.search(final["type"]) or text.islower())
    )
    if not final or not usable:
        return Failure(type="", frames=tuple(read.frames), complete=False, line=number, where="printed"), at
    message, notes, end = read_message(lines, at, margin, final["message"] or "")
    syntax = final["type"].rpartition(".")[2] in {"SyntaxError", "IndentationError", "TabError"}
    complete = not read.cut_top and not read.elided and (not headless or syntax)
    failure = Failure(
        type=final["type"],
        message=message,
        frames=tuple(read.frames),
        notes=notes,
        complete=complete,
        line=number,
        where="printed",
    )
    return failure, end


def read_message(lines: Sequence[Line], at: int, margin: Margin, first: str) -> tuple[str, tuple[str, ...], int]:
    """The message that begins on `lines[at]`, what is written right below it, and the index after both.

    A message of several lines, a note (PEP 678) and unrelated output look alike. Lines that are indented, or that
    follow an open end (`:`, `,`, a bracket), are the message's; others up to a blank line are given as notes.
    """
    message = [first.strip()]
    notes: list[str] = []
    open_end = bool(_CONTINUES.search(first)) or not first.strip()
    i = at + 1
    while i < len(lines) and i - at <= MAX_MESSAGE_LINES:
        text = margin.strip(lines[i].text)
        if not text.strip() or _ends_message(text):
            break
        if not notes and (text[0].isspace() or open_end or _next_is_indented(lines, i, margin)):
            message.append(text.rpartition("\0")[2].rstrip())
            open_end = bool(_CONTINUES.search(text))
        else:
            notes.append(text.strip())
        i += 1
    return "\n".join(message).strip(), tuple(notes), i


def _next_is_indented(lines: Sequence[Line], at: int, margin: Margin) -> bool:
    """A field's name with its complaint indented below it, as validation libraries print."""
    if at + 1 >= len(lines):
        return False
    following = margin.strip(lines[at + 1].text)
    return bool(following.strip()) and following[0].isspace() and not _ends_message(following)


def _ends_message(text: str) -> bool:
    return bool(
        HEADER.search(text)
        or CONNECTOR.search(text)
        or FRAME.match(text)
        or _STOP.match(text)
        or DUMP.search(text)
        or looks_logged(text)
    )


def read_group(lines: Sequence[Line], depth: int = 0) -> tuple[Failure, int]:
    """An exception group and the index after it. `lines` have lost its margin: its own stand at column 0, its members'
    at column 2."""
    own: list[Line] = []
    members: list[list[Line]] = []
    end = len(lines)
    for i, line in enumerate(lines):
        if members and not line.text.startswith((" ", "+", "|")):
            end = i
            break
        if _MEMBER.match(line.text) and not line.text[:1].isspace():
            members.append([])
        elif members:
            inner = line.text[2:] if line.text[:2].isspace() else line.text
            member_mark = _MEMBER.match(inner)
            if member_mark and not inner[:1].isspace() and not inner.startswith("+-+"):
                members.append([])
                continue
            if inner.startswith("|"):
                inner = inner[2:]
            members[-1].append(Line(line.number, inner))
        else:
            own.append(
                Line(line.number, line.text[2:] if line.text.startswith(("| ", "+ ")) else line.text.lstrip("|"))
            )
    start = 1 if own and HEADER.search(own[0].text) else 0
    failure, _ = read_plain(own, start, Margin(0, "")) if own else (Failure(type="", complete=False), 0)
    inside = tuple(_member(part, depth + 1) for part in members if any(line.text.strip() for line in part))
    return replace(failure, members=inside, line=lines[0].number), end


def _member(lines: list[Line], depth: int) -> Failure:
    """A member of a group: itself a plain or chained traceback, a group, or one line."""
    previous: Failure | None = None
    i, linked = 0, False
    while i < len(lines):
        text = lines[i].text
        if not text.strip():
            i += 1
            continue
        if CONNECTOR.search(text):
            linked = previous is not None
            i += 1
            continue
        if "Exception Group Traceback" in text and depth < MAX_DEPTH:
            failure, length = read_group(lines[i:], depth)
            i += length
        elif HEADER.search(text):
            failure, i = read_plain(lines, i + 1, Margin(0, ""))
        elif FINAL.match(text):
            failure, i = _finish(lines, i, Margin(0, ""), _Frames([]), lines[i].number, headless=False)
            i += not failure.type
        else:
            i += 1
            continue
        previous = with_cause(failure, previous) if linked and previous else failure
        linked = False
    return previous or Failure(type="", complete=False, line=lines[0].number if lines else 0, where="printed")


def with_cause(failure: Failure, cause: Failure, where: str = "") -> Failure:
    return replace(failure, cause=cause, where=where or failure.where)


def group_extent(lines: Sequence[Line], header: int, margin: Margin) -> tuple[list[Line], int]:
    """The lines of the group whose header is `lines[header]`, without margin and first column, and the index after."""
    first = margin.strip(lines[header].text)
    column = first.find("+")
    taken = [Line(lines[header].number, first[column + 2 :])]
    i = header + 1
    while i < len(lines):
        text = margin.strip(lines[i].text)
        mark = text.lstrip()[:1]
        if mark not in {"|", "+"}:
            if not _resumes(lines, i + 1, margin):
                break
            taken.append(Line(lines[i].number, f"{_LOOSE}{text}"))
            i += 1
            continue
        at = text.find(mark)
        inner = text[column:] if at >= column else text.lstrip()
        taken.append(Line(lines[i].number, inner))
        i += 1
    return taken, i


def _resumes(lines: Sequence[Line], start: int, margin: Margin) -> bool:
    """Whether the tree of a group goes on within a few lines, without a blank one or a new header before."""
    for line in lines[start : start + 8]:
        text = margin.strip(line.text)
        if not text.strip() or HEADER.search(text):
            return False
        if text.lstrip().startswith(("| ", "+-")):
            return True
    return False


def read_dump(lines: Sequence[Line], start: int, *, header: int, message: str = "") -> tuple[Failure, int]:
    """The frames of a dump that lists the most recent call first, turned round."""
    frames: list[Frame] = []
    i = start
    cut = False
    while i < len(lines):
        found = FRAME.match(lines[i].text.lstrip("> ") if lines[i].text[:1] == ">" else lines[i].text)
        if found:
            if len(frames) < MAX_FRAMES:
                frames.append(make_frame(found))
        elif _ELISION.match(lines[i].text):
            cut = True
        elif not (frames and lines[i].text[:4].isspace() and lines[i].text.strip()):
            break
        i += 1
    failure = Failure(
        type="",
        message=message,
        frames=tuple(reversed(frames)),
        complete=not cut,
        line=lines[header].number,
        where="printed",
    )
    return failure, i
