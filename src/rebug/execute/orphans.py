"""Clears away what a rebug that was killed outright may have left.

bubblewrap ends with us. But when it dies in the few milliseconds in which it sets its sandbox up, the first process of
that sandbox stays behind and waits for it for ever: harmless, and unmistakable, since its parent is no bubblewrap.
Without a sandbox, killed between two steps, it leaves the directory of a run, which is named after its process.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path

from rebug.execute import tree
from rebug.execute.cap import pid_namespace

OURS = (b"--die-with-parent", b"--json-status-fd", b"--hostname\0sbx")
PLACE = "rebug-run-"
"""What the name of an unsandboxed run's directory starts with; the numbers of its pid namespace and process follow."""


def remove_orphans() -> None:
    """Removes the user's directories of unsandboxed runs whose rebug is no more."""
    for place in Path(tempfile.gettempdir()).glob(f"{PLACE}{pid_namespace()}-*-*"):
        with suppress(OSError, ValueError):
            owner = int(place.name.split("-")[3])
            if (
                not Path("/proc", str(owner)).exists()
                and place.lstat().st_uid == os.getuid()
                and not place.is_symlink()
            ):
                shutil.rmtree(place, ignore_errors=True)


def end_orphans() -> list[int]:
    """Ends the user's orphaned sandboxes of ours and gives their process ids. Reads /proc once."""
    ended = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (place / "comm").read_bytes() == b"bwrap\n" and place.stat().st_uid == os.getuid() and orphaned(place):
                os.kill(int(place.name), signal.SIGKILL)
                ended.append(int(place.name))
    return ended


def orphaned(place: Path) -> bool:
    """Whether the process at `place` is the first one of a sandbox of ours whose bubblewrap is no more."""
    command = (place / "cmdline").read_bytes()
    if not all(mark in command for mark in OURS):
        return False
    ids = next((line.split() for line in (place / "status").read_text().splitlines() if line.startswith("NSpid:")), [])
    process = tree.read(int(place.name))
    if len(ids) < 3 or ids[-1] != "1" or process is None:
        return False
    with suppress(OSError):
        return Path(f"/proc/{process.parent}/comm").read_bytes() != b"bwrap\n"
    return True
