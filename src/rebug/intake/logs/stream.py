"""Logs as blocks of whole lines, unpacked on the way, in memory that does not grow with the log."""

from __future__ import annotations

import bz2
import gzip
import importlib
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

BLOCK = 1 << 20
"""Bytes of a block: large enough that the work per block does not count, small beside the memory allowed."""

MAX_LINE = 1 << 16
"""Bytes of a line that are kept of one that fills a whole block."""

MAX_UNPACKED = 16 << 30
"""Bytes that are read of one log, so that what a small file unpacks to has an end."""

DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError)
"""What unpacking raises for damaged or cut files."""

_PACKED = ((b"\x1f\x8b", "gz"), (b"BZh", "bz2"), (b"\xfd7zXZ", "xz"), (b"\x28\xb5\x2f\xfd", "zst"))


def packing_of(head: bytes) -> str:
    """gz, bz2, xz or zst by the first bytes of a file, "" for anything else."""
    return next((name for magic, name in _PACKED if head.startswith(magic)), "")


def opened(path: Path) -> BinaryIO:
    """The log in `path`, unpacked as it is read. Raises OSError, and ValueError where zstd is not available."""
    with path.open("rb") as file:
        packing = packing_of(file.read(8))
    if packing == "gz":
        return cast(BinaryIO, gzip.open(path, "rb"))
    if packing == "bz2":
        return cast(BinaryIO, bz2.open(path, "rb"))
    if packing == "xz":
        return cast(BinaryIO, lzma.open(path, "rb"))
    if packing == "zst":
        return _zstd(path)
    return path.open("rb")


def _zstd(path: Path) -> BinaryIO:
    for name in ("compression.zstd", "backports.zstd"):  # the standard library's from Python 3.14
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        return cast(BinaryIO, module.open(path, "rb"))
    raise ValueError("zstd needs the package backports.zstd (`pip install backports.zstd`), or Python 3.14")


def blocks(stream: BinaryIO, size: int = BLOCK) -> Iterator[bytes]:
    """Blocks of whole lines, each ending with a line feed; a line longer than a block is cut to `MAX_LINE`."""
    rest, total = b"", 0
    while total < MAX_UNPACKED:
        data = stream.read(size)
        if not data:
            break
        total += len(data)
        cut = data.rfind(b"\n") + 1
        if cut:
            yield rest + data[:cut] if rest else data[:cut]
            rest = data[cut:]
        elif len(rest) < MAX_LINE:
            rest += data[:MAX_LINE]
    if rest:
        yield rest + b"\n"
