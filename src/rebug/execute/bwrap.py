"""The bubblewrap sandbox: own namespaces, a read-only view of what the interpreter needs, nothing of the host else.

Flags and their order follow the hostile suite in tests/execute: private tmpfs first, then the read-only binds (virtual
environments may lie under /tmp or in a home directory), then the files of the run, then the root is made read-only.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rebug.errors import SandboxUnavailable
from rebug.execute import tree
from rebug.execute.cap import THREADS_PER_PROCESS, capped, joining, was_hit
from rebug.execute.supervise import Keeper, never, supervise
from rebug.ports import Command, Completed, Limits

PRLIMIT = "/usr/bin/prlimit"
HOME = "/home/u"
WORK_PLACES = ("/work", "/run/work", "/srv/work")  # the first one under which nothing has to be shown is taken
SMALL_DISK = 64 << 20  # bytes of the home directory and of /dev/shm
STACK_BYTES = 8 << 20  # address space of one thread's stack, which counts as data
END_SECONDS = 5.0
PLAIN_FILES: Mapping[str, bytes] = {
    "/etc/passwd": b"root:x:0:0::/root:/bin/sh\nu:x:1000:1000::/home/u:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n",
    "/etc/group": b"root:x:0:\nu:x:1000:\nnogroup:x:65534:\n",
    "/etc/hosts": b"127.0.0.1 localhost sbx\n::1 localhost\n",
    "/etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n",
}
HOST_FILES = (
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives", "/etc/ssl", "/etc/pki", "/etc/mime.types"),
    *("/etc/services", "/etc/protocols"),
)


@dataclass(frozen=True, slots=True)
class BwrapSandbox:
    """Runs commands with the `bwrap` program at `program`."""

    program: str = "/usr/bin/bwrap"

    @property
    def name(self) -> str:
        return "bwrap"

    def run(self, command: Command, stop: Callable[[], bool] = never) -> Completed:
        """Runs `command` in a fresh sandbox; its working directory is a private, writable tmpfs.

        Raises SandboxUnavailable when a path of `command.readable` would show the user's home directory.
        """
        started = time.monotonic()
        shown = visible(command.readable)
        work = working_directory(shown)
        descriptors: list[int] = []
        with capped(command.limits.processes) as group:
            try:
                keeper = self._start(command, shown, work, group, descriptors)
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)
            return supervise(keeper, command.limits, stop, started)

    def _start(
        self, command: Command, shown: Sequence[Path], work: str, group: Path | None, passed: list[int]
    ) -> Keeper:
        """Starts bubblewrap. Every descriptor appended to `passed` is the caller's to close."""
        readers = {}
        for name in ("stdout", "stderr", "status", "record") if command.record else ("stdout", "stderr", "status"):
            readers[name], writer = os.pipe()
            passed.append(writer)
        out, err, status = passed[:3]
        variables = dict(command.variables)
        if command.record:
            variables["REBUG_RECORD_FD"] = str(passed[3])
        data = [("--ro-bind-data", path, text) for path, text in PLAIN_FILES.items()]
        data += [("--file", f"{work}/{name}", text) for name, text in command.files.items()]
        files: list[tuple[str, str, int]] = []
        for option, path, text in data:
            passed.append(memory_file(text))
            files.append((option, path, passed[-1]))
        argv = arguments(self.program, status=status, shown=shown, work=work, files=files, limits=command.limits)
        for key, value in variables.items():
            argv += ["--setenv", key, value]
        argv += ["--", PRLIMIT, *resource_limits(command.limits), "--", *command.argv]
        try:
            process = subprocess.Popen(
                [*joining(group), *argv],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={},
                cwd="/",
                pass_fds=passed[2:],
                start_new_session=True,
            )
        except OSError as error:
            for reader in readers.values():
                os.close(reader)
            raise SandboxUnavailable(f"cannot start {self.program}: {error.strerror}; install bubblewrap") from error
        return Keeper(
            process=process,
            stdout=readers["stdout"],
            stderr=readers["stderr"],
            status=readers["status"],
            record=readers.get("record"),
            in_namespace=True,
            bounded=group is not None or os.geteuid() != 0,
            refused=lambda: group is not None and was_hit(group),
            disks=(work, "/tmp", HOME, "/dev/shm"),  # noqa: S108 - the sandbox's own
            end=end,
        )


def end(keeper: Keeper, child: int | None) -> None:
    """Kills the namespace by its first process, then bubblewrap, and waits for both."""
    if child is not None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(child, signal.SIGKILL)
        poll = select.poll()
        poll.register(child, select.POLLIN)
        poll.poll(END_SECONDS * 1000)
    with suppress(subprocess.TimeoutExpired):
        keeper.process.wait(0.2 if child is not None else 0)
    if keeper.process.poll() is None:
        end_unreported(keeper.process)


def end_unreported(process: subprocess.Popen[bytes]) -> None:
    """Ends a bubblewrap that has not said which child it has. Killed before it has set that child free, it would leave
    it behind, waiting for ever; so it is held still, loses its child, and only then goes."""
    process.send_signal(signal.SIGSTOP)
    deadline = time.monotonic() + END_SECONDS
    while not tree.stopped(process.pid) and time.monotonic() < deadline:
        time.sleep(0.001)
    for pid in tree.children(process.pid):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    process.kill()
    process.wait(END_SECONDS)


def memory_file(content: bytes) -> int:
    """A descriptor to read `content` from; nothing is left on any disk."""
    descriptor = os.memfd_create("rebug")
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def arguments(
    program: str,
    *,
    status: int,
    shown: Iterable[Path],
    work: str,
    files: Iterable[tuple[str, str, int]],
    limits: Limits,
) -> list[str]:
    """The bubblewrap command line up to the variables. `files`: (option, path in the sandbox, descriptor)."""
    half = str(max(limits.disk_bytes // 2, 1 << 20))
    argv = [program, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
    argv += ["--uid", "1000", "--gid", "1000", "--cap-drop", "ALL", "--hostname", "sbx", "--clearenv"]
    argv += ["--json-status-fd", str(status), "--ro-bind", "/usr", "/usr", *system_directories()]
    argv += ["--perms", "0755", "--dir", "/etc"]
    for path in HOST_FILES:
        argv += ["--ro-bind-try", path, path]
    argv += ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--size", half, "--tmpfs", "/tmp"]  # noqa: S108
    argv += ["--dir", "/run", "--size", str(SMALL_DISK), "--tmpfs", HOME]
    argv += ["--perms", "1777", "--size", str(SMALL_DISK), "--tmpfs", "/dev/shm", "--size", half, "--tmpfs", work]  # noqa: S108
    for item in shown:
        argv += ["--ro-bind", str(item), str(item)]
    for option, path, descriptor in files:
        argv += [option, str(descriptor), path]
    return [*argv, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", work]


def system_directories() -> list[str]:
    """/bin, /lib and their like as the host has them: links into /usr, or directories of their own."""
    argv: list[str] = []
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/", name)
        if path.is_symlink():
            argv += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            argv += ["--ro-bind", str(path), str(path)]
    return argv


def resource_limits(limits: Limits) -> list[str]:
    """Options of prlimit. The tree as a whole is watched from outside; these bound each process in between."""
    data = limits.memory_bytes + limits.processes * STACK_BYTES
    return [
        f"--nproc={limits.processes * THREADS_PER_PROCESS}",
        f"--data={data}",
        f"--fsize={limits.disk_bytes}",
        f"--cpu={int(limits.cpu_seconds) + 1}:{int(limits.cpu_seconds) + 2}",
        "--core=0",
        f"--nofile={limits.open_files}",
    ]


def visible(paths: Iterable[Path]) -> list[Path]:
    """The paths to bind, outermost first, each also at its real place, less those that are shown anyway."""
    wanted = {form for path in paths for form in (Path(os.path.abspath(path)), path.resolve())}  # noqa: PTH100 - keeps links
    forbidden = {Path.home().resolve(), *Path.home().resolve().parents}
    shown: list[Path] = []
    for path in sorted(wanted):
        real = path.resolve()
        if real in forbidden:
            raise SandboxUnavailable(
                f"{path} would show the home directory to the script: move the source to a folder of its own"
            )
        if real.is_relative_to("/usr") or not path.exists() or any(path.is_relative_to(other) for other in shown):
            continue
        shown.append(path)
    return shown


def working_directory(shown: Iterable[Path]) -> str:
    """Where the command runs: a place under which no bound path lies, since the command sees it as empty."""
    listed = [str(path) for path in shown]
    for place in WORK_PLACES:
        if not any(path == place or path.startswith(place + "/") for path in listed):
            return place
    return WORK_PLACES[-1]
