"""Watches one sandboxed process tree from its start to its last breath.

A backend starts the tree under a *keeper* (bubblewrap, or our own nanny): a direct child of ours whose end means the
end of the whole tree. The keeper reports on a status pipe, a JSON object a line: `{"child-pid": N}` once it runs and
`{"exit-code": N}` or `{"signal": N}` when its first process has ended. One loop in the calling thread reads the pipes,
samples /proc and enforces the limits; nothing here trusts what comes out of the tree.
"""

from __future__ import annotations

import json
import os
import select
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rebug.execute import tree
from rebug.ports import Completed, Limits

SAMPLE_SECONDS = 0.05
UNBOUNDED_SECONDS = 0.01  # where the kernel does not bound the number of processes
STACK_SIGNAL = signal.SIGRTMIN + 7
"""Asks the harness for the stacks of all threads. A real-time signal, since scripts use the ordinary ones."""
STACK_SECONDS = 0.3  # before a limit: long enough for the harness to answer on a busy machine
RECORD_BYTES = 4 << 20
STATUS_BYTES = 1 << 16
DRAIN_SECONDS = 2.0  # for the pipes to be closed after the tree has ended
START_SECONDS = 1.0  # for the keeper to report, when it is to be ended before it has
CHUNK = 1 << 16
THREADS_PER_PROCESS = 16  # a tree may have this many threads for each process it may have


def never() -> bool:
    return False


@dataclass(slots=True)
class Pipe:
    """What has come through a pipe, up to `limit` bytes; the rest is read and dropped so that the writer goes on."""

    descriptor: int
    limit: int
    data: bytearray = field(default_factory=bytearray)
    overflow: bool = False
    open: bool = True

    def read(self) -> None:
        try:
            chunk = os.read(self.descriptor, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self.open = False
            return
        room = self.limit - len(self.data)
        self.data += chunk[:room]
        self.overflow = self.overflow or len(chunk) > room


@dataclass(slots=True, kw_only=True)
class Keeper:
    """A started tree. The supervisor closes the descriptors; `end` ends the tree within a moment, however it behaves.

    `in_namespace`: the tree lives in a pid namespace whose first process is the reported child.
    """

    process: subprocess.Popen[bytes]
    stdout: int
    stderr: int
    status: int
    record: int | None
    in_namespace: bool
    bounded: bool  # the kernel bounds the number of processes
    refused: Callable[[], bool] = never  # whether it has refused one for that
    folder: Path | None = None  # the tree's files where they lie on the host's disk, measured against the disk limit
    disks: tuple[str, ...] = ()  # file systems of the tree's own, by its paths; a full one ends the run
    end: Callable[[Keeper, int | None], None]  # (keeper, pidfd of the reported child)


class Supervision:
    """The state of one run; `run` does it all."""

    def __init__(self, keeper: Keeper, limits: Limits, stop: Callable[[], bool], started: float) -> None:
        self.keeper = keeper
        self.limits = limits
        self.stop = stop
        self.started = started
        self.out = Pipe(keeper.stdout, limits.output_bytes)
        self.err = Pipe(keeper.stderr, limits.output_bytes)
        self.status = Pipe(keeper.status, STATUS_BYTES)
        self.record = Pipe(keeper.record, RECORD_BYTES) if keeper.record is not None else None
        self.child: int | None = None  # the reported child's pid
        self.child_handle: int | None = None  # its pidfd
        self.main: tree.Process | None = None  # the program itself
        self.limit = ""
        self.cpu_seconds = 0.0
        self.peak = 0
        self.asked = False

    def run(self) -> Completed:
        selector = selectors.DefaultSelector()
        pipes = [pipe for pipe in (self.out, self.err, self.status, self.record) if pipe is not None]
        handle = os.pidfd_open(self.keeper.process.pid)
        try:
            for pipe in pipes:
                os.set_blocking(pipe.descriptor, False)
                selector.register(pipe.descriptor, selectors.EVENT_READ, pipe)
            selector.register(handle, selectors.EVENT_READ, None)
            self._watch(selector)
            self._finish(selector)
        finally:
            self._end_tree()
            selector.close()
            for descriptor in [handle, *(pipe.descriptor for pipe in pipes), self.child_handle]:
                if descriptor is not None:
                    os.close(descriptor)
        return self._completed()

    def _watch(self, selector: selectors.BaseSelector) -> None:
        pause = SAMPLE_SECONDS if self.keeper.bounded else UNBOUNDED_SECONDS
        next_sample = self.started + pause / 2
        while not self._over():
            now = time.monotonic()
            if now >= next_sample:
                self._sample(now)
                next_sample = time.monotonic() + pause
            if self._pump(selector, max(0.0, next_sample - now)):
                return

    def _over(self) -> bool:
        if not self.limit and self.stop():
            self.limit = "stopped"
        elif not self.limit and (self.out.overflow or self.err.overflow):
            self.limit = "output"
        return bool(self.limit)

    def _pump(self, selector: selectors.BaseSelector, timeout: float) -> bool:
        """Reads what is there; True when the keeper has ended."""
        ended = False
        for key, _ in selector.select(timeout):
            pipe = key.data
            if pipe is None:
                ended = True
                continue
            pipe.read()
            if not pipe.open:
                selector.unregister(pipe.descriptor)
            if pipe is self.status:
                self._learn_child()
        return ended

    def _learn_child(self) -> None:
        if self.child_handle is not None:
            return
        child = status_fields(bytes(self.status.data)).get("child-pid")
        if child is not None:
            self.child = child
            with suppress(ProcessLookupError):
                self.child_handle = os.pidfd_open(child)

    def _sample(self, now: float) -> None:
        root = self.child if self.keeper.in_namespace else self.keeper.process.pid
        if root is not None:
            processes = tree.descendants(root, self.limits.processes + 2)
            self._measure(processes)
        left = self.limits.wall_seconds - (now - self.started)
        if left <= 0:
            self.limit = self.limit or "wall"
        elif self.cpu_seconds >= self.limits.cpu_seconds:
            self.limit = self.limit or "cpu"
        elif min(left, self.limits.cpu_seconds - self.cpu_seconds) < min(STACK_SECONDS, self.limits.wall_seconds / 4):
            self._ask_for_stacks()

    def _measure(self, processes: list[tree.Process]) -> None:
        live = [process for process in processes if not process.zombie]
        self.cpu_seconds = max(self.cpu_seconds, sum(process.cpu_seconds for process in processes))
        self.main = min(live, key=lambda process: process.started, default=self.main)
        used = sum(process.rss for process in live)
        if used > self.limits.memory_bytes and len(live) > 1:  # forked processes share pages: count those once
            used = sum(tree.share(process) for process in live)
        self.peak = max(self.peak, used)
        threads = sum(process.threads for process in live)
        if used > self.limits.memory_bytes:
            self.limit = "memory"
        elif len(processes) > self.limits.processes or threads > self.limits.processes * THREADS_PER_PROCESS:
            self.limit = "processes"
        elif self._disk_full():
            self.limit = "disk"

    def _disk_full(self) -> bool:
        if self.keeper.folder is not None:
            return disk_used(self.keeper.folder) > self.limits.disk_bytes
        main = self.main
        for place in self.keeper.disks if main is not None else ():
            with suppress(OSError):
                if main and os.statvfs(f"/proc/{main.pid}/root{place}").f_bavail == 0:
                    return True
        return False

    def _ask_for_stacks(self) -> None:
        if self.asked or self.main is None or self.record is None or b'"k":"start"' not in self.record.data[:4096]:
            return
        self.asked = True
        with suppress(OSError):
            handle = os.pidfd_open(self.main.pid)
            try:
                current = tree.read(self.main.pid)
                if current is not None and current.started == self.main.started:
                    signal.pidfd_send_signal(handle, STACK_SIGNAL)
            finally:
                os.close(handle)

    def _end_tree(self) -> None:
        if self.child is None and self.keeper.in_namespace and self.keeper.process.poll() is None:
            select.select([self.status.descriptor], [], [], START_SECONDS)
            self.status.read()
        self._learn_child()
        self.keeper.end(self.keeper, self.child_handle)

    def _finish(self, selector: selectors.BaseSelector) -> None:
        """Ends the tree and reads what is left in the pipes."""
        self._end_tree()
        deadline = time.monotonic() + DRAIN_SECONDS
        pipes = [pipe for pipe in (self.out, self.err, self.status, self.record) if pipe is not None]
        while any(pipe.open for pipe in pipes) and time.monotonic() < deadline:
            for key, _ in selector.select(0.05):
                if key.data is None:
                    selector.unregister(key.fileobj)
                    continue
                key.data.read()
                if not key.data.open:
                    selector.unregister(key.fileobj)
        if not self.limit and (self.out.overflow or self.err.overflow):
            self.limit = "output"
        elif not self.limit and self.keeper.refused():
            self.limit = "processes"

    def _completed(self) -> Completed:
        status = status_fields(bytes(self.status.data))
        code, number = status.get("exit-code"), status.get("signal")
        if number is None and code is not None and self.keeper.in_namespace and 128 < code <= 128 + 64:
            number = code - 128  # as a shell would say it; bubblewrap has no other way
        limit = self.limit
        if not limit and code is None and number is None and self.child is None:
            limit = "sandbox"  # the keeper failed before anything ran; stderr says why
        return Completed(
            exit=code if number is None and not limit else None,
            signal=signal_name(number) if number is not None and not limit else "",
            limit=limit,
            stdout=bytes(self.out.data),
            stderr=bytes(self.err.data),
            record=bytes(self.record.data) if self.record is not None else b"",
            seconds=time.monotonic() - self.started,
            cpu_seconds=self.cpu_seconds,
            peak_rss=self.peak,
        )


def supervise(keeper: Keeper, limits: Limits, stop: Callable[[], bool], started: float) -> Completed:
    """Waits for a started tree, ends it at a limit or when `stop` says so, and leaves nothing of it.

    `started` is on the monotonic clock. Never raises for what the tree does.
    """
    return Supervision(keeper, limits, stop, started).run()


def disk_used(folder: Path) -> int:
    """Bytes that the files below `folder` take up, as far as a first thousand of them tells."""
    total = files = 0
    for place, _, names in os.walk(folder):
        for name in names[: 1000 - files]:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_blocks * 512  # noqa: PTH118 - 20 times a second
        files += len(names)
        if files >= 1000:
            break
    return total


def status_fields(data: bytes) -> dict[str, int]:
    """The whole numbers of the keeper's report; later lines win."""
    fields: dict[str, int] = {}
    for line in data.splitlines():
        with suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict):
                fields.update({key: item for key, item in value.items() if isinstance(item, int)})
    return fields


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"
