"""A script in the harness does what it does without, and the record says what happened, under every Python."""

from __future__ import annotations

import os
import re
import subprocess
import textwrap
from collections.abc import Iterable
from pathlib import Path

import pytest

from rebug.execute.plan import HARNESS
from rebug.execute.record import Record, read_record
from rebug.execute.supervise import STACK_SIGNAL

from .interpreters import VERSIONS, interpreter

SAME = {
    "nothing": "",
    "names": (
        "import sys\n"
        "print(__name__, __file__, sys.argv, sys.path[0], __spec__, __package__, __doc__, sorted(globals()))"
    ),
    "docstring": "'''Doc.'''\nprint(__doc__)",
    "exception": "def f(x):\n    raise ValueError(x)\nf('bad')",
    "chain": "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('b') from e",
    "context": "try:\n    {}['a']\nexcept KeyError:\n    1/0",
    "suppressed": "try:\n    {}['a']\nexcept KeyError:\n    raise ValueError('b') from None",
    "syntax": "x = = 1\n",
    "indentation": "if 1:\nx\n",
    "null byte": "x = '\\0'\nprint(repr(x))",
    "encoding": "# -*- coding: latin-1 -*-\nprint('ok')",
    "exit int": "import sys\nsys.exit(7)",
    "exit none": "import sys\nsys.exit()",
    "exit text": "import sys\nsys.exit('why')",
    "exit big": "import sys\nsys.exit(256 + 3)",
    "exit tuple": "import sys\nsys.exit((1, 2))",
    "exit negative": "raise SystemExit(-1)",
    "exit in thread": "import threading, sys\nt = threading.Thread(target=sys.exit, args=(3,))\nt.start()\nt.join()",
    "_exit": "import os\nprint('lost')\nos._exit(9)",
    "unflushed": "import sys\nsys.stdout.write('no newline')",
    "atexit": "import atexit\natexit.register(print, 'bye')\n1/0",
    "atexit raises": "import atexit\natexit.register(lambda: 1/0)",
    "daemon thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    "late thread": "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.2), print('late'))).start()",
    "hook exits": (
        "import sys\ndef hook(kind, error, trace):\n    print(kind, trace.tb_lineno)\n"
        "    sys.exit(5)\nsys.excepthook = hook\n1/0"
    ),
    "hook prints": "import sys\nsys.excepthook = lambda *a: print('hooked', a[0], a[1])\n1/0",
    "interrupt": "raise KeyboardInterrupt",
    "killed": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "abort": "import os\nos.abort()",
    "warning": "import warnings\nwarnings.warn('old', DeprecationWarning)\nwarnings.warn('odd')",
    "warnings recorded": (
        "import warnings\nwith warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n    warnings.warn('x')\nprint(len(seen))"
    ),
    "logging": "import logging\nlogging.warning('to %s', 'root')\nlogging.getLogger('a').error('x')",
    "logging config": (
        "import logging, sys\n"
        "logging.basicConfig(stream=sys.stdout, level=0, format='%(funcName)s %(lineno)d %(filename)s')\n"
        "logging.debug('x')"
    ),
    "pickle": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)",
    "multiprocessing fork": (
        "import multiprocessing as m\ndef f(x): return x + 1\nif __name__ == '__main__':\n"
        "    with m.get_context('fork').Pool(2) as p: print(p.map(f, [1, 2]))"
    ),
    "multiprocessing spawn": (
        "import multiprocessing as m\ndef f(x): return x + 1\nif __name__ == '__main__':\n"
        "    with m.get_context('spawn').Pool(1) as p: print(p.map(f, [1, 2]))"
    ),
    "unraisable": "class A:\n    def __del__(self): raise ValueError('in del')\na = A()\ndel a",
    "thread excepthook": (
        "import threading\nthreading.excepthook = lambda args: print('mine', args.exc_type)\n"
        "t = threading.Thread(target=lambda: 1/0)\nt.start()\nt.join()"
    ),
    "descriptors": "import os\nprint(os.open('/dev/null', 0))",
    "environment": "import os\nprint(sorted(k for k in os.environ if 'REBUG' in k))",
    "inspect": "import inspect\ndef f():\n    return 1\nprint(inspect.getsource(f))",
    "relative import": "from . import x",
    "message is odd": "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
    "re-execution": (
        "import os, sys\nif len(sys.argv) == 1:\n"
        "    os.execv(sys.executable, [sys.executable, sys.argv[0], 'again'])\n"
        "print(sys.argv[1])"
    ),
    "thread count": (
        "import threading\nprint(threading.active_count(), len(__import__('os').listdir('/proc/self/task')))"
    ),
    "closed stdout": "import sys\nsys.stdout.close()",
    "recursion": (
        "import sys\nsys.setrecursionlimit(200)\ndef f(): f()\ntry:\n    f()\nexcept RecursionError as e:\n    print(e)"
    ),
    "orig_argv": "import sys\nprint(getattr(sys, 'orig_argv', [0, 'script.py'])[1:])",
    "fork": "import os\npid = os.fork()\nif pid:\n    print(os.waitpid(pid, 0)[1], flush=True)\nelse:\n    1/0",
}


def start(
    python: Path, script: str, place: Path, *, harness: bool, flags: tuple[str, ...] = (), roots: str = ""
) -> tuple[int, str, str, bytes]:
    """(exit status, stdout, stderr, record) of a run in `place`."""
    (place / "script.py").write_text(script)
    reader, writer = os.pipe()
    argv = [str(python), *flags]
    argv += [str(HARNESS), str(int(STACK_SIGNAL)), roots] if harness else []
    variables = {"PYTHONHASHSEED": "0", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    if harness:
        variables["REBUG_RECORD_FD"] = str(writer)
    process = subprocess.Popen(
        [*argv, "script.py"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=variables,
        cwd=place,
        pass_fds=[writer] if harness else [],
    )
    os.close(writer)
    out, err = process.communicate(timeout=30)
    with os.fdopen(reader, "rb") as file:
        record = file.read()
    return process.returncode, out.decode(), normal(err.decode()), record


def normal(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", re.sub(r"pid=\d+", "pid=", text))


def recorded(version: str, script: str, place: Path, roots: str = "") -> Record:
    data = start(interpreter(version), textwrap.dedent(script), place, harness=True, roots=roots)[3]
    return read_record(data, lambda file: "" if file == str(HARNESS) else file)


@pytest.mark.parametrize("version", ["3.8", "3.13"])
def test_the_script_does_what_it_does_without_the_harness(version: str, tmp_path: Path) -> None:
    assert differences(version, tmp_path, SAME) == {}


@pytest.mark.parametrize("version", ["3.11", "3.12"])
def test_the_same_in_the_versions_between(version: str, tmp_path: Path) -> None:
    assert (
        differences(version, tmp_path, ("chain", "exit text", "hook exits", "interrupt", "thread count", "fork")) == {}
    )


def differences(version: str, tmp_path: Path, names: Iterable[str]) -> dict[str, object]:
    """Plain and observed outcome of each of those scripts for which they differ."""
    python = interpreter(version)
    different: dict[str, object] = {}
    for name in names:
        script = SAME[name]
        plain = start(python, script, tmp_path, harness=False)[:3]
        seen = start(python, script, tmp_path, harness=True)[:3]
        if plain != seen:
            different[name] = (plain, seen)
    return different


@pytest.mark.parametrize("version", VERSIONS)
def test_warnings_as_errors_do_not_break_the_harness(version: str, tmp_path: Path) -> None:
    status, out, err, _ = start(
        interpreter(version), "print('fine')", tmp_path, harness=True, flags=("-W", "error", "-X", "dev")
    )
    assert (status, out, err) == (0, "fine\n", "")


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_recorded(version: str, tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text(
        "class Thing:\n    def method(self, x):\n        y = {'a': [x]}\n"
        "        raise KeyError(x)\n\ndef unused():\n    pass\n"
    )
    script = """
        import logging, threading, warnings
        import pkg
        warnings.warn("careful", RuntimeWarning)
        logging.getLogger("pkg.log").error("failed with %d", 3)
        try:
            1 / 0
        except ZeroDivisionError:
            logging.exception("logged")
        thread = threading.Thread(target=lambda: [][1], name="worker")
        thread.start()
        thread.join()
        class D:
            def __del__(self):
                raise OSError("in del")
        D()
        def call():
            pkg.Thing().method("value")
        try:
            call()
        except KeyError as error:
            raise ValueError("outer") from error
    """
    record = recorded(version, script, tmp_path, roots=str(package))
    assert [(failure.type, failure.message, failure.where) for failure in record.failures] == [
        ("ZeroDivisionError", "division by zero", "logged"),
        ("IndexError", "list index out of range", "thread"),
        ("OSError", "in del", "unraisable"),
        ("ValueError", "outer", "raised"),
    ]
    cause = record.failures[-1].cause
    assert cause is not None
    assert (cause.type, cause.message) == ("KeyError", "'value'")
    assert [frame.function for frame in cause.frames] == ["<module>", "call", "method"]
    assert cause.frames[-1].code == "raise KeyError(x)"
    assert cause.frames[-1].values[1:] == (("x", "'value'"), ("y", "{'a': ['value']}"))
    assert cause.frames[0].values == ()
    assert [(seen.category, seen.message, seen.line) for seen in record.warnings] == [("RuntimeWarning", "careful", 4)]
    assert [(seen.logger, seen.level, seen.message) for seen in record.logs] == [
        ("pkg.log", "ERROR", "failed with 3"),
        ("root", "ERROR", "logged"),
    ]
    assert [name.rpartition(":")[2].rpartition(".")[2] for name in record.reached] == ["method"]
    assert (record.last_line, record.script_line) == (22, 22)
    assert record.cpu_seconds > 0
    assert record.peak_rss > 1 << 20


@pytest.mark.parametrize("version", VERSIONS)
def test_a_task_nobody_waited_for(version: str, tmp_path: Path) -> None:
    script = """
        import asyncio
        async def fail():
            raise LookupError("in task")
        async def main():
            asyncio.ensure_future(fail())
            await asyncio.sleep(0)
        asyncio.run(main())
    """
    record = recorded(version, script, tmp_path)
    assert [(failure.type, failure.message, failure.where) for failure in record.failures] == [
        ("LookupError", "in task", "task")
    ]


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_groups_and_notes(version: str, tmp_path: Path) -> None:
    script = """
        error = ValueError("one")
        error.add_note("a note")
        raise ExceptionGroup("several", [error, ExceptionGroup("inner", [TypeError("two")])])
    """
    (failure,) = recorded(version, script, tmp_path).failures
    assert (failure.type, failure.message) == ("ExceptionGroup", "several (2 sub-exceptions)")
    assert [(member.type, member.notes) for member in failure.members] == [
        ("ValueError", ("a note",)),
        ("ExceptionGroup", ()),
    ]
    assert [member.type for member in failure.members[1].members] == ["TypeError"]


ODD = {
    "huge message": ("raise ValueError('x' * 50_000_000)", "ValueError"),
    "recursion": ("def f(n): return f(n + 1)\nf(0)", "RecursionError"),
    "str raises": ("class E(Exception):\n    def __str__(self): raise SystemExit(3)\nraise E", "E"),
    "str is no string": ("class E(Exception):\n    def __str__(self): return 3\nraise E", "E"),
    "odd attributes": ("class E(OSError):\n    errno = property(lambda s: 1/0)\nraise E", "E"),
    "odd locals": (
        (
            "class X:\n    def __repr__(self): raise SystemExit\n"
            "    __class__ = property(lambda s: 1/0)\ndef f(x): raise E(x)\n"
            "class E(Exception): pass\nf(X())"
        ),
        "E",
    ),
    "surrogates": ("raise ValueError('\\ud800')", "ValueError"),
    "cycle": ("a, b = ValueError(1), TypeError(2)\na.__cause__, b.__cause__ = b, a\nraise a", "ValueError"),
    "huge local": (
        "def f(x=10 ** 100000, y=list(range(10 ** 6)), z='s' * 10 ** 7): raise E\nclass E(Exception): pass\nf()",
        "E",
    ),
    "long chain": (
        "e = None\nfor n in range(500):\n    new = ValueError(n)\n    new.__cause__ = e\n    e = new\nraise e",
        "ValueError",
    ),
}


@pytest.mark.parametrize("version", ["3.8", "3.11", "3.13"])
def test_exceptions_that_are_hard_to_describe(version: str, tmp_path: Path) -> None:
    for script, kind in ODD.values():
        data = start(interpreter(version), script, tmp_path, harness=True, roots=str(tmp_path))[3]
        record = read_record(data, str)
        assert [failure.type for failure in record.failures] == [kind], script
        assert len(data) < 1 << 20


def test_the_record_is_not_written_into_what_took_its_place(tmp_path: Path) -> None:
    script = (
        "import os\nos.closerange(3, 2000)\n"
        "held = [open('out%d' % n, 'w') for n in range(950)]\nimport warnings\n"
        "warnings.warn('x')"
    )
    start(interpreter("3.11"), script, tmp_path, harness=True)
    assert {path.stat().st_size for path in tmp_path.glob("out*")} == {0}


def test_a_crash_leaves_what_was_seen_before(tmp_path: Path) -> None:
    script = "import warnings, ctypes\nwarnings.warn('before')\nctypes.string_at(0)"
    record = recorded("3.11", script, tmp_path)
    assert [seen.message for seen in record.warnings] == ["before"]
    assert [failure.message for failure in record.failures] == ["Fatal Python error: Segmentation fault"]


def test_the_bounds_of_events(tmp_path: Path) -> None:
    script = "import logging, warnings\nfor n in range(1000):\n    logging.error('%d', n)\n    warnings.warn(str(n))"
    record = recorded("3.11", script, tmp_path)
    assert (len(record.logs), len(record.warnings)) == (200, 200)


@pytest.mark.parametrize("version", VERSIONS)
def test_calls_in_other_threads_are_reached(version: str, tmp_path: Path) -> None:
    (tmp_path / "pkg.py").write_text("def called():\n    pass\n")
    script = "import threading, pkg\nt = threading.Thread(target=pkg.called)\nt.start()\nt.join()"
    record = recorded(version, script, tmp_path, roots=str(tmp_path / "pkg.py"))
    assert [name.rpartition("/")[2] for name in record.reached] == ["pkg.py:called"]
