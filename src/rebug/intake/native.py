"""What a report shows of a crash below Python: kernel log lines, debuggers, sanitizers, allocators, panics.

Pure. Every pattern is bounded and is tried on one line of at most `MAX_LINE` characters at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rebug.intake.lines import split_lines
from rebug.model import Frame, NativeCrash, Report

MAX_LINES = 20_000
MAX_FRAMES = 200
PAGE = 4096
"""Bytes of a page of memory on x86-64, and on most others; a larger page's borders are its borders too."""

_SEGFAULT = re.compile(
    r"\bsegfault at (?P<address>[0-9a-f]{1,16}) ip (?P<ip>[0-9a-f]{1,16}) sp (?P<sp>[0-9a-f]{1,16})"
    r"(?: error (?P<error>[0-9a-f]{1,8}))?(?: (?:likely )?in (?P<module>[^\s\[]{1,300})\[)?"
)
"""Linux, arch/x86/mm/fault.c, show_signal_msg; the module by mm/memory.c, print_vma_addr."""

_TRAP = re.compile(
    r"\btraps: \S{1,64}\[\d{1,9}\] (?P<what>general protection(?: fault)?|trap invalid opcode|trap divide error|"
    r"trap int3|trap stack segment)\b.{0,120}?(?: in (?P<module>[^\s\[]{1,300})\[|$)"
)
_GENERAL = re.compile(r"\bgeneral protection(?: fault)? ip:[0-9a-f]{1,16}.{0,100}? in (?P<module>[^\s\[]{1,300})\[")
_TRAPS = {"trap invalid opcode": "SIGILL", "trap divide error": "SIGFPE", "trap int3": "SIGTRAP"}
_GDB_SIGNAL = re.compile(r"(?:received signal|terminated with signal) (?P<signal>SIG[A-Z]{2,6})\b")
_GDB_FRAME = re.compile(
    r"^\s{0,8}#(?P<number>\d{1,5})\s{1,4}(?:(?:0x[0-9a-f]{1,16}) in )?(?P<function>[^\s(][^(\n]{0,200}?)\s?\("
    r"(?P<rest>.{0,3000})$"
)
_ASAN_FRAME = re.compile(
    r"^\s{0,8}#(?P<number>\d{1,5}) 0x[0-9a-f]{1,16}(?: in (?P<function>\S.{0,200}?))?"
    r"(?: (?P<file>/[^\s:()]{1,300})(?::\d{1,7}){0,2}"
    r"| \((?P<library>[^+()\s]{1,300})(?:\+0x[0-9a-f]{1,16})?\).{0,80})?$"
)
_GDB_PLACE = re.compile(r"\) (?:at (?P<file>[^\s:]{1,300}):(?P<line>\d{1,7})|from (?P<library>\S{1,300}))\s*$")
_VALGRIND_FRAME = re.compile(
    r"^==\d{1,9}== {1,8}(?:at|by) 0x[0-9A-F]{1,16}: (?P<function>[^(\n]{1,200}?) "
    r"\((?:in (?P<library>[^)\n]{1,300})|(?P<file>[^():\n]{1,200}):(?P<line>\d{1,7}))\)"
)
_SANITIZER = re.compile(
    r"\b(?P<tool>AddressSanitizer|UndefinedBehaviorSanitizer|MemorySanitizer|ThreadSanitizer): (?P<what>[\w-]{3,60})"
    r"(?:.{0,60} on (?:unknown )?address (?P<address>0x[0-9a-f]{1,16}))?"
)
_SANITIZER_ACCESS = re.compile(r"^(?:==\d{1,9}==)?\s?(?:The signal is caused by a )?(?P<access>READ|WRITE)\b")
_VALGRIND = re.compile(r"^==\d{1,9}== (?P<what>Invalid (?P<access>read|write) of size \d{1,6})")
_ALLOCATOR = re.compile(
    r"\b(?:double free or corruption(?: \([!\w]{1,12}\))?|"
    r"corrupted (?:size vs\. prev_size|double-linked list|top size)|"
    r"(?:free|malloc|realloc|munmap_chunk|calloc|malloc_consolidate|sysmalloc)\(\): [a-z][\w ./()-]{4,80}|"
    r"malloc: \*\*\* error for object|heap corruption|0xC0000374)",
    re.IGNORECASE,
)
"""glibc's malloc.c (malloc_printerr), macOS's libmalloc, Windows' STATUS_HEAP_CORRUPTION."""

_SMASHED = re.compile(r"\*\*\* (?P<what>stack smashing detected|buffer overflow detected) \*\*\*")
_FATAL = re.compile(r"\bFatal Python error: (?P<what>[^\n]{1,200})")
_OBJECT_MEMORY = re.compile(r"\bdeallocated bytearray|Debug memory block at address|bad (?:leading|trailing) pad byte")
_PANIC = re.compile(r"^thread '[^'\n]{1,80}' (?:\(\d{1,12}\) )?panicked at (?P<what>[^\n]{1,300})")
_WINDOWS = re.compile(r"\b(?:0xC0000005|-1073741819|3221225477)\b", re.IGNORECASE)
_WINDOWS_OVERFLOW = re.compile(r"\b(?:0xC00000FD|-1073741571|3221225725)\b|EXC_BAD_ACCESS.{0,60}stack", re.IGNORECASE)
_MAC = re.compile(r"\bEXC_(?P<what>BAD_ACCESS|CRASH|BAD_INSTRUCTION|ARITHMETIC)\b(?: \((?P<signal>SIG[A-Z]{2,6})\))?")
_MAC_ADDRESS = re.compile(r"\b(?:KERN_INVALID_ADDRESS|KERN_PROTECTION_FAILURE) at (?P<address>0x[0-9a-f]{1,16})\b")
_FAULTING = re.compile(r"(?:Module Name:|Faulting module name:) (?P<module>[^\s,]{1,200})", re.IGNORECASE)
_MAC_FRAME = re.compile(
    r"^(?P<number>\d{1,4})\s{1,8}(?P<library>[\w.+-]{2,120})\s{1,40}0x[0-9a-f]{8,16} (?P<function>\S.{0,200}?)"
    r"(?: \+ \d{1,9})?(?: \((?P<file>[^():]{1,200}):(?P<line>\d{1,7})\))?$"
)
_OVERFLOW_WORDS = re.compile(r"\bstack[- ]overflow\b|\bstack exhaust", re.IGNORECASE)
_NULL_WORDS = re.compile(r"\bnull[- ]pointer\b|\bNULL deref", re.IGNORECASE)

_WORDS = (
    (re.compile(r"SIGSEGV|seg\w{0,12}[ -]?fault|access violation|signal 11\b", re.IGNORECASE), "SIGSEGV"),
    (
        re.compile(
            r"SIGABRT|\babort(?:ed)?\b|double free|free\(\): invalid|munmap_chunk|signal 6\b|assertion .{1,200} failed",
            re.IGNORECASE,
        ),
        "SIGABRT",
    ),
    (re.compile(r"SIGBUS|bus error", re.IGNORECASE), "SIGBUS"),
    (re.compile(r"SIGILL|illegal instruction", re.IGNORECASE), "SIGILL"),
    (re.compile(r"SIGFPE|floating point exception", re.IGNORECASE), "SIGFPE"),
)


@dataclass(slots=True)
class _Seen:
    """What the lines told so far; the first word on each thing counts."""

    crash: NativeCrash = field(default_factory=NativeCrash)
    signal: str = ""
    frames: list[Frame] = field(default_factory=list)
    closed: bool = False  # a second stack has begun

    def note(self, **told: object) -> None:
        fresh = {name: value for name, value in told.items() if value and not getattr(self.crash, name)}
        self.crash = replace(self.crash, **fresh)  # type: ignore[arg-type]

    def says(self, signal: str) -> None:
        self.signal = self.signal or signal


def native_crash(report: Report) -> tuple[NativeCrash | None, str]:
    """(what the report shows of a crash below Python, its signal or ""), None where it shows nothing of it."""
    seen = _Seen()
    for line in _lines(report):
        _kernel(line, seen)
        _debugger(line, seen)
        _words(line[:1000], seen)
    crash = replace(seen.crash, frames=tuple(reversed(seen.frames)))
    if not crash.module and seen.frames:
        crash = replace(crash, module=_library(seen.frames))
    return (crash if crash != NativeCrash() else None), seen.signal


def signal_of(report: Report, told: str) -> str:
    """The signal a crash ended with: the one `told` by a precise line, else by the report's words, else SIGSEGV."""
    if told:
        return told
    text = "\n".join((report.title, report.body[:1_000_000], *(a.text[:100_000] for a in report.attachments)))
    found = [(match.start(), name) for pattern, name in _WORDS if (match := pattern.search(text))]
    named = {name for _, name in found}
    return "SIGSEGV" if "SIGSEGV" in named else min(found)[1] if found else "SIGSEGV"


def _lines(report: Report) -> Iterator[str]:
    left = MAX_LINES
    for text in (report.body, *report.comments[:50], *(a.text for a in report.attachments)):
        for line in split_lines(text)[:left]:
            if len(line) > 8:
                yield line
        left -= text.count("\n")
        if left <= 0:
            return


# --------------------------------------------------------------------------------------------------------------- kernel


def _kernel(line: str, seen: _Seen) -> None:
    if "segfault at" in line and (found := _SEGFAULT.search(line)):
        seen.says("SIGSEGV")
        address, pointer = int(found["address"], 16), int(found["sp"], 16)
        seen.note(
            module=found["module"] or "",
            address=_class_of(address, pointer),
            access=_access(int(found["error"], 16)) if found["error"] else "",
        )
    elif "general protection" in line or "traps:" in line:
        trap = _TRAP.search(line)
        found = trap or _GENERAL.search(line)
        if found:
            seen.says(_TRAPS.get(trap["what"], "SIGSEGV") if trap else "SIGSEGV")
            seen.note(module=found["module"] or "", address="other" if "general" in found[0] else "")


def _class_of(address: int, stack_pointer: int | None = None) -> Literal["null", "page", "stack", "other"]:
    """What an address is: near zero a null pointer with an offset; at most 64 KiB from the stack pointer the stack; the
    first byte of a page is where a read runs into that goes past the end of what is mapped."""
    if address < 16 * PAGE:
        return "null"
    if stack_pointer is not None and abs(address - stack_pointer) <= 16 * PAGE:
        return "stack"
    return "page" if address % PAGE == 0 else "other"


def _access(error: int) -> Literal["read", "write", "execute"]:
    """The bits of x86's page fault error code: 2 is a write, 16 an instruction fetch."""
    return "execute" if error & 16 else "write" if error & 2 else "read"


# ------------------------------------------------------------------------------------------------------------- debugger


def _debugger(line: str, seen: _Seen) -> None:
    """One line of gdb's, a sanitizer's, valgrind's or macOS's output."""
    if (found := _GDB_SIGNAL.search(line)) is not None:
        seen.says(found["signal"])
    if "Sanitizer: " in line and (found := _SANITIZER.search(line)):
        _sanitizer(found, seen)
    elif (found := _VALGRIND.match(line)) is not None:
        seen.note(message=found["what"], access=found["access"])
    elif "READ" in line or "WRITE" in line:
        if (found := _SANITIZER_ACCESS.match(line)) is not None:
            seen.note(access=found["access"].lower())
    elif (found := _MAC.search(line)) is not None:
        seen.says(found["signal"] or {"BAD_ACCESS": "SIGSEGV", "CRASH": "SIGABRT"}.get(found["what"], "SIGILL"))
    if (found := _MAC_ADDRESS.search(line)) is not None:
        seen.note(address=_class_of(int(found["address"], 16)))
    if not seen.closed and (frame := _native_frame(line)) is not None:
        number, made = frame
        if number == 0 and len(seen.frames) > 1:
            seen.closed = True
        elif len(seen.frames) < MAX_FRAMES:
            seen.frames.append(made)


def _sanitizer(found: re.Match[str], seen: _Seen) -> None:
    what = found["what"]
    seen.note(message=f"{found['tool']}: {what}", corruption=what.startswith(("heap", "double", "attempting")))
    if what == "stack-overflow":
        seen.note(address="stack")
    elif found["address"]:
        seen.note(address=_class_of(int(found["address"], 16)))
    seen.says("SIGSEGV")


def _native_frame(line: str) -> tuple[int, Frame] | None:
    """(number, frame) of a line of a native stack; the number is -1 where the format has none."""
    if (found := _VALGRIND_FRAME.match(line)) is not None:
        return -1, _frame(found["function"], found["file"] or found["library"], found["line"])
    if line.lstrip().startswith("#"):
        if (found := _ASAN_FRAME.match(line)) is not None and (found["file"] or found["library"]):
            return int(found["number"]), _frame(found["function"] or "??", found["file"] or found["library"], None)
        if (found := _GDB_FRAME.match(line)) is not None:
            place = _GDB_PLACE.search(")" + found["rest"] if found["rest"].startswith(" ") else found["rest"])
            file = (place["file"] or place["library"]) if place else ""
            return int(found["number"]), _frame(found["function"], file, place["line"] if place else None)
    elif line[:1].isdigit() and (found := _MAC_FRAME.match(line)) is not None:
        return int(found["number"]), _frame(found["function"], found["file"] or found["library"], found["line"])
    return None


def _frame(function: str, file: str, line: str | None) -> Frame:
    return Frame(file=(file or "").replace("\\", "/"), line=int(line) if line else None, function=function.strip())


def _library(frames: Sequence[Frame]) -> str:
    """The innermost library that is neither the C library nor the interpreter's own."""
    for frame in frames:
        name = frame.file.rpartition("/")[2]
        if name and re.search(r"\.(?:so|pyd|dll|dylib)\b", name) and not _is_system(name):
            return name
    return ""


def _is_system(name: str) -> bool:
    return bool(re.match(r"(?:lib(?:c|pthread|m|stdc\+\+|gcc_s|python[\d.]*|asan|system_\w+)|ld-linux\S*)[.-]", name))


# ---------------------------------------------------------------------------------------------------------------- words


def _words(line: str, seen: _Seen) -> None:
    if (found := _SMASHED.search(line)) is not None:
        seen.note(message=found["what"], address="stack" if "stack" in found["what"] else "", access="write")
        seen.says("SIGABRT")
    elif (found := _ALLOCATOR.search(line)) is not None:
        seen.note(message=found[0].strip(" .`"), corruption=True)
        if line.lstrip("> ").startswith(found[0]) or "***" in line:
            seen.says("SIGABRT")
    elif (found := _FATAL.search(line)) is not None:
        _fatal(found["what"].strip(), seen)
    elif (found := _PANIC.match(line.strip())) is not None:
        seen.note(message=found["what"].strip().strip("',"))
    elif _WINDOWS_OVERFLOW.search(line):
        seen.note(address="stack")
        seen.says("SIGSEGV")
    elif _WINDOWS.search(line):
        seen.says("SIGSEGV")
    if (found := _FAULTING.search(line)) is not None:
        seen.note(module=found["module"])
    if _OVERFLOW_WORDS.search(line):
        seen.note(address="stack")
    elif _NULL_WORDS.search(line):
        seen.note(address="null")


def _fatal(what: str, seen: _Seen) -> None:
    """The interpreter's own last words; "Segmentation fault" and the like add nothing to the signal."""
    signals = {"Segmentation fault": "SIGSEGV", "Aborted": "SIGABRT", "Bus error": "SIGBUS",
               "Illegal instruction": "SIGILL", "Floating point exception": "SIGFPE",
               "Floating-point exception": "SIGFPE"}  # fmt: skip
    if what in signals:
        seen.says(signals[what])
        return
    seen.says("SIGSEGV" if "access violation" in what.lower() else "SIGABRT")
    seen.note(message=what, address="stack" if "stack overflow" in what.lower() else "")
    seen.note(corruption=bool(_OBJECT_MEMORY.search(what)))
