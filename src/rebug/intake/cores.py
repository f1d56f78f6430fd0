"""Core dumps among a report's attachments, told in the words that the rest of intake reads.

A core is recognised by its content, packed or not. What the kernel noted in it is read here; stacks and locals come
from pystack and gdb, which run in the sandbox, since a core is a stranger's file.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rebug.errors import SandboxUnavailable
from rebug.intake.core_file import HEAD_BYTES, CoreFile, is_core, read_core
from rebug.intake.logs.stream import DAMAGED, opened
from rebug.intake.tracebacks import parse_tracebacks
from rebug.model import Block, BlockKind, Report
from rebug.ports import Command, Limits, Sandbox

MOST_CORES = 3
MOST_BYTES = 2 << 30
"""Bytes of a core, unpacked, that the tools are given; a larger one is told of by its notes alone."""

LIMITS = Limits(wall_seconds=40, cpu_seconds=40, memory_bytes=2 << 30, output_bytes=4 << 20, processes=32)
_CHUNK = 1 << 20
_SECTIONS = 60_000  # characters of a tool's output that are kept
_GDB_STACK = ("set pagination off", "set print frame-arguments none", "thread apply all bt 64")


@dataclass(frozen=True, slots=True)
class _Told:
    """What a core gave: the text for the report, and what could not be had."""

    text: str
    notes: tuple[str, ...] = ()


def with_cores(report: Report, sandbox: Sandbox | None = None) -> Report:
    """The report with what its cores tell. Without a sandbox no tool is run. Raises nothing for what a core holds."""
    attachments, notes, blocks, failures = [], list(report.notes), list(report.blocks), list(report.failures)
    done = 0
    for one in report.attachments:
        core = _core_in(one.path) if not one.text and done < MOST_CORES else None
        if core is None:
            attachments.append(one)
            continue
        done += 1
        told = _tell(one.path, one.name, core, sandbox)
        attachments.append(replace(one, media="core", text=told.text))
        notes = [note for note in notes if f" {one.name} " not in f"{note} "] + list(told.notes)
        blocks.append(Block(text=told.text, kind=BlockKind.LOG, line=1, attachment=one.name))
        failures += [failure for failure in parse_tracebacks(told.text) if failure.frames]
    if not done:
        return report
    return replace(
        report,
        attachments=tuple(attachments),
        notes=tuple(notes),
        blocks=tuple(blocks),
        failures=tuple(failures),
    )


# -------------------------------------------------------------------------------------------------------------- reading


def _read(path: Path, size: int) -> bytes:
    """At most `size` bytes of a file, unpacked; what comes before a fault in it."""
    parts: list[bytes] = []
    for data in _chunks(path):
        parts.append(data[:size])
        size -= len(parts[-1])
        if size == 0:
            break
    return b"".join(parts)


def _chunks(path: Path) -> Iterator[bytes]:
    """The parts of a file, unpacked; a packed one that is cut off or damaged ends there."""
    try:
        with opened(path) as file:
            while data := file.read(_CHUNK):
                yield data
    except DAMAGED:
        return


def _core_in(path: Path) -> CoreFile | None:
    return read_core(_read(path, HEAD_BYTES)) if is_core(_read(path, 64)) else None


# -------------------------------------------------------------------------------------------------------------- telling


def _tell(path: Path, name: str, core: CoreFile, sandbox: Sandbox | None) -> _Told:
    noted = "\n".join(noted_lines(core))
    if sandbox is None:
        return _Told(noted, (f"no tool looked into the core {name}: there is no sandbox to run it in",))
    try:
        with tempfile.TemporaryDirectory(prefix="rebug-core-") as directory:
            place = Path(directory) / "core"
            if not _copied(path, place):
                return _Told(
                    noted, (f"the core {name} is larger than {MOST_BYTES >> 30} GiB: only its notes were read",)
                )
            text, notes = _looked_into(place, name, core, sandbox)
    except (OSError, SandboxUnavailable) as error:
        return _Told(noted, (f"no tool could look into the core {name}: {error}",))
    return _Told(f"{noted}\n{text}".strip(), tuple(notes))


def noted_lines(core: CoreFile) -> Iterator[str]:
    """The notes of a core in the words of a debugger and of the kernel's log."""
    if core.signal:
        yield f"Program {core.program or '?'} terminated with signal {core.signal} ({core.threads} threads)"
    if core.address is not None and core.pointer is not None and core.signal in {"SIGSEGV", "SIGBUS"}:
        module = core.module
        place = (
            f" in {module.name.rpartition('/')[2]}[{module.start:x}+{module.end - module.start:x}]" if module else ""
        )
        yield (
            f"{core.program or '?'}[{core.pid}]: segfault at {core.address:x} ip {core.pointer:016x} "
            f"sp {core.stack or 0:016x}{place}"
        )


def _copied(path: Path, place: Path) -> bool:
    """Whether the core, unpacked, is at `place` now: all of it that is there."""
    written = 0
    with place.open("wb") as out:
        for data in _chunks(path):
            written += len(data)
            if written > MOST_BYTES:
                return False
            out.write(data)
    return True


def _looked_into(place: Path, name: str, core: CoreFile, sandbox: Sandbox) -> tuple[str, list[str]]:
    notes: list[str] = []
    texts: list[str] = []
    runner = _Runner(sandbox=sandbox, core=place, program=executable(core))
    is_python = any("python" in one.name.rpartition("/")[2] for one in core.files) or "python" in core.program
    if is_python and importlib.util.find_spec("pystack") is None:
        notes.append(
            f"pystack is missing, so the Python stack in the core {name} was not read: pip install rebug[cores]"
        )
    elif is_python:
        output = runner.run([sys.executable, "-m", "pystack", "core", str(place)], ["--locals", "--native"])
        texts.append(python_stack(output))
        if not texts[-1]:
            notes.append(f"pystack found no Python stack in the core {name}: it is cut off, or of an unknown build")
    if not any(texts):
        gdb = shutil.which("gdb")
        if gdb is None:
            notes.append(f"gdb is missing, so the native stack in the core {name} was not read: install gdb")
        else:
            texts.append(native_stack(runner.run(*gdb_command(gdb, place, runner.program))))
            if not texts[-1]:
                notes.append(f"gdb found no stack in the core {name}")
    return "\n".join(text for text in texts if text), notes


def executable(core: CoreFile) -> Path | None:
    """The program that left the core, where this machine has it under the same path."""
    names = [one.name for one in core.files if one.name.startswith("/") and one.offset == 0 and ".so" not in one.name]
    for name in names[:3]:
        path = Path(os.path.normpath(name))
        if path.is_file() and os.access(path, os.X_OK):
            return path
    return None


def gdb_command(gdb: str, core: Path, program: Path | None) -> tuple[list[str], list[str]]:
    """(command, further arguments) that print every thread's stack and run no script that lies beside a library."""
    safe = ["-nx", "-batch", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off"]
    commands = [part for command in _GDB_STACK for part in ("-ex", command)]
    return [gdb, *safe, *commands], [*([str(program)] if program else []), str(core)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runner:
    """Runs a tool on one core in the sandbox."""

    sandbox: Sandbox
    core: Path
    program: Path | None
    readable: tuple[Path, ...] = field(default_factory=lambda: (Path(sys.prefix), Path(sys.base_prefix)))

    def run(self, command: Sequence[str], further: Sequence[str]) -> str:
        readable = [self.core.parent, *self.readable]
        if self.program is not None and not self.program.is_relative_to("/usr"):
            readable.append(self.program.parent)
        done = self.sandbox.run(
            Command(
                argv=[*command, *further],
                variables={"PATH": "/usr/bin:/bin", "HOME": "/home/u", "LANG": "C.UTF-8", "NO_COLOR": "1"},
                readable=readable,
                limits=LIMITS,
            )
        )
        return (done.stdout or done.stderr).decode("utf-8", "replace")


# ---------------------------------------------------------------------------------------------------------- translating

_THREAD = re.compile(r"^Traceback for thread (?P<id>\d{1,10})(?P<told>.{0,200}?) \(most recent call last\):")
_PYTHON = re.compile(
    r'^\s{2,8}\(Python\) File "(?P<file>[^"]{1,600})", line (?P<line>\d{1,8}), in (?P<function>.{1,300})$'
)
_NATIVE = re.compile(r'^\s{2,8}\(C\) File "(?P<file>[^"]{1,600})", line (?P<line>\d{1,8}), in (?P<function>.{1,300})$')
_VALUE = re.compile(r"^\s{6,12}(?P<name>[A-Za-z_]\w{0,60}): (?P<value>.{1,300})$")


def python_stack(output: str) -> str:
    """pystack's threads as faulthandler writes them, the one that holds the lock first, with locals as `name=value` and
    native frames as a debugger's; "" when there is no Python frame in it."""
    threads: list[tuple[bool, list[str], list[str], list[str]]] = []
    for line in output.splitlines()[:20_000]:
        if (found := _THREAD.match(line)) is not None:
            threads.append(("GIL" in found["told"], [], [], []))
        elif threads and (found := _PYTHON.match(line)) is not None:
            threads[-1][1].append(f'  File "{found["file"]}", line {found["line"]} in {found["function"]}')
            threads[-1][2].clear()  # native frames further out are the interpreter's own
            threads[-1][3].append("")
        elif threads and (found := _NATIVE.match(line)) is not None:
            threads[-1][2].append(_native_line(found))
        elif threads and (found := _VALUE.match(line)) is not None:
            threads[-1][3].append(f"{found['name']}={found['value']}")
    threads.sort(key=lambda thread: not thread[0])
    lines: list[str] = []
    for number, (_, python, native, values) in enumerate(thread for thread in threads if thread[1]):
        lines.append(f"{'Current thread' if number == 0 else 'Thread'} 0x{number + 1:08x} (most recent call first):")
        lines += [*reversed(python), ""]
        if number == 0:
            lines += [f"#{depth} {frame}" for depth, frame in enumerate(reversed(native))]
            lines += [value for value in values if value][-40:]
    return "\n".join(lines)[:_SECTIONS].strip()


def _native_line(found: re.Match[str]) -> str:
    function, _, library = found["function"].rpartition(" (")
    function = function.removesuffix(" (inlined)") or found["function"]
    known = found["file"] != "???" and found["line"] != "0"
    return f"{function} () at {found['file']}:{found['line']}" if known else f"{function} () from {library.rstrip(')')}"


_GDB_LINE = re.compile(r"^#\d{1,4}\s|^Thread \d{1,6} \(|^\[Current thread")


def native_stack(output: str) -> str:
    """gdb's stack lines from the first thread on; "" when there are none."""
    lines = [line[:600] for line in output.splitlines() if _GDB_LINE.match(line)]
    start = next((number for number, line in enumerate(lines) if line.startswith("Thread ")), 0)
    return "\n".join(lines[start:])[:_SECTIONS]
