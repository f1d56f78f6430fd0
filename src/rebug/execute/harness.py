"""Runs a script as `__main__` in the subject's interpreter and tells what it saw.

This one file runs under every Python from 3.8 on, inside the sandbox, with the standard library only: it must stay free
of newer syntax and of imports of rebug. `python harness.py CONFIG SCRIPT ARG…` behaves as `python SCRIPT ARG…` would,
down to the exit status. What it sees goes at once, one JSON object a line, to the descriptor in REBUG_RECORD_FD, so that
a record survives whatever ends the process; the reader treats every line as untrusted.

It imports as little as it can, and hooks `logging` and `threading` only when the script imports them: a module that is
already loaded, a thread or an open descriptor more would be a difference from the plain run.
"""

from __future__ import annotations

import _signal
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
MAX_EVENTS = 200  # of each kind of event
MAX_REACHED = 2000
MAX_TEXT = 20000  # characters of a message
MAX_FRAMES = 200  # half of them from the outer end, half from the inner
MAX_CHAIN = 20
MAX_VALUES = 8
MAX_VALUE = 80
MAX_CALLS = 1500000  # calls looked at before 3.12, about half a second of work, before the profile hook is taken out
OPTIMIZED = 1  # inspect.CO_OPTIMIZED: set for functions, not for modules and class bodies
ANONYMOUS = frozenset(("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"))
PLAIN = (bool, float, complex, type(None), type(Ellipsis), type(NotImplemented), range)
TELLING = frozenset(("datetime", "decimal", "fractions", "pathlib", "pathlib._local", "uuid", "ipaddress", "zoneinfo"))


def dump(value):
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

    def __init__(self, descriptor):
        self.pid = os.getpid()
        self.counts = {}
        self.descriptor = self._move(descriptor)
        self.identity = self._identify()

    @staticmethod
    def _move(descriptor):
        """Out of the way of the script, whose first open() is to get the number it would get without us."""
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

    def _identify(self):
        try:
            status = os.fstat(self.descriptor)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def emit(self, kind, data, limit=MAX_EVENTS):
        count = self.counts.get(kind, 0)
        if count >= limit or self.identity is None or self._identify() != self.identity:
            return
        self.counts[kind] = count + 1
        data["k"] = kind
        if os.getpid() != self.pid:
            data["child"] = True
        left = ("\n" + dump(data) + "\n").encode("ascii", "replace")
        try:
            while left:
                left = left[os.write(self.descriptor, left) :]
        except OSError:
            self.identity = None


def short(value, depth=2):
    """A short repr that runs no code of the subject: objects show their class and plain attributes."""
    kind = type(value)
    if kind is str or kind is bytes:
        return clip(repr(value[:MAX_VALUE]))
    if kind is int:
        return clip(repr(value)) if value.bit_length() < 400 else "<int of %d bits>" % value.bit_length()
    if kind in PLAIN or kind.__module__ in TELLING:
        return clip(repr(value))
    if depth and kind in (list, tuple, set, frozenset):
        items = ", ".join(short(item, depth - 1) for item in take(value, 6))
        left, right = {list: "[]", tuple: "()"}.get(kind, "{}")
        return clip(left + items + (", …" if len(value) > 6 else "") + right)
    if depth and kind is dict:
        pairs = (short(key, depth - 1) + ": " + short(item, depth - 1) for key, item in take(value.items(), 5))
        return clip("{" + ", ".join(pairs) + (", …" if len(value) > 5 else "") + "}")
    if isinstance(value, type) or kind.__name__ in ("function", "builtin_function_or_method", "module", "method"):
        return clip("<%s %s>" % (kind.__name__, getattr(value, "__name__", "?")))
    return clip("<%s%s>" % (kind.__qualname__, attributes(value) if depth else ""))


def attributes(value):
    try:
        own = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        return ""
    if type(own) is not dict:
        return ""
    shown = ((key, item) for key, item in list(own.items()) if type(item) in (str, bytes, int, bool, float, type(None)))
    return "".join(" %s=%s" % (key, short(item, 0)) for key, item in take(shown, 3))


def take(items, count):
    result = []
    for item in items:
        if len(result) == count:
            break
        result.append(item)
    return result


def clip(text, limit=MAX_VALUE):
    return text if len(text) <= limit else text[: limit - 1] + "…"


def text_of(value, limit=MAX_TEXT):
    """`str(value)` as a traceback shows it, whatever the object's own methods do."""
    try:
        text = str(value)
        return str.__str__(text)[:limit] if len(text) > limit else str.__str__(text)
    except BaseException as error:  # noqa: BLE001 - the object's __str__ is the script's code and may raise anything
        if isinstance(error, KeyboardInterrupt):
            raise
        return "<exception str() failed>" if isinstance(value, BaseException) else "<unprintable object>"


class Describer:
    """Turns exceptions and frames into plain values."""

    def __init__(self, roots):
        self.roots = tuple(root.rstrip("/") for root in roots)

    def inside(self, file):
        for root in self.roots:
            if file.startswith(root) and (len(file) == len(root) or file[len(root)] == "/"):
                return True
        return False

    def frame(self, frame, line, with_values=True):
        import linecache

        code = frame.f_code
        shown = linecache.getline(code.co_filename, line or 0, frame.f_globals).strip()
        result = {"file": code.co_filename, "line": line, "function": code.co_name, "code": shown[:300]}
        if with_values and self.inside(code.co_filename):
            result["values"] = self.values(frame)
        return result

    @staticmethod
    def values(frame):
        names = frame.f_code.co_varnames + frame.f_code.co_freevars
        local = frame.f_locals
        found = ((name, local[name]) for name in names if name in local)
        return [[name, short(value)] for name, value in take(found, MAX_VALUES)]

    def frames(self, trace):
        pairs = []
        while trace is not None and len(pairs) < 100000:
            if trace.tb_frame.f_code.co_filename != HERE:
                pairs.append((trace.tb_frame, trace.tb_lineno))
            trace = trace.tb_next
        if len(pairs) > MAX_FRAMES:
            pairs = pairs[: MAX_FRAMES // 2] + pairs[-MAX_FRAMES // 2 :]
        return [self.frame(frame, line) for frame, line in pairs]

    def failure(self, error, seen=()):
        kind = type(error)
        module = kind.__module__
        name = kind.__qualname__ if module in ("builtins", "__main__") else "%s.%s" % (module, kind.__qualname__)
        message = error.msg if isinstance(error, SyntaxError) and isinstance(error.msg, str) else text_of(error)
        result = {"type": name, "message": message[:MAX_TEXT], "frames": self.frames(error.__traceback__)}
        if isinstance(error, SyntaxError) and isinstance(error.filename, str):
            place = {
                "file": error.filename,
                "line": error.lineno,
                "function": "",
                "code": text_of(error.text or "", 300),
            }
            result["frames"].append(place)
        if isinstance(error, OSError) and error.errno == 28:  # noqa: PLR2004 - ENOSPC
            result["disk_full"] = disk_full()
        notes = getattr(error, "__notes__", None)
        if isinstance(notes, (list, tuple)):
            result["notes"] = [text_of(note, 2000) for note in notes[:20]]
        seen = seen + (id(error),)
        cause = error.__cause__ if error.__cause__ is not None else error.__context__
        if error.__cause__ is None and error.__suppress_context__:
            cause = None
        if cause is not None and id(cause) not in seen and len(seen) < MAX_CHAIN:
            result["cause"] = self.failure(cause, seen)
        members = getattr(error, "exceptions", None)
        if isinstance(members, tuple) and any(base.__name__ == "BaseExceptionGroup" for base in kind.__mro__):
            inner = [item for item in members if isinstance(item, BaseException) and id(item) not in seen]
            result["members"] = [self.failure(item, seen) for item in inner[:20]] if len(seen) < MAX_CHAIN else []
        return result

    def lines_in(self, script, trace):
        """(line of the script's top level, innermost line of the script) that a traceback passes through."""
        top = inner = None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == script:
                inner = trace.tb_lineno
                if trace.tb_frame.f_code.co_name == "<module>" and top is None:
                    top = inner
            trace = trace.tb_next
        return top, inner


def disk_full():
    for place in (".", "/tmp", "/dev/shm"):  # noqa: S108 - the sandbox's own
        try:
            if os.statvfs(place).f_bavail == 0:
                return True
        except OSError:
            continue
    return False


class AfterImport:
    """A finder that finds nothing itself and calls back when one of a few modules has been imported."""

    def __init__(self, callbacks):
        self.callbacks = callbacks
        for name in list(callbacks):
            if name in sys.modules:
                callbacks.pop(name)(sys.modules[name])
        if callbacks:
            sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
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
    def _wrap(loader, callback):
        execute = loader.exec_module

        def exec_module(module):
            del loader.exec_module
            execute(module)
            callback(module)

        try:
            loader.exec_module = exec_module
        except AttributeError:  # a loader that takes no attributes: go without the hook
            pass


class Hooks:
    """Taps on what a run shows beside its main exception."""

    def __init__(self, recorder, describer):
        self.recorder = recorder
        self.describer = describer

    def install(self):
        self.on_warnings()
        self.on_unraisable()
        AfterImport({"logging": self.on_logging, "threading": self.on_threading})

    def report(self, where, error, thread=""):
        if isinstance(error, BaseException):
            data = {"where": where, "failure": self.describer.failure(error), "thread": thread}
            self.recorder.emit("failure", data)

    def on_warnings(self):
        # Both C and Python code call `_showwarnmsg`, also while catch_warnings(record=True) has taken the ones below.
        for module in (warnings, sys.modules.get("_py_warnings")):
            original = getattr(module, "_showwarnmsg", None)
            if original is not None:
                module._showwarnmsg = self._warning_tap(original)

    def _warning_tap(self, original):
        def _showwarnmsg(msg):
            category = msg.category
            name = (
                category.__qualname__
                if category.__module__ == "builtins"
                else "%s.%s" % (category.__module__, category.__qualname__)
            )
            data = {
                "category": name,
                "message": text_of(msg.message, 2000),
                "file": str(msg.filename),
                "line": msg.lineno,
            }
            self.recorder.emit("warning", data)
            return original(msg)

        return _showwarnmsg

    def on_unraisable(self):
        original = sys.unraisablehook

        def unraisablehook(unraisable):
            self.report("unraisable", unraisable.exc_value)
            return original(unraisable)

        sys.unraisablehook = unraisablehook

    def on_threading(self, threading):
        original = getattr(threading, "excepthook", None)
        if original is None:
            return

        def excepthook(args):
            if args.exc_type is not SystemExit:
                self.report("thread", args.exc_value, getattr(args.thread, "name", ""))
            return original(args)

        threading.excepthook = excepthook
        if PROFILE is not None:
            threading.setprofile(PROFILE)

    def on_logging(self, logging):
        logger_class = getattr(logging, "Logger", None)
        original = getattr(logger_class, "handle", None)
        if original is None:
            return

        def handle(logger, record):
            self.log_record(record)
            return original(logger, record)

        logger_class.handle = handle

    def log_record(self, record):
        try:
            message = record.getMessage()
        except BaseException as error:  # noqa: BLE001 - formats the script's objects; logging itself reports the fault
            if isinstance(error, KeyboardInterrupt):
                raise
            message = text_of(record.msg)
        data = {"logger": str(record.name), "level": str(record.levelname), "message": message[:2000]}
        data["file"] = str(record.pathname)
        data["line"] = record.lineno
        self.recorder.emit("log", data)
        if record.exc_info and isinstance(record.exc_info, tuple):
            self.report("task" if record.name == "asyncio" else "logged", record.exc_info[1])


PROFILE = None  # the profile function in force before 3.12, None else


class Reached:
    """Which functions of the subject were entered, each told once."""

    def __init__(self, recorder, describer):
        self.recorder = recorder
        self.describer = describer
        self.seen = {}
        self.calls = 0

    def note(self, code):
        if code.co_flags & OPTIMIZED and code.co_name not in ANONYMOUS and self.describer.inside(code.co_filename):
            name = getattr(code, "co_qualname", code.co_name)
            self.recorder.emit("reached", {"file": code.co_filename, "function": name}, MAX_REACHED)

    def start(self):
        global PROFILE  # noqa: PLW0603 - new threads have to be given the same function
        if not self.describer.roots:
            return
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is None:
            PROFILE = self.profile
            sys.setprofile(PROFILE)
            return
        for tool in (4, 3):
            if monitoring.get_tool(tool) is None:
                monitoring.use_tool_id(tool, "rebug")
                monitoring.register_callback(tool, monitoring.events.PY_START, self.monitor)
                monitoring.set_events(tool, monitoring.events.PY_START)
                return

    def monitor(self, code, offset):
        self.note(code)
        return sys.monitoring.DISABLE

    def profile(self, frame, event, arg):
        if event == "call":
            code = frame.f_code
            self.calls += 1
            if id(code) not in self.seen:
                self.seen[id(code)] = code  # held, so that its id stays its own
                self.note(code)
            elif self.calls > MAX_CALLS:
                sys.setprofile(None)


class Stacks:
    """Tells the stacks of all threads and tasks when the host sends the signal, shortly before a limit."""

    def __init__(self, recorder, describer, number):
        self.recorder = recorder
        self.describer = describer
        try:
            _signal.signal(number, self.sample)
            # In C and at once, for when no Python code can run; then it passes the signal on to `sample`.
            faulthandler.register(number, file=recorder.descriptor, all_threads=True, chain=True)
            faulthandler.enable(file=recorder.descriptor, all_threads=False)
        except (OSError, ValueError, RuntimeError):
            pass

    def sample(self, number, current):
        threads = []
        for ident, frame in sys._current_frames().items():
            stack = self.stack(current if ident == own_ident() else frame)
            threads.append({"name": thread_name(ident), "frames": stack})
        self.recorder.emit("stacks", {"threads": threads[:50] + self.tasks()})

    def stack(self, frame):
        frames = []
        while frame is not None and len(frames) < MAX_FRAMES:
            if frame.f_code.co_filename != HERE:
                frames.append(self.describer.frame(frame, frame.f_lineno, with_values=False))
            frame = frame.f_back
        return frames[::-1]

    def tasks(self):
        asyncio = sys.modules.get("asyncio")
        try:
            found = asyncio.all_tasks() if asyncio is not None else ()
        except (RuntimeError, AttributeError):  # no loop runs in this thread
            return []
        return [{"name": "task " + str(task.get_name()), "frames": self.awaits(task)} for task in take(found, 50)]

    def awaits(self, task):
        frames, awaited = [], task.get_coro()
        while awaited is not None and len(frames) < MAX_FRAMES:
            frame = first(awaited, "cr_frame", "gi_frame", "ag_frame")
            if frame is None:
                break
            frames.append(self.describer.frame(frame, frame.f_lineno, with_values=False))
            awaited = first(awaited, "cr_await", "gi_yieldfrom", "ag_await")
        return frames


def first(value, *names):
    for name in names:
        found = getattr(value, name, None)
        if found is not None:
            return found
    return None


def own_ident():
    import _thread

    return _thread.get_ident()


def thread_name(ident):
    threading = sys.modules.get("threading")
    thread = getattr(threading, "_active", {}).get(ident)
    if thread is not None:
        return str(getattr(thread, "_name", ident))
    return "MainThread" if ident == own_ident() else "thread %d" % ident


def new_main(script):
    """A fresh `__main__` as the interpreter would make it for a script."""
    loader = sys.modules["_frozen_importlib_external"].SourceFileLoader
    module = type(sys)("__main__")
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
    return module


def trim(trace):
    while trace is not None and trace.tb_frame.f_code.co_filename == HERE:
        trace = trace.tb_next
    return trace


def pass_on(hook):
    """An excepthook that hides the harness's own frames from the hook the script has in force."""

    def excepthook(kind, error, trace):
        sys.excepthook = hook
        error.__traceback__ = sys.last_traceback = trim(trace)
        hook(kind, error, error.__traceback__)

    return excepthook


def at_end(recorder):
    import resource

    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    data = {"cpu": own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime, "wall": time.time() - STARTED}
    data["rss"] = max(own.ru_maxrss, children.ru_maxrss) * 1024
    try:
        data["fds"] = len(os.listdir("/proc/self/fd"))
        data["threads"] = len(os.listdir("/proc/self/task"))
    except OSError:
        pass
    recorder.emit("end", data)


def run(script, recorder, describer):
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


def last_statement(code):
    """The line of the last statement of a module that ran to its end."""
    if hasattr(code, "co_lines"):
        lines = [line for _, _, line in code.co_lines() if line]
    else:
        import dis

        lines = [line for _, line in dis.findlinestarts(code)]
    return max(lines) if lines else None


def start():
    import json

    config = json.loads(sys.argv[1])
    script = sys.argv[2]
    recorder = Recorder(int(os.environ.pop("REBUG_RECORD_FD", "-1")))
    describer = Describer(config.get("roots", ()))
    Hooks(recorder, describer).install()
    Stacks(recorder, describer, config["signal"])
    atexit.register(at_end, recorder)
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = [item for item in sys.orig_argv if item not in (HERE, sys.argv[1])]
    sys.argv[:] = sys.argv[2:]
    if sys.version_info >= (3, 9):
        script = os.path.abspath(script)
    if sys.path and sys.path[0] == os.path.dirname(os.path.abspath(HERE)):
        sys.path[0] = os.path.dirname(os.path.abspath(script))
    recorder.emit("start", {"python": sys.version.split()[0], "pid": os.getpid()})
    Reached(recorder, describer).start()
    run(script, recorder, describer)


if __name__ == "__main__":
    start()
