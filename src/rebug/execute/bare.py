"""No sandbox: runs commands as the user, in a throwaway directory. Only for `--sandbox none`.

The limits hold and the whole tree is ended, but the command can read and write what the user can.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rebug.execute import tree
from rebug.execute.bwrap import STACK_BYTES
from rebug.execute.cap import THREADS_PER_PROCESS, capped, pid_namespace, user_tasks, was_hit
from rebug.execute.orphans import PLACE
from rebug.execute.supervise import Keeper, never, supervise
from rebug.ports import Command, Completed, Limits

NANNY = Path(__file__).with_name("nanny.py")
END_SECONDS = 8.0  # more than the nanny's own patience


@dataclass(frozen=True, slots=True)
class NoSandbox:
    """Runs commands without isolation, each in a temporary directory of its own that is removed afterwards."""

    @property
    def name(self) -> str:
        return "none"

    def run(self, command: Command, stop: Callable[[], bool] = never) -> Completed:
        started = time.monotonic()
        place = Path(tempfile.mkdtemp(prefix=f"{PLACE}{pid_namespace()}-{os.getpid()}-"))
        try:
            for name in ("work", "home", "tmp"):
                (place / name).mkdir()
            for name, content in command.files.items():
                target = place / "work" / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            with capped(command.limits.processes) as group:
                return supervise(self._start(command, place, group), command.limits, stop, started)
        finally:
            remove(place)

    def _start(self, command: Command, place: Path, group: Path | None) -> Keeper:
        names = ("stdout", "stderr", "status", "record") if command.record else ("stdout", "stderr", "status")
        pipes = {name: os.pipe() for name in names}
        variables = {**command.variables, "HOME": str(place / "home"), "TMPDIR": str(place / "tmp")}
        variables["PWD"] = str(place / "work")
        if command.record:
            variables["REBUG_RECORD_FD"] = str(pipes["record"][1])
        limits = ",".join(f"{name}={value}" for name, value in resource_limits(command.limits).items())
        # -I -S: neither the user's environment nor site-packages bear on the nanny; it hands its environment on.
        argv = [sys.executable, "-I", "-S", str(NANNY), str(pipes["status"][1]), str(os.getpid()), str(place), limits]
        argv += [str(group / "cgroup.procs") if group is not None else "", *command.argv]
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=pipes["stdout"][1],
                stderr=pipes["stderr"][1],
                env=variables,
                cwd=place / "work",
                pass_fds=[pipes[name][1] for name in names[2:]],
                start_new_session=True,
            )
        finally:
            for _, writer in pipes.values():
                os.close(writer)
        return Keeper(
            process=process,
            stdout=pipes["stdout"][0],
            stderr=pipes["stderr"][0],
            status=pipes["status"][0],
            record=pipes["record"][0] if command.record else None,
            in_namespace=False,
            bounded=group is not None or os.geteuid() != 0,
            refused=lambda: group is not None and was_hit(group),
            folder=place,
            end=end,
        )


def end(keeper: Keeper, child: int | None) -> None:  # noqa: ARG001 - the nanny knows its child
    """Has the nanny end the tree; should that take too long, does it from here."""
    with suppress(ProcessLookupError):
        keeper.process.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        keeper.process.wait(END_SECONDS)
    if keeper.process.poll() is None:
        for process in tree.descendants(keeper.process.pid):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGKILL)
        keeper.process.kill()
        keeper.process.wait()


def resource_limits(limits: Limits) -> dict[str, int]:
    """Limits of each process by `resource` name."""
    own = THREADS_PER_PROCESS * limits.processes
    return {
        "RLIMIT_NPROC": own + (user_tasks() if os.geteuid() else 0),  # not enforced for root
        "RLIMIT_DATA": limits.memory_bytes + limits.processes * STACK_BYTES,
        "RLIMIT_FSIZE": limits.disk_bytes,
        "RLIMIT_CPU": int(limits.cpu_seconds) + 2,
        "RLIMIT_CORE": 0,
        "RLIMIT_NOFILE": limits.open_files,
    }


def remove(place: Path) -> None:
    """Removes a directory tree whatever modes the command gave it."""

    def permit(function: Callable[..., object], path: str, _: object) -> None:
        with suppress(OSError):
            Path(path).parent.chmod(stat.S_IRWXU)
            if not Path(path).is_symlink():
                Path(path).chmod(stat.S_IRWXU)
            function(path)

    shutil.rmtree(place, onerror=permit)
    if place.exists():
        shutil.rmtree(place, ignore_errors=True)
