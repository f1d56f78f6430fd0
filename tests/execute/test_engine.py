"""The local engine: order, deadlines, interruption, and what becomes of a record that lies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import pytest

from rebug.execute import BwrapSandbox, LocalEngine, explain_limit, observe
from rebug.execute.bare import NANNY
from rebug.execute.bwrap import arguments
from rebug.execute.cap import pid_namespace
from rebug.execute.orphans import PLACE, end_orphans, remove_orphans
from rebug.model import Ended, Environment, Observation
from rebug.ports import Completed, Limits, Sandbox

from .conftest import MARK, Run, job, marked_processes


def test_results_come_in_the_order_of_the_jobs(sandbox: Sandbox, environment: Environment) -> None:
    told: list[tuple[int, str]] = []
    threads = set()

    def done(number: int, seen: Observation) -> None:
        told.append((number, seen.stdout))
        threads.add(threading.current_thread())

    scripts = [f"import time\ntime.sleep({0.3 if n == 0 else 0})\nprint({n})" for n in range(5)]
    results = LocalEngine(sandbox, workers=2).run([job(script, environment) for script in scripts], done=done)
    assert [seen.stdout for seen in results] == ["0\n", "1\n", "2\n", "3\n", "4\n"]
    assert sorted(told) == [(n, f"{n}\n") for n in range(5)]
    assert told[0] == (1, "1\n")
    assert threads == {threading.current_thread()}


def test_no_jobs(sandbox: Sandbox) -> None:
    assert LocalEngine(sandbox, workers=2).run([]) == []


def test_the_deadline(sandbox: Sandbox, environment: Environment) -> None:
    jobs = [job("import time\ntime.sleep(60)", environment) for _ in range(3)]
    started = time.monotonic()
    results = LocalEngine(sandbox, workers=1).run(jobs, deadline=time.monotonic() + 0.5)
    assert [(seen.ended, seen.limit) for seen in results] == [
        (Ended.LIMITED, "deadline"),
        (Ended.REFUSED, "deadline"),
        (Ended.REFUSED, "deadline"),
    ]
    assert time.monotonic() - started < 6


def test_what_the_callback_raises_ends_all_and_goes_on(sandbox: Sandbox, environment: Environment) -> None:
    def done(number: int, seen: Observation) -> None:
        raise LookupError("mine")

    jobs = [job("print(1)", environment), job("import time\ntime.sleep(60)", environment)]
    with pytest.raises(LookupError, match="mine"):
        LocalEngine(sandbox, workers=2).run(jobs, done=done)
    assert marked_processes() == []


PROGRAM = """
import sys
from pathlib import Path
from rebug.execute import LocalEngine, choose_sandbox
from rebug.model import Candidate, Environment, Hypothesis
from rebug.ports import Job, Limits
script = "print('x')\\nimport time\\ntime.sleep(60)"
environment = Environment(
    python=Path(sys.executable), prefix=Path(sys.prefix), python_version="", package="", version="",
    base_prefixes=(Path(sys.base_prefix),), variables={MARK: "1"},
)
candidate = Candidate(script=script, hypothesis=Hypothesis(claim=""), proposer="")
job = Job(candidate=candidate, environment=environment, limits=Limits(wall_seconds=50))
print("ready", flush=True)
try:
    LocalEngine(choose_sandbox(NAME), workers=2).run([job, job])
except KeyboardInterrupt:
    print("interrupted")
    raise SystemExit(7)
"""


def _candidates() -> int:
    """Interpreters that run a candidate."""
    return sum("harness.py" in line and not line.startswith("/usr/bin/bwrap") for line in marked_processes())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_or_killed_it_leaves_nothing(sandbox: Sandbox, number: int, tmp_path: Path) -> None:
    program = PROGRAM.replace("NAME", repr(sandbox.name)).replace("MARK", repr(MARK))
    variables = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables
    )
    deadline = time.monotonic() + 30
    while _candidates() < 2 and time.monotonic() < deadline:  # before that, it may be anywhere, imports included
        time.sleep(0.05)
    time.sleep(0.2)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    deadline = time.monotonic() + 20
    while marked_processes() and time.monotonic() < deadline:
        time.sleep(0.2)
        end_orphans()  # as the next start of rebug does
    assert marked_processes() == []
    if number == signal.SIGINT:
        assert (process.returncode, out, err) == (7, "ready\ninterrupted\n", "")
    deadline = time.monotonic() + 20
    while list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(tmp_path.iterdir()) == []


# ----------------------------------------------------------------------------------------------------------- observing


def test_frames_of_the_subject_and_of_the_rest(run: Run) -> None:
    script = (
        "import json\nfrom pkg.mod import outer\ntry:\n    outer(2)\nexcept ZeroDivisionError:\n    json.loads('{')"
    )
    seen = run(script)
    (failure,) = seen.failures
    assert [frame.file for frame in failure.frames] == [
        "repro.py",
        *["<stdlib>/json/__init__.py"],
        *["<stdlib>/json/decoder.py"] * 2,
    ]
    assert failure.cause is not None
    assert [(frame.file, frame.line, frame.function) for frame in failure.cause.frames] == [
        ("repro.py", 4, "<module>"),
        ("pkg/mod.py", 3, "outer"),
        ("pkg/mod.py", 7, "inner"),
    ]
    assert failure.cause.frames[1].values == (("value", "2"), ("doubled", "4"))
    assert [name.rpartition(".")[2] for name in seen.reached] == ["py:outer", "py:inner"]
    assert (seen.script_line, seen.last_line) == (6, 6)


def test_without_the_harness_the_output_tells(run: Run) -> None:
    seen = run("from pkg.mod import outer\nouter(2)", harness=False)
    (failure,) = seen.failures
    assert (failure.type, failure.message, failure.where) == ("ZeroDivisionError", "division by zero", "raised")
    assert [frame.file for frame in failure.frames] == ["repro.py", "pkg/mod.py", "pkg/mod.py"]
    assert seen.script_line == 2


def test_tracebacks_of_children_and_printed_ones(run: Run) -> None:
    script = """
        import subprocess, sys, traceback
        subprocess.run([sys.executable, "-c", "raise OSError('child')"])
        try:
            {}["printed"]
        except KeyError:
            traceback.print_exc()
        raise ValueError("own")
    """
    seen = run(textwrap.dedent(script))
    found = {(failure.type, failure.message, failure.where) for failure in seen.failures}
    assert seen.failures[0].where == "raised"
    assert found == {
        ("ValueError", "own", "raised"),
        ("OSError", "child", "printed"),
        ("KeyError", "'printed'", "printed"),
    }


def test_a_forked_child_is_told_apart(run: Run) -> None:
    seen = run("import os\nif os.fork() == 0:\n    raise OSError('in child')\nos.wait()")
    assert [(failure.type, failure.where) for failure in seen.failures] == [("OSError", "child")]
    assert (seen.exit, seen.last_line) == (0, 4)


FORGED = {
    "garbage": b"\xff\x00\n{not json\n[]\n{}\n3\n",
    "wrong types": b'{"k":"failure","where":[],"failure":{"type":3}}\n{"k":"failure","failure":[]}\n{"k":["x"]}\n'
    b'{"k":"warning","line":"x","message":{}}\n{"k":"end","cpu":"1","rss":-5}\n{"k":"end","cpu":1e999}\n'
    b'{"k":"exit","last_line":-3,"code":9}\n{"k":"stacks","threads":{"a":1}}\n{"k":"reached","file":4}\n',
    "deep": b'{"k":"failure","failure":' + b'{"type":"E","cause":' * 50_000 + b"1" + b"}" * 50_000 + b"}\n",
    "nested lists": b'{"k":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    "huge number": b'{"k":"end","rss":' + b"9" * 10_000 + b"}\n",
    "surrogates": b'{"k":"failure","where":"raised","failure":{"type":"E\\ud800","message":"\\udfff"}}\n',
    "many lines": b'{"k":"log","message":"x"}\n' * 100_000,
    "long line": b'{"k":"log","message":"' + b"x" * 4_000_000 + b'"}\n',
    "dump": b"Fatal Python error: x\n\n"
    + b'Thread 0x1 (most recent call first):\n  File "a", line 99999999 in f\n' * 20_000,
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_record_does_no_harm(name: str, environment: Environment) -> None:
    started = time.monotonic()
    completed = Completed(exit=0, stdout=b"\xff", record=FORGED[name])
    seen = observe(completed, job("", environment))
    assert (seen.ended, seen.exit, seen.stdout) == (Ended.EXITED, 0, "\ufffd")
    assert len(repr(seen)) < 1 << 21
    repr(seen).encode("utf-8")
    assert all(failure.message.encode("utf-8") is not None for failure in seen.failures)
    assert len(seen.logs) <= 400
    assert time.monotonic() - started < 3


def test_a_script_that_forges_its_record(run: Run) -> None:
    script = """
        import os, sys
        line = b'{"k":"failure","where":"raised","failure":{"type":"Forged","frames":7}}\\n'
        for fd in map(int, os.listdir("/proc/self/fd")):
            if fd > 2:
                try:
                    os.write(fd, line + b"x" * 8_000_000)
                except OSError:
                    pass
        print("done")
    """
    seen = run(textwrap.dedent(script))
    assert (seen.exit, seen.stdout) == (0, "done\n")
    assert all(failure.frames == () for failure in seen.failures)


def test_bounds_of_the_output(environment: Environment) -> None:
    completed = Completed(exit=1, stderr=b"Traceback (most recent call last):\n" * 200_000, stdout=b"x" * (4 << 20))
    started = time.monotonic()
    seen = observe(completed, job("", environment))
    assert len(seen.stdout) == 1 << 20
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    "limit", ["wall", "cpu", "memory", "output", "disk", "processes", "deadline", "sandbox: bwrap: no"]
)
def test_every_limit_is_explained_in_one_line(limit: str) -> None:
    line = explain_limit(limit, Limits())
    assert "\n" not in line
    assert line != limit
    assert any(word in line for word in ("allow more", "rebug doctor"))


def test_no_limit_needs_no_explanation() -> None:
    assert explain_limit("", Limits()) == ""


def test_what_keeps_an_unsandboxed_tree_clears_up_when_told_to_end(tmp_path: Path) -> None:
    """Even beside a living parent: one that dies counts as alive until the last of its threads is gone."""
    place = tmp_path / "place"
    (place / "work").mkdir(parents=True)
    reader, writer = os.pipe()
    argv = [sys.executable, "-I", "-S", str(NANNY), str(writer), str(os.getpid()), str(place), "RLIMIT_CORE=0", ""]
    process = subprocess.Popen([*argv, "/bin/sleep", "60"], pass_fds=[writer], env={MARK: "1"})
    os.close(writer)
    assert os.read(reader, 100).startswith(b'{"child-pid"')
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    os.close(reader)
    assert not place.exists()
    assert marked_processes() == []


def test_directories_left_by_a_killed_rebug_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    names = [
        f"{PLACE}{pid_namespace()}-{gone.pid}-abc",
        f"{PLACE}{pid_namespace()}-{os.getpid()}-abc",  # ours
        f"{PLACE}1{pid_namespace()}-{gone.pid}-abc",  # another container's
        f"{PLACE}{pid_namespace()}-x-y",
    ]
    for name in names:
        (tmp_path / name / "work").mkdir(parents=True)
    remove_orphans()
    assert sorted(place.name for place in tmp_path.iterdir()) == sorted(names[1:])


def test_a_sandbox_whose_bubblewrap_was_killed_too_early_is_ended(bwrap: Sandbox) -> None:
    """The status goes into a pipe that nobody reads any more: bubblewrap dies before it has set its child free."""
    assert isinstance(bwrap, BwrapSandbox)
    reader, writer = os.pipe()
    os.close(reader)
    argv = arguments(bwrap.program, status=writer, shown=[], work="/work", files=[], limits=Limits())
    argv += ["--setenv", MARK, "1", "--", "/bin/true"]
    process = subprocess.Popen(argv, pass_fds=[writer], env={}, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writer)
    assert process.wait(10) != 0
    assert len(marked_processes()) == 1
    assert len(end_orphans()) == 1
    deadline = time.monotonic() + 10
    while marked_processes() and time.monotonic() < deadline:
        time.sleep(0.02)
