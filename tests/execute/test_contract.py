"""What every sandbox backend has to hold, whatever the candidate does. `none` skips what it cannot stop."""

from __future__ import annotations

import os
import socket
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from rebug.execute import BwrapSandbox
from rebug.execute.cap import capped
from rebug.model import Ended, Environment
from rebug.ports import Command, Limits, Sandbox

from .conftest import MARK, Run, marked_processes

MIB = 1 << 20
DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (0, 1, 2):
            os.close(number)
        time.sleep(60)
    os._exit(0)
os.wait()
print("started")
"""


def isolated(sandbox: Sandbox, why: str) -> None:
    if sandbox.name == "none":
        pytest.skip(f"without isolation {why}")


def test_a_plain_script(run: Run) -> None:
    seen = run("import os\nprint(os.getcwd() and open('repro.py').read()[:6], __name__)")
    assert (seen.ended, seen.exit, seen.stdout, seen.stderr) == (Ended.EXITED, 0, "import __main__\n", "")


def test_the_environment_is_the_declared_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hush")
    seen = run(
        "import os\nprint(sorted(os.environ))\nprint(os.environ['PYTHONHASHSEED'], os.path.expanduser('~') != '/root')"
    )
    names, rest = seen.stdout.splitlines()
    assert "SECRET_TOKEN" not in names
    assert "REBUG_RECORD_FD" not in names
    assert rest == "0 True"


def test_variables_and_flags_of_the_variation(run: Run) -> None:
    from rebug.model import Variation

    variation = Variation(variables=(("PYTHONHASHSEED", "7"), ("TZ", "Asia/Tokyo")), flags=("-W", "error"))
    seen = run(
        "import os, warnings\nprint(os.environ['PYTHONHASHSEED'], os.environ['TZ'])\nwarnings.warn('x')",
        variation=variation,
    )
    assert seen.stdout == "7 Asia/Tokyo\n"
    assert [failure.type for failure in seen.failures] == ["UserWarning"]


def test_home_and_temporary_files_are_private_and_writable(run: Run) -> None:
    script = """
        import os, pathlib, tempfile
        (pathlib.Path.home() / "x").write_text("x")
        print(tempfile.NamedTemporaryFile().name != "", os.listdir(pathlib.Path.home()))
        open("here", "w").write("y")
        print(sorted(os.listdir(".")))
    """
    assert run(textwrap.dedent(script)).stdout == "True ['x']\n['here', 'repro.py']\n"


# -------------------------------------------------------------------------------------------------------- secrets, host


def test_secrets_of_the_host_are_out_of_reach(sandbox: Sandbox, run: Run, tmp_path: Path) -> None:
    isolated(sandbox, "the script reads what the user can read")
    secret = tmp_path / "secret"
    secret.write_text("hush")
    script = f"""
        import os, pathlib
        home = {str(Path.home())!r}
        proc = "/proc/1/root/etc/shadow"
        for path in ("/etc/shadow", home + "/.ssh", home + "/.bashrc", {str(secret)!r}, "/root/.ssh", proc):
            try:
                os.stat(path)
                print("found", path)
            except OSError:
                pass
        for place in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if b"SECRET" in place.read_bytes():
                    print("leak", place)
            except OSError:
                pass
    """
    os.environ["REBUG_SECRET"] = "hush"
    try:
        seen = run(textwrap.dedent(script))
    finally:
        del os.environ["REBUG_SECRET"]
    assert (seen.exit, seen.stdout) == (0, "")


def test_the_environment_of_the_first_process_is_empty(bwrap: Sandbox) -> None:
    done = bwrap.run(Command(argv=["/bin/cat", "/proc/1/environ"], variables={MARK: "1"}))
    assert done.stdout == b""


def test_the_host_cannot_be_written(sandbox: Sandbox, run: Run, subject: Path) -> None:
    isolated(sandbox, "the script writes where the user can write")
    before = (subject / "mod.py").read_text()
    script = f"""
        import pathlib, pkg.mod, sys
        home = {str(Path.home() / "rebug-x")!r}
        for path in (pkg.mod.__file__, sys.prefix + "/x", "/usr/x", "/etc/x", "/x", "/dev/x", home):
            try:
                pathlib.Path(path).write_text("overwritten")
                print("wrote", path)
            except OSError:
                pass
    """
    assert run(textwrap.dedent(script)).stdout == ""
    assert (subject / "mod.py").read_text() == before


def test_the_hosts_loopback_cannot_be_reached(sandbox: Sandbox, run: Run) -> None:
    isolated(sandbox, "the script shares the network")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        seen = run(f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 2)")
    assert [failure.name for failure in seen.failures] == ["ConnectionRefusedError"]


def test_its_own_loopback_works(run: Run) -> None:
    script = """
        import socket
        server = socket.create_server(("localhost", 0))
        client = socket.create_connection(server.getsockname())
        server.accept()[0].sendall(b"hello")
        print(client.recv(5))
    """
    assert run(textwrap.dedent(script)).stdout == "b'hello'\n"


def test_no_further_user_namespace(sandbox: Sandbox, run: Run) -> None:
    isolated(sandbox, "the script may make namespaces")
    script = "import ctypes, sys\nsys.exit(ctypes.CDLL(None).unshare(0x10000000) != -1)"
    assert run(script).exit == 0


def test_a_source_that_would_show_the_home_directory_is_refused(bwrap: Sandbox) -> None:
    from rebug.errors import SandboxUnavailable

    for path in (Path.home(), Path("/")):
        with pytest.raises(SandboxUnavailable, match="move the source to a folder of its own"):
            bwrap.run(Command(argv=["/bin/true"], readable=[path]))


def test_symbolic_links_to_what_is_shown_are_followed(bwrap: Sandbox, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "file").write_text("there")
    link = tmp_path / "link"
    link.symlink_to(real)
    done = bwrap.run(Command(argv=["/bin/cat", str(link / "file"), str(real / "file")], readable=[link]))
    assert (done.exit, done.stdout) == (0, b"therethere")


# ------------------------------------------------------------------------------------------------------------- endings


def test_a_daemon_does_not_survive(run: Run) -> None:
    started = time.monotonic()
    assert run(DAEMON).stdout == "started\n"
    assert time.monotonic() - started < 10
    assert marked_processes() == []


def test_kill_everything(sandbox: Sandbox, run: Run) -> None:
    isolated(sandbox, "this would kill the user's processes")
    seen = run("import os, subprocess\nsubprocess.Popen(['sleep', '60'])\nos.kill(-1, 9)\nos.kill(os.getpid(), 9)")
    assert (seen.ended, seen.signal, seen.exit) == (Ended.SIGNALLED, "SIGKILL", None)


def test_killing_its_siblings(sandbox: Sandbox, run: Run) -> None:
    isolated(sandbox, "the script can kill the user's processes")
    script = (
        "import os\nfor pid in range(1, 50):\n    try:\n"
        "        pid != os.getpid() and os.kill(pid, 9)\n    except OSError: pass\n"
        "print('alive')"
    )
    assert run(script).stdout == "alive\n"


def test_ignoring_sigterm_does_not_help(run: Run) -> None:
    script = (
        "import signal, time\nfor n in (15, 2, 1, 3):\n    signal.signal(n, signal.SIG_IGN)\n"
        "print('on', flush=True)\ntime.sleep(60)"
    )
    seen = run(script, wall_seconds=1.0)
    assert (seen.ended, seen.limit, seen.stdout) == (Ended.TIMED_OUT, "wall", "on\n")
    assert seen.seconds < 8


def test_an_infinite_loop_shows_where_it_is(run: Run) -> None:
    seen = run("def spin():\n    while True:\n        pass\nspin()", wall_seconds=1.0)
    assert (seen.ended, seen.limit) == (Ended.TIMED_OUT, "wall")
    (name, frames), *_ = seen.stacks
    assert name == "MainThread"
    assert [(frame.file, frame.function) for frame in frames] == [("repro.py", "<module>"), ("repro.py", "spin")]


def test_a_hang_in_c_code_shows_where_it_is(run: Run) -> None:
    script = "def held():\n    import re\n    re.match('(a+)+$', 'a' * 60 + 'b')\nheld()"
    seen = run(script, wall_seconds=1.0)
    assert seen.ended is Ended.TIMED_OUT
    assert ("repro.py", "held") in [(frame.file, frame.function) for _, frames in seen.stacks for frame in frames]


def test_a_waiting_task_shows_where_it_waits(run: Run) -> None:
    script = (
        "import asyncio\nasync def inner():\n    await asyncio.Event().wait()\n"
        "async def main():\n    await inner()\nasyncio.run(main())"
    )
    seen = run(script, wall_seconds=1.0)
    tasks = [frames for name, frames in seen.stacks if name.startswith("task ")]
    assert [[frame.function for frame in frames[:2]] for frames in tasks] == [["main", "inner"]]


def test_all_threads_are_shown(run: Run) -> None:
    script = (
        "import threading, time\ndef wait():\n    time.sleep(60)\n"
        "threading.Thread(target=wait, name='worker').start()\nwait()"
    )
    seen = run(script, wall_seconds=1.0)
    assert {name for name, _ in seen.stacks} == {"MainThread", "worker"}


def test_the_cpu_limit_counts_the_whole_tree(run: Run) -> None:
    script = "import os\nfor _ in range(2):\n    if os.fork() == 0:\n        while True: pass\nos.wait()"
    seen = run(script, cpu_seconds=0.5, wall_seconds=15.0)
    assert (seen.ended, seen.limit) == (Ended.TIMED_OUT, "cpu")


def test_stop_ends_the_run(sandbox: Sandbox) -> None:
    flag = threading.Event()
    threading.Timer(0.3, flag.set).start()
    started = time.monotonic()
    done = sandbox.run(Command(argv=["/bin/sleep", "60"], variables={MARK: "1"}), flag.is_set)
    assert (done.limit, done.exit) == ("stopped", None)
    assert time.monotonic() - started < 5


def test_stop_before_it_has_begun(sandbox: Sandbox) -> None:
    done = sandbox.run(Command(argv=["/bin/sleep", "60"], variables={MARK: "1"}), lambda: True)
    assert done.limit == "stopped"


# --------------------------------------------------------------------------------------------------------------- limits


def test_fork_bomb(run: Run) -> None:
    if not bounded_by_the_kernel():
        pytest.skip("the kernel does not bound root's processes here: no control group can be made")
    seen = run("import os\nwhile True:\n    try:\n        os.fork()\n    except OSError: pass", processes=24)
    assert (seen.ended, seen.limit) == (Ended.LIMITED, "processes")


def test_a_bomb_in_a_shell_is_over_at_once(sandbox: Sandbox) -> None:
    """Its every child forks on; only a bound that the kernel keeps stops it before the machine stands still."""
    if not bounded_by_the_kernel():
        pytest.skip("the kernel does not bound root's processes here: no control group can be made")
    bomb = "f() { f | f & }; f; while :; do f; done"
    done = sandbox.run(Command(argv=["/bin/sh", "-c", bomb], variables={MARK: "1"}, limits=Limits(processes=16)))
    assert done.limit == "processes"
    assert done.seconds < 10


def bounded_by_the_kernel() -> bool:
    with capped(1) as group:
        return group is not None or os.geteuid() != 0


def test_many_sleeping_children_are_too_many(run: Run) -> None:
    script = "import os, time\nfor _ in range(40):\n    if os.fork() == 0:\n        time.sleep(60)\ntime.sleep(60)"
    assert run(script, processes=20).limit == "processes"


def test_memory_of_one_process(run: Run) -> None:
    seen = run("import time\nheld = [b'x' * 1000000 for _ in range(200)]\ntime.sleep(20)", memory_bytes=100 * MIB)
    assert (seen.ended, seen.limit) == (Ended.LIMITED, "memory")
    assert seen.peak_rss > 100 * MIB


def test_memory_of_a_tree(run: Run) -> None:
    script = (
        "import os, time\nfor _ in range(6):\n    if os.fork() == 0:\n"
        "        held = bytearray(b'x') * (30 << 20)\n        time.sleep(20)\ntime.sleep(20)"
    )
    assert run(script, memory_bytes=120 * MIB).limit == "memory"


def test_memory_shared_after_a_fork_counts_once(run: Run) -> None:
    script = (
        "import os, time\nheld = bytearray(b'x') * (60 << 20)\nfor _ in range(4):\n"
        "    if os.fork() == 0:\n        time.sleep(0.4)\n        os._exit(0)\n"
        "for _ in range(4):\n    os.wait()"
    )
    seen = run(script, memory_bytes=160 * MIB)
    assert (seen.ended, seen.exit) == (Ended.EXITED, 0)


def test_an_absurd_allocation_is_a_memory_error(run: Run) -> None:
    seen = run("bytearray(1 << 40)")
    assert [failure.type for failure in seen.failures] == ["MemoryError"]


@pytest.mark.parametrize("place", [".", "/tmp", "/dev/shm"])
def test_disk_full(sandbox: Sandbox, run: Run, place: str) -> None:
    if place != ".":
        isolated(sandbox, "only the working directory is measured")
    script = (
        f"import time\nwith open({place!r} + '/big', 'wb') as file:\n"
        f"    for _ in range(400):\n        file.write(b'x' * (1 << 20))\n"
        f"        file.flush()\ntime.sleep(20)"
    )
    seen = run(script, disk_bytes=16 * MIB)
    assert (seen.ended, seen.limit) == (Ended.LIMITED, "disk")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_flood_of_output(run: Run, stream: str) -> None:
    seen = run(f"import sys\nwhile True:\n    sys.{stream}.write('x' * 1000000)")
    assert (seen.ended, seen.limit) == (Ended.LIMITED, "output")
    assert len(getattr(seen, stream)) < 2 * MIB
    assert "cut by the output limit" in getattr(seen, stream)


def test_a_flood_of_a_gigabyte(bwrap: Sandbox) -> None:
    command = Command(argv=["/bin/sh", "-c", "head -c 1000000000 /dev/zero"], variables={MARK: "1"})
    done = bwrap.run(command)
    assert done.limit == "output"
    assert len(done.stdout) == Limits().output_bytes


def test_open_files_are_limited(run: Run) -> None:
    seen = run("held = []\nwhile True:\n    held.append(open('repro.py'))", open_files=64)
    assert [(failure.name, "24" in failure.message) for failure in seen.failures][:1] == [("OSError", True)]


def test_no_core_file(run: Run) -> None:
    assert run("import os, resource\nprint(resource.getrlimit(resource.RLIMIT_CORE)[0])").stdout == "0\n"


# ------------------------------------------------------------------------------------------------------------- failing


def test_a_program_that_is_not_there(sandbox: Sandbox) -> None:
    done = sandbox.run(Command(argv=["/nowhere/python"], variables={MARK: "1"}))
    assert done.exit in (1, 127)
    assert b"/nowhere/python" in done.stderr


def test_a_sandbox_that_cannot_be_set_up_is_a_refusal(environment: Environment) -> None:
    from rebug.execute import LocalEngine

    from .conftest import job

    failing = BwrapSandbox("/bin/false")
    seen = LocalEngine(failing, workers=1).run([job("print(1)", environment)])[0]
    assert seen.ended is Ended.REFUSED
    assert seen.limit.startswith("sandbox")


def test_signals(run: Run) -> None:
    for name in ("SIGSEGV", "SIGABRT", "SIGTERM"):
        seen = run(f"import os, signal\nos.kill(os.getpid(), signal.{name})")
        assert (seen.ended, seen.signal, seen.exit) == (Ended.SIGNALLED, name, None)


def test_a_segmentation_fault_has_a_stack(run: Run) -> None:
    seen = run("import ctypes\ndef touch():\n    ctypes.string_at(0)\ntouch()")
    assert (seen.ended, seen.signal) == (Ended.SIGNALLED, "SIGSEGV")
    crash = seen.failures[0]
    assert "Segmentation fault" in crash.message
    assert [(frame.file, frame.function) for frame in crash.frames][:2] == [
        ("repro.py", "<module>"),
        ("repro.py", "touch"),
    ]


def test_an_exit_status_that_looks_like_a_signal(run: Run) -> None:
    seen = run("import sys\nsys.exit(139)")
    assert (seen.ended, seen.exit, seen.signal) == (Ended.EXITED, 139, "")


def test_the_interpreter_is_this_one(run: Run) -> None:
    assert run("import sys\nprint(sys.prefix)").stdout.strip() == sys.prefix
