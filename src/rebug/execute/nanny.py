"""Keeps a process tree that has no sandbox, and ends all of it: `nanny.py STATUS_FD PARENT PLACE LIMITS GROUP ARGV…`.

Started by rebug.execute.bare with the host's interpreter in isolated mode. As the tree's *subreaper* it inherits every
daemon that forks away from it, so nothing escapes the final kill; it dies with rebug, taking the tree and its directory
PLACE along.
"""
# ruff: noqa: PTH123, PTH208
# (it starts once for every run: pathlib alone would double its time)

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time
from contextlib import suppress

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PATIENCE_SECONDS = 5.0


def below(root: int) -> list[int]:
    """Pids of everything below `root`."""
    found: list[int] = []
    queue = [root]
    while queue:
        pid = queue.pop()
        with suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                    queue += map(int, file.read().split())
        if pid != root:
            found.append(pid)
    return found


def end_all() -> None:
    """Kills everything below this process. Stopped first, so that what forks faster than it is killed stands still."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        found = below(os.getpid())
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in found:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not found:
            return
        time.sleep(0.001)


def wait_for(child: int) -> bytes:
    """Reaps whatever ends until `child` does, or until rebug says stop by SIGTERM (nothing to report)."""
    while True:
        number = signal.sigwait({signal.SIGCHLD, signal.SIGTERM})
        if number == signal.SIGTERM:
            return b""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == child:
                    return ended(status)
                if pid == 0:
                    break


def ended(status: int) -> bytes:
    if os.WIFSIGNALED(status):
        return b'{"signal": %d}\n' % os.WTERMSIG(status)
    return b'{"exit-code": %d}\n' % os.WEXITSTATUS(status)


def become(argv: list[str], limits: dict[str, str], status: int) -> None:
    """Turns a fresh child into the program. Does not return."""
    try:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        os.set_inheritable(status, False)
        if sys.argv[5]:  # the control group that bounds the number of tasks
            with open(sys.argv[5], "wb") as file:
                file.write(b"0")
        for name, value in limits.items():
            number = getattr(resource, name)
            hard = resource.getrlimit(number)[1]
            bound = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
            resource.setrlimit(number, (bound, bound))
        os.execvpe(argv[0], argv, os.environ)  # noqa: S606 - the program this was started for
    except OSError as error:
        os.write(2, f"cannot start {argv[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def main() -> None:
    status, parent, argv = int(sys.argv[1]), int(sys.argv[2]), sys.argv[6:]
    limits = dict(pair.split("=") for pair in sys.argv[4].split(","))
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT})
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    finished = os.getppid() == parent and keep(argv, limits, status)
    # Told to end, it clears up itself: a dying rebug counts as the parent until the last of its threads is gone.
    if not finished or os.getppid() != parent:
        import shutil  # noqa: PLC0415 - as rare as it is slow to load

        shutil.rmtree(sys.argv[3], ignore_errors=True)


def keep(argv: list[str], limits: dict[str, str], status: int) -> bool:
    """Starts the program, waits for its end (true) or for the signal to end it, and lets nothing of it live on."""
    child = os.fork()
    if child == 0:
        become(argv, limits, status)
    try:
        for descriptor in range(3, 64):  # the record's pipe is the tree's alone: its end must be seen
            if descriptor != status:
                with suppress(OSError):
                    os.close(descriptor)
        tell(status, b'{"child-pid": %d}\n' % child)
        result = wait_for(child)
    finally:
        end_all()
    tell(status, result)
    return bool(result)


def tell(status: int, line: bytes) -> None:
    with suppress(BrokenPipeError):  # rebug is gone; the signal that says so is on its way
        os.write(status, line)


main()
