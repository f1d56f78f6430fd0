"""What a process and everything it started use, read from /proc."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")
TICK = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Process:
    """One live process. `started` is in clock ticks since boot; with the pid it names the process for good."""

    pid: int
    parent: int
    started: int
    threads: int
    cpu_seconds: float  # its own and that of the children it has waited for
    rss: int  # bytes, shared pages included
    zombie: bool


def read(pid: int) -> Process | None:
    """The process `pid`, None when there is none (any more)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes().decode("ascii", "replace")
    except OSError:
        return None
    fields = text[text.rfind(")") + 2 :].split()
    if len(fields) < 22:
        return None
    ticks = sum(int(field) for field in fields[11:15])
    return Process(
        pid=pid,
        parent=int(fields[1]),
        started=int(fields[19]),
        threads=int(fields[17]),
        cpu_seconds=ticks * TICK,
        rss=max(0, int(fields[21])) * PAGE,
        zombie=fields[0] == "Z",
    )


def stopped(pid: int) -> bool:
    """Whether the process is stopped or has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return True
    return text[text.rfind(b")") + 2 :][:1] in b"TtZX"


def children(pid: int, threads: int = 1) -> list[int]:
    """Pids of the direct children. `threads`: how many threads the parent has, since each has children of its own."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task") if threads > 1 else [str(pid)]  # noqa: PTH208 - called 20 times a second
    except OSError:
        return []
    found: list[int] = []
    for task in tasks:
        try:
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_bytes().split())
        except OSError:
            continue
    return found


def descendants(root: int, limit: int = 10_000) -> list[Process]:
    """Every live process below `root`, itself excluded, parents first; at most `limit` of them."""
    found: list[Process] = []
    first = read(root)
    queue = [(root, first.threads if first else 1)]
    while queue and len(found) < limit:
        pid, threads = queue.pop()
        for child in children(pid, threads):
            process = read(child) if len(found) < limit else None
            if process is not None:
                found.append(process)
                queue.append((child, process.threads))
    return found


def share(process: Process) -> int:
    """Bytes a process holds now, shared pages divided among their sharers: 0 once it has ended, its resident memory
    where the share cannot be read."""
    held = proportional(process.pid)
    if held is not None:
        return held
    now = read(process.pid)
    return 0 if now is None or now.zombie or now.started != process.started else now.rss


def proportional(pid: int) -> int | None:
    """Bytes of a process with each shared page divided among its sharers, None when that cannot be read."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_bytes()
    except OSError:
        return None
    for line in text.splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return None
