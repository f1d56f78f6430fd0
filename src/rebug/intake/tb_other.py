"""Tracebacks and stacks that other tools print: IPython and Jupyter, rich, pytest, py-spy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rebug.intake.lines import Line
from rebug.intake.tb_python import FINAL, MAX_FRAMES, Margin, read_message
from rebug.model import Failure, Frame

IPYTHON_HEADER = re.compile(r"^\s*(?P<type>[^\W\d][\w.]*)\s{2,}Traceback \(most recent call last\)")
RICH_HEADER = re.compile(r"^\s*[╭┌+][─\-]+ ?Traceback \(most recent call last\)")
PYSPY_HEADER = re.compile(
    r"^\s{0,8}Thread (?:0x)?[0-9A-Fa-f]{1,16}(?: \((?:idle|active|active\+gil)\))(?:: \".{0,100}\")?\s*$"
)
PYTEST_ERROR = re.compile(r"^\s{0,8}E(?: {2,}(?P<text>.*)|$)")

_PYSPY_FRAME = re.compile(r"^\s{2,}(?P<function>[^\s(][^(]{0,200}) \((?P<file>[^()\n]{1,400}):(?P<line>\d{1,9})\)\s*$")
_CELL = re.compile(
    r"^(?:Cell |Input )?In ?\[(?P<cell>\d{1,6}|\*| )\](?:, line (?P<line>\d{1,9}))?"
    r"(?:,? in (?P<function>[^\n]{1,400}))?$"
)
_IPYTHON_FRAME = re.compile(
    r"^(?:File )?(?P<file>[~/\w.<][^\n]{0,600}?)(?::(?P<line>\d{1,9}))?"
    r",? in (?P<function>[^\s(]{1,300})(?:\(.{0,2000})?$"
)
_ARROW = re.compile(r"^\s*-+>\s*(?P<line>\d{1,9})\s?(?P<code>.*)$")
_RICH_FRAME = re.compile(r"^(?P<file>\S.{0,600}?):(?P<line>\d{1,9}) in (?P<function>\S{1,200})$")
_RICH_CODE = re.compile(r"^❱\s*(?P<line>\d{1,9})\s*[│|]?\s?(?P<code>.*)$")
_PYTEST_AT = re.compile(
    r"^\s{0,8}(?P<file>[^\s:][^\n:]{0,400}|[A-Za-z]:[^\n:]{1,400}):(?P<line>\d{1,9}):(?: (?P<rest>[^\n]{0,200}))?$"
)
_PYTEST_CODE = re.compile(r"^\s{0,8}>\s{1,40}(?P<code>\S.*)$")
_PYTEST_DEF = re.compile(r"^\s{1,24}(?:async )?def (?P<name>[^\W\d]\w*)\s?\(")
_PYTEST_RESET = re.compile(r"^\s{0,8}_{3,} .{1,300} _{3,}$|^={5,}")


def read_ipython(lines: Sequence[Line], header: int, type_name: str) -> tuple[Failure, int]:
    """A traceback of IPython or Jupyter, from its header on, and the index after it."""
    frames: list[Frame] = []
    i = header + 1
    last = type_name.rpartition(".")[2]
    margin = Margin(0, "")
    while i < len(lines):
        text = lines[i].text.strip()
        final = FINAL.match(text)
        if final and final["type"].rpartition(".")[2] == last:
            message, notes, end = read_message(lines, i, margin, final["message"] or "")
            failure = Failure(
                type=final["type"], message=message, frames=tuple(frames), notes=notes, line=lines[header].number
            )
            return replace(failure, where="printed"), end
        if "Traceback (most recent call" in text or text.startswith("```"):
            break
        _ipython_line(text, frames)
        i += 1
    return Failure(type=type_name, frames=tuple(frames), complete=False, line=lines[header].number, where="printed"), i


def _ipython_line(text: str, frames: list[Frame]) -> None:
    arrow = _ARROW.match(text)
    if arrow:
        if frames and not frames[-1].code:
            line = frames[-1].line or int(arrow["line"])
            frames[-1] = replace(frames[-1], line=line, code=arrow["code"].strip())
        return
    cell = _CELL.match(text)
    found = cell or (_IPYTHON_FRAME.match(text) if " in " in text else None)
    if not found or len(frames) >= MAX_FRAMES or text[:1].isdigit():
        return
    name = f"<cell {cell['cell']}>" if cell else found["file"].replace("\\", "/")
    function = re.split(r"[(\s]", found["function"] or "<module>", maxsplit=1)[0]
    number = int(found["line"]) if found["line"] else None
    frames.append(Frame(file=name, line=number, function="<module>" if function == "<cell" else function))


def read_rich(lines: Sequence[Line], header: int) -> tuple[Failure, int]:
    """A traceback drawn in a box by rich, and the index after it."""
    frames: list[Frame] = []
    i = header + 1
    while i < len(lines):
        text = lines[i].text.strip()
        if not text.startswith(("│", "|", "╰", "└", "╭", "❱")):
            break
        text = text.strip("│| ").strip()
        found = _RICH_FRAME.match(text)
        code = _RICH_CODE.match(text)
        if found and len(frames) < MAX_FRAMES:
            frames.append(
                Frame(file=found["file"].replace("\\", "/"), line=int(found["line"]), function=found["function"])
            )
        elif code and frames and not frames[-1].code:
            frames[-1] = replace(frames[-1], code=code["code"].strip())
        i += 1
    final = FINAL.match(lines[i].text.strip()) if i < len(lines) else None
    if not final:
        return Failure(type="", frames=tuple(frames), complete=False, line=lines[header].number, where="printed"), i
    message, notes, end = read_message(lines, i, Margin(0, ""), final["message"] or "")
    return Failure(
        type=final["type"],
        message=message,
        frames=tuple(frames),
        notes=notes,
        line=lines[header].number,
        where="printed",
    ), end


def read_pyspy(lines: Sequence[Line], header: int) -> tuple[Failure, int]:
    """A thread's stack in py-spy's dump, which lists the most recent call first, turned round; the index after it."""
    frames: list[Frame] = []
    i = header + 1
    while i < len(lines) and (found := _PYSPY_FRAME.match(lines[i].text)):
        file = found["file"].replace("\\", "/")
        frames.append(Frame(file=file, line=int(found["line"]), function=found["function"].strip()))
        i += 1
    kept = tuple(reversed(frames[:MAX_FRAMES]))
    return Failure(type="", frames=kept, line=lines[header].number, where="printed"), i


@dataclass(slots=True)
class PytestReader:
    """Collects the frames of pytest's own format while the lines go by, until the `E` lines say what happened."""

    frames: list[Frame] = field(default_factory=list)
    code: str = ""
    function: str = ""
    awaiting_code: bool = False

    def see(self, text: str) -> None:
        """Note one line that is not an `E` line."""
        if _PYTEST_RESET.match(text):
            self.clear()
            return
        definition = _PYTEST_DEF.match(text)
        code = _PYTEST_CODE.match(text)
        at = _PYTEST_AT.match(text) if ":" in text else None
        if definition:
            self.function = definition["name"]
        elif code:
            self.code = code["code"]
        elif at and len(self.frames) < MAX_FRAMES:
            rest = (at["rest"] or "").strip()
            named = rest.startswith("in ")
            if named or ".py" in at["file"]:
                function = rest[3:] if named else self.function
                self.frames.append(_frame_at(at, function, "" if named else self.code))
                self.awaiting_code, self.code, self.function = named, "", ""
        elif self.awaiting_code and text.strip() and self.frames:
            self.frames[-1] = replace(self.frames[-1], code=text.strip())
            self.awaiting_code = False

    def clear(self) -> None:
        self.frames, self.code, self.function, self.awaiting_code = [], "", "", False

    def fail(self, lines: Sequence[Line], start: int) -> tuple[Failure, int]:
        """The failure that the `E` lines from `lines[start]` on state, and the index after it."""
        stated: list[str] = []
        i = start
        while i < len(lines):
            found = PYTEST_ERROR.match(lines[i].text)
            if not found:
                break
            stated.append(found["text"] or "")
            i += 1
        type_name, message, notes = _stated(stated)
        after = i
        while after < len(lines) and after < i + 3 and not lines[after].text.strip():
            after += 1
        at = _PYTEST_AT.match(lines[after].text) if after < len(lines) else None
        if at and not (at["rest"] or "").startswith("in "):
            self.frames.append(_frame_at(at, self.function, self.code))
            type_name = type_name or (at["rest"] or "").strip()
            i = after + 1
        failure = Failure(
            type=type_name,
            message=message,
            frames=tuple(self.frames),
            notes=notes,
            complete=bool(self.frames),
            line=lines[start].number,
            where="printed",
        )
        self.clear()
        return failure, i


def _frame_at(at: re.Match[str], function: str, code: str) -> Frame:
    return Frame(file=at["file"].replace("\\", "/"), line=int(at["line"]), function=function.strip(), code=code)


def _stated(lines: Sequence[str]) -> tuple[str, str, tuple[str, ...]]:
    """Type, message and notes from the text of `E` lines."""
    if not lines:
        return "", "", ()
    first = lines[0].strip()
    if first.startswith("assert "):
        return "AssertionError", first, tuple(line.strip() for line in lines[1:] if line.strip())
    final = FINAL.match(first)
    if not final:
        return "", first, tuple(line.strip() for line in lines[1:] if line.strip())
    message = (final["message"] or "").strip()
    rest = [line.strip() for line in lines[1:] if line.strip()]
    if rest and final["type"].endswith("AssertionError") and rest[0].startswith("assert "):
        message = f"{message}\n{rest.pop(0)}".strip()
    return final["type"], message, tuple(rest)
