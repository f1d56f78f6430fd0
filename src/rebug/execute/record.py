"""Reads the harness's record. Everything in it may be forged, cut off or garbage: each field is checked and bounded."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rebug.model import Failure, Frame, LogSeen, WarningSeen

MAX_LINES = 20_000
MAX_TEXT = 20_000
MAX_NODES = 200  # failures of one chain, groups included
MAX_DEPTH = 20
MAX_FRAMES = 400
MAX_EVENTS = 400
MAX_REACHED = 2000
MAX_LINE = 10_000_000
MAX_BYTES = 1 << 50
WHERE = frozenset({"raised", "thread", "unraisable", "task", "logged"})
_STACK = re.compile(r"^(Current thread|Thread|Stack)(?: 0x([0-9a-f]{1,16}))?.{0,120}\(most recent call first\):$")
_FRAME = re.compile(r'^  File "(.{1,1000})", line (\d{1,8}|\?\?\?) in (.{1,300})$')
_FATAL = re.compile(r"^Fatal Python error: .{1,300}$")

Place = Callable[[str], str]
"""Turns a path as the interpreter saw it into the one that is reported; "" for the harness's own, which is left out."""


@dataclass(slots=True)
class Record:
    """What the harness saw, in the order in which it saw it."""

    started: bool = False
    failures: list[Failure] = field(default_factory=list)
    warnings: list[WarningSeen] = field(default_factory=list)
    logs: list[LogSeen] = field(default_factory=list)
    reached: dict[str, None] = field(default_factory=dict)  # an ordered set
    stacks: tuple[tuple[str, tuple[Frame, ...]], ...] = ()
    exit_code: str = ""  # short repr of what SystemExit carried
    last_line: int | None = None
    script_line: int | None = None
    cpu_seconds: float = 0.0
    peak_rss: int = 0
    disk_full: bool = False


def read_record(data: bytes, place: Place) -> Record:
    """The record in `data`; whatever does not make sense is left out. Never raises."""
    record = Record()
    text: list[str] = []
    for line in data.split(b"\n", MAX_LINES)[:MAX_LINES]:
        if line.startswith(b"{"):
            event = _load(line)
            if event is not None:
                _take(record, event, place)
        elif line:
            text.append(line[:2000].decode("utf-8", "replace"))
    _read_dump(record, text, place)
    return record


def _load(line: bytes) -> Mapping[str, object] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _take(record: Record, event: Mapping[str, object], place: Place) -> None:
    kind, child = event.get("k"), event.get("child") is True
    if kind == "start":
        record.started = True
    elif kind == "failure" and len(record.failures) < MAX_EVENTS:
        where = _text(event.get("where"), 20)
        failure = _Reader(place).failure(
            event.get("failure"), "child" if child else where if where in WHERE else "printed"
        )
        if failure is not None:
            record.failures.append(failure)
            record.disk_full = record.disk_full or _disk_full(event.get("failure"))
    elif kind == "warning" and len(record.warnings) < MAX_EVENTS:
        record.warnings.append(
            WarningSeen(
                category=_text(event.get("category"), 200),
                message=_text(event.get("message"), 2000),
                file=place(_text(event.get("file"), 1000)),
                line=_line(event.get("line")),
            )
        )
    elif kind == "log" and len(record.logs) < MAX_EVENTS:
        record.logs.append(
            LogSeen(
                logger=_text(event.get("logger"), 200),
                level=_text(event.get("level"), 40),
                message=_text(event.get("message"), 2000),
                file=place(_text(event.get("file"), 1000)),
                line=_line(event.get("line")),
            )
        )
    elif kind == "reached" and len(record.reached) < MAX_REACHED:
        record.reached[f"{place(_text(event.get('file'), 1000))}:{_text(event.get('function'), 300)}"] = None
    elif kind == "stacks":
        record.stacks = _stacks(event.get("threads"), place)
    elif not child:
        _take_end(record, kind, event)


def _take_end(record: Record, kind: object, event: Mapping[str, object]) -> None:
    if kind == "exit":
        record.exit_code = _text(event.get("code"), 100)
        record.last_line = _line(event.get("last_line"))
        record.script_line = _line(event.get("script_line"))
    elif kind == "end":
        cpu, rss = event.get("cpu"), event.get("rss")
        if isinstance(cpu, (int, float)) and 0 <= cpu < 1e9:
            record.cpu_seconds = float(cpu)
        if isinstance(rss, int) and 0 <= rss < MAX_BYTES:
            record.peak_rss = rss


def _disk_full(value: object) -> bool:
    return isinstance(value, dict) and value.get("disk_full") is True


def _text(value: object, limit: int = MAX_TEXT) -> str:
    """A string that can be written as UTF-8, whatever surrogates the sender put into it."""
    return value[:limit].encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _line(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < MAX_LINE else None


def _list(value: object, limit: int) -> list[object]:
    return value[:limit] if isinstance(value, list) else []


class _Reader:
    """Rebuilds one failure with all that hangs on it, within a common bound."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.left = MAX_NODES

    def failure(self, value: object, where: str, depth: int = 0) -> Failure | None:
        self.left -= 1
        if not isinstance(value, dict) or depth > MAX_DEPTH or self.left < 0:
            return None
        kind = _text(value.get("type"), 300)
        if not kind:
            return None
        members = [self.failure(item, where, depth + 1) for item in _list(value.get("members"), 20)]
        return Failure(
            type=kind,
            message=_text(value.get("message")),
            frames=_frames(value.get("frames"), self.place),
            cause=self.failure(value.get("cause"), where, depth + 1),
            members=tuple(member for member in members if member is not None),
            notes=tuple(_text(note, 2000) for note in _list(value.get("notes"), 20)),
            where=where,
        )


def _frames(value: object, place: Place) -> tuple[Frame, ...]:
    frames = (_frame(item, place) for item in _list(value, MAX_FRAMES) if isinstance(item, dict))
    return tuple(frame for frame in frames if frame.file)


def _frame(value: Mapping[str, object], place: Place) -> Frame:
    pairs = [pair for pair in _list(value.get("values"), 8) if isinstance(pair, list) and len(pair) == 2]
    return Frame(
        file=place(_text(value.get("file"), 1000)),
        line=_line(value.get("line")),
        function=_text(value.get("function"), 300),
        code=_text(value.get("code"), 300),
        values=tuple((_text(name, 100), _text(shown, 80)) for name, shown in pairs),
    )


def _stacks(value: object, place: Place) -> tuple[tuple[str, tuple[Frame, ...]], ...]:
    found = [item for item in _list(value, 100) if isinstance(item, dict)]
    return tuple((_text(item.get("name"), 100), _frames(item.get("frames"), place)) for item in found)


def _read_dump(record: Record, lines: list[str], place: Place) -> None:
    """Takes in what faulthandler wrote: the stack at a fatal signal, or those at a limit when Python was stuck."""
    fatal = ""
    stacks: list[tuple[str, list[Frame]]] = []
    for line in lines:
        header, frame = _STACK.match(line), _FRAME.match(line)
        if _FATAL.match(line):
            fatal = line
            stacks = []
        elif header:
            stacks.append((f"thread 0x{header[2]}" if header[1] == "Thread" else "MainThread", []))
        elif frame and stacks and len(stacks[-1][1]) < MAX_FRAMES:
            number = int(frame[2]) if frame[2].isdigit() else None
            stacks[-1][1].append(Frame(file=place(frame[1]), line=number, function=frame[3]))
    ordered = tuple((name, tuple(frame for frame in reversed(frames) if frame.file)) for name, frames in stacks[:50])
    if fatal:
        frames = ordered[0][1] if ordered else ()
        record.failures.insert(0, Failure(type="", message=_text(fatal), frames=frames))
    elif ordered and not record.stacks:
        record.stacks = ordered
