"""A bound on the number of tasks that the kernel itself keeps, for root: a control group of its own for each run.

RLIMIT_NPROC is not enforced for uid 0, whatever its user namespace, and a fork bomb outruns every watcher. Where no
control group can be made (most containers) the watcher is all there is, and looks more often.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

THREADS_PER_PROCESS = 4
"""Tasks allowed for each process allowed: the kernel counts threads, our limit processes."""
MOUNT = Path("/sys/fs/cgroup")
REMOVE_SECONDS = 2.0


@contextmanager
def capped(processes: int) -> Iterator[Path | None]:
    """A control group for a tree of so many processes, removed at the end; None for those who need none or get none."""
    group = make_group(processes * THREADS_PER_PROCESS) if os.geteuid() == 0 else None
    try:
        yield group
    finally:
        if group is not None:
            remove_group(group)


def make_group(tasks: int) -> Path | None:
    """A new control group that may hold `tasks` tasks, None where that cannot be had."""
    for base in (MOUNT / "pids", MOUNT, *own_groups()):
        sweep(base)
        try:
            group = Path(tempfile.mkdtemp(prefix=f"rebug-{pid_namespace()}-{os.getpid()}-", dir=base))
        except OSError:
            continue
        if (group / "pids.max").exists():
            with suppress(OSError):
                (group / "pids.max").write_text(f"{tasks}\n")
                return group
        remove_group(group)
    return None


def own_groups() -> Iterator[Path]:
    """The groups this process is in, in which a container may be allowed to make further ones."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            number, names, path = line.split(":", 2)
            if path != "/" and (number == "0" or "pids" in names.split(",")):
                yield MOUNT / ("" if number == "0" else "pids") / path.lstrip("/")


def sweep(base: Path) -> None:
    """Ends and removes what is left in the groups of a rebug that was killed, judged by its process id in the name."""
    for group in base.glob(f"rebug-{pid_namespace()}-*-*"):
        if Path("/proc", group.name.split("-")[2]).exists():
            continue
        with suppress(OSError, ValueError):
            for pid in (group / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
        with suppress(OSError):
            group.rmdir()


def pid_namespace() -> str:
    """The number of the namespace in which this process's id means something."""
    return "".join(filter(str.isdigit, os.readlink("/proc/self/ns/pid")))  # noqa: PTH115 - not a path


def remove_group(group: Path) -> None:
    """Removes an empty group; what has just been killed may take a moment to leave it."""
    deadline = time.monotonic() + REMOVE_SECONDS
    while True:
        try:
            group.rmdir()
        except OSError:
            if not group.exists() or time.monotonic() > deadline:
                return
            time.sleep(0.005)
        else:
            return


def was_hit(group: Path) -> bool:
    """Whether the kernel has refused the group a task."""
    try:
        lines = (group / "pids.events").read_text().splitlines()
    except OSError:
        return False
    return any(line.startswith("max ") and line != "max 0" for line in lines)


def joining(group: Path | None) -> list[str]:
    """The start of a command line that joins the group and becomes the command that follows, with no environment."""
    if group is None:
        return []
    return ["/bin/sh", "-c", 'echo 0 > "$0"; exec env -i "$@"', str(group / "cgroup.procs")]


def user_tasks() -> int:
    """How many tasks the user runs already: RLIMIT_NPROC counts those too."""
    uid, total = os.getuid(), 0
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if place.stat().st_uid == uid:
                total += len(os.listdir(place / "task"))  # noqa: PTH208 - names only
    return total
