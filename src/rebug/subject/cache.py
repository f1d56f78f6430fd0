"""Content-addressed directories that two processes may ask for at once.

A directory counts as finished only once its marker is there. It is made at its final path (virtual environments
cannot be moved) under a file lock that the kernel releases with its holder, so what a killed process left is made anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from rebug.errors import EnvironmentFailed

_MARKER = ".rebug-complete"

held: ContextVar[tuple[int, ...]] = ContextVar("held", default=())
"""Descriptors of the locks held. Tools that write into a locked directory inherit them, so that the lock outlives a
killed rebug for as long as its tool goes on writing."""


def digest(*parts: object) -> str:
    """A short name for the content of `parts` (anything JSON can write)."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of `path`, waiting for whoever has it. Raises EnvironmentFailed when it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = (path.parent / f"{path.name}.lock").open("a")
    except OSError as error:
        raise EnvironmentFailed(f"the cache {path.parent} cannot be written: {error.strerror}") from error
    with lock as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        token = held.set((*held.get(), handle.fileno()))
        try:
            yield
        finally:
            held.reset(token)


def finished(path: Path) -> bool:
    """True when `path` was made to its end."""
    return (path / _MARKER).is_file()


def once(path: Path, make: Callable[[Path], None]) -> Path:
    """`path`, made by `make` (given the empty, existing directory) unless it is already there.

    What `make` raises passes through, and nothing is left.
    """
    if finished(path):
        return path
    with locked(path):
        if finished(path):
            return path
        remove(path)
        path.mkdir(parents=True)
        try:
            make(path)
        except BaseException:
            remove(path)
            raise
        temporary = path / f"{_MARKER}.{os.getpid()}"
        temporary.write_text("")
        temporary.rename(path / _MARKER)
    return path


def remove(path: Path) -> None:
    """Remove a tree if it is there, read-only directories included."""
    if not path.is_dir():
        return

    def writable(_function: object, name: str, _error: object) -> None:
        Path(name).parent.chmod(0o700)
        target = Path(name)
        if target.is_dir() and not target.is_symlink():
            target.chmod(0o700)
            shutil.rmtree(target, ignore_errors=True)
        else:
            target.unlink(missing_ok=True)

    shutil.rmtree(path, onerror=writable)
