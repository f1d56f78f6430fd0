"""Reads what the kernel notes in an ELF core: signal, address, registers, threads, mapped files. Bounded; no tool.

Layouts: the ELF specification; Linux, include/uapi/linux/elfcore.h (prstatus, prpsinfo), fs/binfmt_elf.c (NT_FILE).
"""

from __future__ import annotations

import signal
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace

HEAD_BYTES = 64 << 20
"""Bytes of a core that are looked at: the notes stand before the memory, unless something strange wrote it."""

MOST_NOTES = 20_000
MOST_FILES = 20_000
_CORE = 4  # e_type
_NOTE = 4  # p_type
_PRSTATUS, _PRPSINFO, _SIGINFO, _FILE = 1, 3, 0x53494749, 0x46494C45
_MACHINES = {62: ("x86-64", 112 + 16 * 8, 112 + 19 * 8), 183: ("aarch64", 112 + 32 * 8, 112 + 31 * 8)}
"""e_machine → (name, offset of the program counter, offset of the stack pointer in prstatus)."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """A part of a file mapped into the process."""

    start: int
    end: int
    offset: int  # in pages
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreFile:
    """What a core's notes say. Fields that they do not give stay empty."""

    machine: str
    signal: str = ""
    address: int | None = None  # of the fault
    pointer: int | None = None  # the instruction it was at
    stack: int | None = None
    pid: int = 0
    program: str = ""  # at most 15 characters, as the kernel keeps it
    threads: int = 0
    files: tuple[Mapped, ...] = ()

    @property
    def module(self) -> Mapped | None:
        """The mapped file that it died in."""
        return next((one for one in self.files if self.pointer and one.start <= self.pointer < one.end), None)


def is_core(head: bytes) -> bool:
    """Whether a file that begins with `head` (at least 20 bytes) is an ELF core of a little-endian machine."""
    return head[:4] == b"\x7fELF" and head[5:6] == b"\x01" and head[16:18] == b"\x04\x00"


def read_core(data: bytes) -> CoreFile | None:
    """What the notes in the first bytes of a core say; None for a core of 32 bits. Cut off data gives what it holds."""
    if not is_core(data) or data[4:5] != b"\x02" or len(data) < 64:
        return None
    machine = struct.unpack_from("<H", data, 18)[0]
    core = CoreFile(machine=_MACHINES.get(machine, (f"machine {machine}", 0, 0))[0])
    for kind, note in _notes(data):
        if kind == _PRSTATUS:
            core = _status(core, note, machine)
        elif kind == _PRPSINFO and len(note) >= 56:
            core = replace(core, program=_text(note[40:56]))
        elif kind == _SIGINFO and len(note) >= 24 and core.address is None:
            number, address = struct.unpack_from("<i", note, 0)[0], struct.unpack_from("<Q", note, 16)[0]
            core = replace(core, address=address if number in {4, 7, 8, 11} else None)
        elif kind == _FILE:
            core = replace(core, files=tuple(_files(note)))
    return core


def _status(core: CoreFile, note: bytes, machine: int) -> CoreFile:
    """One thread; the first one is the one that died."""
    if core.threads or len(note) < 36:
        return replace(core, threads=core.threads + 1)
    _, pointer_at, stack_at = _MACHINES.get(machine, ("", 0, 0))
    whole = pointer_at and len(note) >= max(pointer_at, stack_at) + 8
    return replace(
        core,
        threads=1,
        signal=_name(struct.unpack_from("<h", note, 12)[0]),
        pid=struct.unpack_from("<i", note, 32)[0],
        pointer=struct.unpack_from("<Q", note, pointer_at)[0] if whole else None,
        stack=struct.unpack_from("<Q", note, stack_at)[0] if whole else None,
    )


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""


def _notes(data: bytes) -> Iterator[tuple[int, bytes]]:
    start, size, count = (*struct.unpack_from("<Q", data, 32), *struct.unpack_from("<HH", data, 54))
    left = MOST_NOTES
    for number in range(count if size >= 56 else 0):
        at = start + number * size
        if at + 56 > len(data):
            return
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", data, at)
        end = min(offset + length, len(data))
        while kind == _NOTE and offset + 12 <= end and left:
            left -= 1
            name_size, note_size, note_kind = struct.unpack_from("<III", data, offset)
            begin = offset + 12 + (name_size + 3 & ~3)
            if begin + note_size > end:
                break
            yield note_kind, data[begin : begin + note_size]
            offset = begin + (note_size + 3 & ~3)


def _files(note: bytes) -> Iterator[Mapped]:
    if len(note) < 16:
        return
    count = min(struct.unpack_from("<Q", note, 0)[0], (len(note) - 16) // 24, MOST_FILES)
    names = note[16 + 24 * count :].split(b"\0", count)
    for number, name in zip(range(count), names, strict=False):
        start, end, offset = struct.unpack_from("<QQQ", note, 16 + 24 * number)
        yield Mapped(start, end, offset, _text(name))


def _text(data: bytes) -> str:
    text = data.split(b"\0", 1)[0][:4096].decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "?" for c in text)
