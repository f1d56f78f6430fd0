"""Runs a script as `__main__` in the subject's interpreter and tells what it saw.

This one file runs under every Python from 3.8 on, inside the sandbox, with the standard library only: it has no newer
syntax and no import of rebug. `python harness.py SIGNAL ROOTS SCRIPT ARG…` behaves as `python SCRIPT ARG…` would,
down to the exit status. What it sees goes at once, a JSON object a line, to the descriptor in REBUG_RECORD_FD, so that
a record survives whatever ends the process; the reader treats every line as untrusted.

It imports as little as it can, and hooks `logging` and `threading` only when the script imports them: a module that is
already loaded, a thread or an open descriptor more would be a difference from the plain run.
"""
# ruff: noqa: PLC0415, PTH100, PTH120, PTH123, PTH208, SIM105, UP036
# (imports come late and few, and versions asked for are those of the interpreter this runs in)

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _thread
import atexit
import faulthandler
import os
import sys
import time
import warnings

try:
    from _json import encode_basestring_ascii as _quote
except ImportError:  # an interpreter without the accelerator
    from json.encoder import py_encode_basestring_ascii as _quote

HERE = __file__
STARTED = time.time()
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import CodeType, FrameType, ModuleType, TracebackType
    from typing import Any

MAX_EVENTS = 200  # of each kind of event
MAX_REACHED = 2000
MAX_TEXT = 20000  # characters of a message
MAX_FRAMES = 200  # half of them from the outer end, half from the inner
MAX_CHAIN = 20
MAX_VALUES = 8
MAX_VALUE = 80
ENOSPC = 28
EFBIG = 27  # only the sandbox limits the size of a file
MAX_CALLS = 1500000  # calls and returns, those of C included, seen before the profile hook is taken out: half a second
OPTIMIZED = 1  # inspect.CO_OPTIMIZED: set for functions, not for modules and class bodies
ANONYMOUS = frozenset(("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"))
PLAIN = (bool, float, complex, type(None), type(Ellipsis), type(NotImplemented), range)
TELLING = frozenset(("datetime", "decimal", "fractions", "pathlib", "pathlib._local", "uuid", "ipaddress", "zoneinfo"))


def dump(value: Any) -> str:
    """JSON of a value made of the plain types."""
    if isinstance(value, str):
        return _quote(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, dict):
        return "{" + ",".join(_quote(str(key)) + ":" + dump(item) for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(dump(item) for item in value) + "]"
    return _quote(text_of(value, 200))


class Recorder:
    """Writes events to the record's descriptor, for as long as that is still the pipe it was."""

    def __init__(self, descriptor: int) -> None:
        self.pid = os.getpid()
        self.counts: dict[str, int] = {}
        self.lock = _thread.RLock()
        self.descriptor = self._move(descriptor)
        self.identity = self._identify()

    @staticmethod
    def _move(descriptor: int) -> int:
        """Out of the way of the script, whose first open() is to get the number it would get without us."""
        if descriptor < 0:
            return descriptor
        import fcntl

        for low in (900, 200):
            try:
                moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, low)
            except OSError:
                continue
            os.close(descriptor)
            return moved
        os.set_inheritable(descriptor, False)
        return descriptor

    def _identify(self) -> tuple[int, int] | None:
        try:
            status = os.fstat(self.descriptor)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def full(self, kind: str, limit: int = MAX_EVENTS) -> bool:
        return self.counts.get(kind, 0) >= limit or self.identity is None

    def emit(self, kind: str, data: dict[str, Any], limit: int = MAX_EVENTS) -> None:
        if self.full(kind, limit) or self._identify() != self.identity:
            return
        self.counts[kind] = self.counts.get(kind, 0) + 1
        data["k"] = kind
        if os.getpid() != self.pid:
            data["child"] = True
        self._write(("\n" + dump(data) + "\n").encode("ascii", "replace"))

    def _write(self, left: bytes) -> None:
        # A lock that a forked child may find held for ever; a torn line is the lesser evil.
        held = self.lock.acquire(True, 0.5)
        try:
            while left:
                left = left[os.write(self.descriptor, left) :]
        except OSError:
            self.identity = None
        finally:
            if held:
                self.lock.release()


def short(value: Any, depth: int = 2) -> str:
    """A short repr that runs no code of the subject: objects show their class and plain attributes."""
    kind = type(value)
    if kind is str or kind is bytes:
        return clip(repr(value[:MAX_VALUE]))
    if kind is int:
        return clip(repr(value)) if value.bit_length() < 400 else f"<int of {value.bit_length()} bits>"
    if kind in PLAIN or kind.__module__ in TELLING:
        return clip(repr(value))
    if depth and kind in (list, tuple, set, frozenset):
        items = ", ".join(short(item, depth - 1) for item in take(value, 6))
        left, right = "[]" if kind is list else "()" if kind is tuple else "{}"
        return clip(left + items + (", …" if len(value) > 6 else "") + right)
    if depth and kind is dict:
        pairs = (short(key, depth - 1) + ": " + short(item, depth - 1) for key, item in take(value.items(), 5))
        return clip("{" + ", ".join(pairs) + (", …" if len(value) > 5 else "") + "}")
    if isinstance(value, type) or kind.__name__ in ("function", "builtin_function_or_method", "module", "method"):
        return clip(f"<{kind.__name__} {getattr(value, '__name__', '?')}>")
    return clip(f"<{kind.__qualname__}{attributes(value) if depth else ''}>")


def attributes(value: Any) -> str:
    try:
        own = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        return ""
    if type(own) is not dict:
        return ""
    shown = ((key, item) for key, item in list(own.items()) if type(item) in (str, bytes, int, bool, float, type(None)))
    return "".join(f" {key}={short(item, 0)}" for key, item in take(shown, 3))


def take(items: Iterable[Any], count: int) -> list[Any]:
    result: list[Any] = []
    for item in items:
        if len(result) == count:
            break
        result.append(item)
    return result


def clip(text: str, limit: int = MAX_VALUE) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def text_of(value: Any, limit: int = MAX_TEXT) -> str:
    """`str(value)` as a traceback shows it, whatever the object's own methods do."""
    try:
        text = str(value)
        return str.__str__(text)[:limit] if len(text) > limit else str.__str__(text)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - the object's __str__ is the script's code and may raise anything
        return "<exception str() failed>" if isinstance(value, BaseException) else "<unprintable object>"


class Describer:
    """Turns exceptions and frames into plain values."""

    def __init__(self, roots: Iterable[str]) -> None:
        self.roots = tuple(root.rstrip("/") for root in roots)

    def inside(self, file: str) -> bool:
        return any(file.startswith(root) and (len(file) == len(root) or file[len(root)] == "/") for root in self.roots)

    def frame(self, frame: FrameType, line: int | None, with_values: bool = True) -> dict[str, Any]:
        import linecache

        code = frame.f_code
        shown = linecache.getline(code.co_filename, line or 0, frame.f_globals).strip()
        result: dict[str, Any] = {"file": code.co_filename, "line": line, "function": code.co_name, "code": shown[:300]}
        if with_values and self.inside(code.co_filename):
            result["values"] = self.values(frame)
        return result

    @staticmethod
    def values(frame: FrameType) -> list[list[str]]:
        names = frame.f_code.co_varnames + frame.f_code.co_freevars
        local = frame.f_locals
        found = ((name, local[name]) for name in names if name in local)
        return [[name, short(value)] for name, value in take(found, MAX_VALUES)]

    def frames(self, trace: TracebackType | None) -> list[dict[str, Any]]:
        pairs: list[tuple[FrameType, int | None]] = []
        while trace is not None and len(pairs) < 100000:
            if trace.tb_frame.f_code.co_filename != HERE:
                pairs.append((trace.tb_frame, trace.tb_lineno))
            trace = trace.tb_next
        if len(pairs) > MAX_FRAMES:
            pairs = pairs[: MAX_FRAMES // 2] + pairs[-MAX_FRAMES // 2 :]
        return [self.frame(frame, line) for frame, line in pairs]

    def failure(self, error: BaseException, seen: tuple[int, ...] = ()) -> dict[str, Any]:
        """Whatever the exception's own attributes do, some description comes of it."""
        try:
            return self._failure(error, (*seen, id(error)))
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - properties of the script's own exception class may raise anything
            return {"type": type(error).__qualname__, "message": text_of(error), "frames": []}

    def _failure(self, error: BaseException, seen: tuple[int, ...]) -> dict[str, Any]:
        kind = type(error)
        name = kind.__qualname__
        if kind.__module__ not in ("builtins", "__main__"):
            name = f"{kind.__module__}.{name}"
        result: dict[str, Any] = {"type": name, "message": text_of(error), "frames": self.frames(error.__traceback__)}
        if isinstance(error, SyntaxError):
            self._syntax(error, result)
        if isinstance(error, OSError) and error.errno in (ENOSPC, EFBIG):
            result["disk_full"] = error.errno == EFBIG or disk_full()
        notes = getattr(error, "__notes__", None)
        if isinstance(notes, (list, tuple)):
            result["notes"] = [text_of(note, 2000) for note in notes[:20]]
        if len(seen) < MAX_CHAIN:
            cause = error.__cause__
            if cause is None and not error.__suppress_context__:
                cause = error.__context__
            if cause is not None and id(cause) not in seen:
                result["cause"] = self.failure(cause, seen)
            members = getattr(error, "exceptions", None)
            if isinstance(members, tuple) and any(base.__name__ == "BaseExceptionGroup" for base in kind.__mro__):
                inner = [item for item in members if isinstance(item, BaseException) and id(item) not in seen]
                result["members"] = [self.failure(item, seen) for item in inner[:20]]
        return result

    @staticmethod
    def _syntax(error: SyntaxError, result: dict[str, Any]) -> None:
        if isinstance(error.msg, str):
            result["message"] = error.msg[:MAX_TEXT]
        if isinstance(error.filename, str):
            shown = text_of(error.text or "", 300).strip()
            result["frames"].append({"file": error.filename, "line": error.lineno, "function": "", "code": shown})

    @staticmethod
    def lines_in(script: str, trace: TracebackType | None) -> tuple[int | None, int | None]:
        """(line of the script's top level, innermost line of the script) that a traceback passes through."""
        top: int | None = None
        inner: int | None = None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == script:
                inner = trace.tb_lineno
                if trace.tb_frame.f_code.co_name == "<module>" and top is None:
                    top = inner
            trace = trace.tb_next
        return top, inner


def disk_full() -> bool:
    for place in (".", "/tmp", "/dev/shm"):  # noqa: S108 - the sandbox's own
        try:
            if os.statvfs(place).f_bavail == 0:
                return True
        except OSError:
            continue
    return False


class AfterImport:
    """A finder that finds nothing itself and calls back when one of a few modules has been imported."""

    def __init__(self, callbacks: dict[str, Callable[[Any], None]]) -> None:
        self.callbacks = callbacks
        for name in list(callbacks):
            if name in sys.modules:
                callbacks.pop(name)(sys.modules[name])
        if callbacks:
            sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        callback = self.callbacks.pop(name, None)
        if callback is None:
            return None
        if not self.callbacks and self in sys.meta_path:
            sys.meta_path.remove(self)
        for finder in list(sys.meta_path):
            spec = finder.find_spec(name, path, target) if finder is not self else None
            if spec is not None:
                self._wrap(spec.loader, callback)
                return spec
        return None

    @staticmethod
    def _wrap(loader: Any, callback: Callable[[Any], None]) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            execute(module)
            callback(module)

        try:
            loader.exec_module = exec_module
        except AttributeError:  # a loader that takes no attributes: go without the hook
            pass


class Hooks:
    """Taps on what a run shows beside its main exception."""

    def __init__(self, recorder: Recorder, describer: Describer) -> None:
        self.recorder = recorder
        self.describer = describer

    def install(self) -> None:
        self.on_warnings()
        self.on_unraisable()
        AfterImport({"logging": self.on_logging, "threading": self.on_threading})

    def report(self, where: str, error: object) -> None:
        if isinstance(error, BaseException) and not self.recorder.full("failure"):
            self.recorder.emit("failure", {"where": where, "failure": self.describer.failure(error)})

    def on_warnings(self) -> None:
        # Both C and Python code call `_showwarnmsg`, also while catch_warnings(record=True) has taken the ones below.
        for module in (warnings, sys.modules.get("_py_warnings")):
            original = getattr(module, "_showwarnmsg", None)
            if original is not None:
                module._showwarnmsg = self._warning_tap(original)  # type: ignore[union-attr]

    def _warning_tap(self, original: Callable[[Any], None]) -> Callable[[Any], None]:
        def _showwarnmsg(msg: Any) -> None:
            kind = msg.category
            name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
            data = {"category": name, "message": text_of(msg.message, 2000), "file": str(msg.filename)}
            self.recorder.emit("warning", {**data, "line": msg.lineno})
            original(msg)

        return _showwarnmsg

    def on_unraisable(self) -> None:
        original = sys.unraisablehook

        def unraisablehook(unraisable: Any) -> None:
            self.report("unraisable", unraisable.exc_value)
            original(unraisable)

        sys.unraisablehook = unraisablehook

    def on_threading(self, threading: Any) -> None:
        original = getattr(threading, "excepthook", None)
        if original is None:
            return

        def excepthook(args: Any) -> None:
            if args.exc_type is not SystemExit:
                self.report("thread", args.exc_value)
            original(args)

        threading.excepthook = excepthook
        if PROFILE is not None:
            threading.setprofile(PROFILE)

    def on_logging(self, logging: Any) -> None:
        logger_class: Any = getattr(logging, "Logger", None)
        original = getattr(logger_class, "handle", None)
        if original is None:
            return

        def handle(logger: Any, record: Any) -> None:
            self.log_record(record)
            original(logger, record)

        logger_class.handle = handle

    def log_record(self, record: Any) -> None:
        if self.recorder.full("log"):
            return
        try:
            message = record.getMessage()
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - formats the script's objects; logging itself reports the fault
            message = text_of(record.msg)
        data = {"logger": str(record.name), "level": str(record.levelname), "message": message[:2000]}
        self.recorder.emit("log", {**data, "file": str(record.pathname), "line": record.lineno})
        if record.exc_info and isinstance(record.exc_info, tuple):
            self.report("task" if record.name == "asyncio" else "logged", record.exc_info[1])


PROFILE: Callable[[FrameType, str, Any], object] | None = None  # the profile function in force before 3.12, None else


class Reached:
    """Which functions of the subject were entered, each told once."""

    def __init__(self, recorder: Recorder, describer: Describer) -> None:
        self.recorder = recorder
        self.describer = describer
        self.seen: dict[int, CodeType] = {}
        self.calls = 0
        self.disable: object = None

    def note(self, code: CodeType) -> None:
        if code.co_flags & OPTIMIZED and code.co_name not in ANONYMOUS and self.describer.inside(code.co_filename):
            name = getattr(code, "co_qualname", code.co_name)
            self.recorder.emit("reached", {"file": code.co_filename, "function": name}, MAX_REACHED)

    def start(self) -> None:
        global PROFILE  # noqa: PLW0603 - new threads have to be given the same function
        if not self.describer.roots:
            return
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None:
            PROFILE = self.profile
            if "threading" in sys.modules:
                sys.modules["threading"].setprofile(PROFILE)
            sys.setprofile(PROFILE)
            return
        for tool in (4, 3):
            if monitoring.get_tool(tool) is None:
                self.disable = monitoring.DISABLE
                monitoring.use_tool_id(tool, "rebug")
                monitoring.register_callback(tool, monitoring.events.PY_START, self.monitor)
                monitoring.set_events(tool, monitoring.events.PY_START)
                return

    def monitor(self, code: CodeType, _: int) -> object:
        self.note(code)
        return self.disable

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        self.calls += 1
        if self.calls > MAX_CALLS:
            sys.setprofile(None)
        elif event == "call":
            code = frame.f_code
            if id(code) not in self.seen:
                self.seen[id(code)] = code  # held, so that its id stays its own
                self.note(code)


class Stacks:
    """Tells the stacks of all threads and tasks when the host sends the signal, shortly before a limit."""

    def __init__(self, recorder: Recorder, describer: Describer, number: int) -> None:
        self.recorder = recorder
        self.describer = describer
        try:
            _signal.signal(number, self.sample)
            # In C and at once, for when no Python code can run; then it passes the signal on to `sample`.
            faulthandler.register(number, file=recorder.descriptor, all_threads=True, chain=True)
            faulthandler.enable(file=recorder.descriptor, all_threads=False)
        except (OSError, ValueError, RuntimeError):
            pass

    def sample(self, _: int, current: FrameType | None) -> None:
        threads = []
        for ident, frame in sys._current_frames().items():
            stack = self.stack(current if ident == _thread.get_ident() else frame)
            threads.append({"name": thread_name(ident), "frames": stack})
        self.recorder.emit("stacks", {"threads": threads[:50] + self.tasks()})

    def stack(self, frame: FrameType | None) -> list[dict[str, Any]]:
        frames: list[dict[str, Any]] = []
        while frame is not None and len(frames) < MAX_FRAMES:
            if frame.f_code.co_filename != HERE:
                frames.append(self.describer.frame(frame, frame.f_lineno, with_values=False))
            frame = frame.f_back
        return frames[::-1]

    def tasks(self) -> list[dict[str, Any]]:
        asyncio: Any = sys.modules.get("asyncio")
        try:
            found = asyncio.all_tasks() if asyncio is not None else ()
        except (RuntimeError, AttributeError):  # no loop runs in this thread
            return []
        return [{"name": "task " + str(task.get_name()), "frames": self.awaits(task)} for task in take(found, 50)]

    def awaits(self, task: Any) -> list[dict[str, Any]]:
        frames: list[dict[str, Any]] = []
        awaited = task.get_coro()
        while awaited is not None and len(frames) < MAX_FRAMES:
            frame = first(awaited, "cr_frame", "gi_frame", "ag_frame")
            if frame is None:
                break
            frames.append(self.describer.frame(frame, frame.f_lineno, with_values=False))
            awaited = first(awaited, "cr_await", "gi_yieldfrom", "ag_await")
        return frames


def first(value: Any, *names: str) -> Any:
    for name in names:
        found = getattr(value, name, None)
        if found is not None:
            return found
    return None


def thread_name(ident: int) -> str:
    threading: Any = sys.modules.get("threading")
    thread = getattr(threading, "_active", {}).get(ident)
    if thread is not None:
        return str(getattr(thread, "_name", ident))
    return "MainThread" if ident == _thread.get_ident() else f"thread {ident}"


def new_main(script: str) -> ModuleType:
    """A fresh `__main__` as the interpreter would make it for a script."""
    loader: Any = sys.modules["_frozen_importlib_external"].SourceFileLoader
    module: Any = type(sys)("__main__")
    module.__file__ = script
    module.__loader__ = loader("__main__", script)
    module.__builtins__ = sys.modules["builtins"]
    module.__spec__ = None
    if sys.version_info < (3, 14):
        module.__annotations__ = {}
    if sys.version_info < (3, 15):
        module.__cached__ = None
    sys.modules["_rebug_harness"] = sys.modules["__main__"]  # keeps this file's own globals alive
    sys.modules["__main__"] = module
    made: ModuleType = module
    return made


def trim(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_frame.f_code.co_filename == HERE:
        trace = trace.tb_next
    return trace


def pass_on(hook: Any) -> Any:
    """An excepthook that hides the harness's own frames from the hook the script has in force."""

    def excepthook(kind: Any, error: Any, trace: Any) -> None:
        sys.excepthook = hook
        error.__traceback__ = sys.last_traceback = trim(trace)
        hook(kind, error, error.__traceback__)

    return excepthook


def at_end(recorder: Recorder) -> None:
    import resource

    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    data: dict[str, Any] = {
        "cpu": own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime,
        "wall": time.time() - STARTED,
    }
    data["rss"] = max(own.ru_maxrss, children.ru_maxrss) * 1024
    try:
        data["fds"] = len(os.listdir("/proc/self/fd"))
        data["threads"] = len(os.listdir("/proc/self/task"))
    except OSError:
        pass
    recorder.emit("end", data)


def run(script: str, recorder: Recorder, describer: Describer) -> None:
    """Ends as the script ends: what it raises goes on to the interpreter, which knows the exit statuses."""
    module = new_main(script)
    try:
        with open(script, "rb") as file:
            source = file.read()
        code = compile(source, script, "exec", dont_inherit=True)
        del source
        exec(code, module.__dict__)  # noqa: S102 - the script is what this program is for
    except SystemExit as error:
        top, inner = describer.lines_in(script, error.__traceback__)
        recorder.emit("exit", {"code": short(error.code), "last_line": top, "script_line": inner})
        raise
    except BaseException as error:
        sys.setprofile(None)
        top, inner = describer.lines_in(script, error.__traceback__)
        recorder.emit("failure", {"where": "raised", "failure": describer.failure(error)})
        recorder.emit("exit", {"code": None, "last_line": top, "script_line": inner})
        sys.excepthook = pass_on(getattr(sys, "excepthook", sys.__excepthook__))
        raise
    recorder.emit("exit", {"code": "None", "last_line": last_statement(code), "script_line": None})


def last_statement(code: CodeType) -> int | None:
    """The line of the last statement of a module that ran to its end."""
    if hasattr(code, "co_lines"):
        lines = [line for _, _, line in code.co_lines() if line]
    else:
        import dis

        lines = [line for _, line in dis.findlinestarts(code) if line]
    return max(lines) if lines else None


def start() -> None:
    number, roots, script = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    recorder = Recorder(int(os.environ.pop("REBUG_RECORD_FD", "-1")))
    describer = Describer(root for root in roots.split(os.pathsep) if root)
    Hooks(recorder, describer).install()
    Stacks(recorder, describer, number)
    atexit.register(at_end, recorder)
    if hasattr(sys, "orig_argv"):
        at = sys.orig_argv.index(HERE)
        del sys.orig_argv[at : at + 3]
    del sys.argv[:3]
    if sys.version_info >= (3, 9):
        script = os.path.abspath(script)
    if sys.path and sys.path[0] == os.path.dirname(os.path.abspath(HERE)):
        sys.path[0] = os.path.dirname(os.path.abspath(script))
    recorder.emit("start", {"python": sys.version.split()[0], "pid": os.getpid()})
    Reached(recorder, describer).start()
    run(script, recorder, describer)


if __name__ == "__main__":
    start()
