"""Hang: `hang(act)` calls `act()`, and fails if it does not come back or the process cannot end after it.

Define `def act():` with the call that is said never to return, or with the whole life of what is said to leave threads
behind (join every thread of your own in it), then call `hang(act)` last. `watch()` as the first statement does the same
for a program as it stands. What is stuck is told by its stacks, which have to be the same for several seconds.
"""

import asyncio
import atexit
import faulthandler
import os
import sys
import threading
import time

_SCRIPT = os.path.abspath(__file__)
_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


def _named(frame):
    """`file:function` below the directory a frame's code was imported from; `std:…` for the standard library."""
    path, code = frame.f_code.co_filename, frame.f_code
    if path[:1] == "<" or (path.startswith(_STDLIB) and "-packages" not in path):
        return "std:%s:%s" % (os.path.basename(path).strip("<>"), code.co_name)
    roots = [os.path.join(root, "") for root in sys.path if root and path.startswith(os.path.join(root, ""))]
    short = "script" if os.path.abspath(path) == _SCRIPT else path[len(max(roots, key=len, default="")) :]
    return "".join("_" if c.isspace() or c in "],=" else c for c in "%s:%s" % (short, code.co_name))


def _of_thread(frame):
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames[::-1]


def _of_task(task):
    frames, awaited = [], task.get_coro()
    while awaited is not None and len(frames) < 100:
        for kind in ("cr", "gi", "ag"):
            frame = getattr(awaited, kind + "_frame", None)
            if frame is not None:
                frames.append(frame)
                awaited = getattr(awaited, kind + ("_yieldfrom" if kind == "gi" else "_await"), None)
                break
        else:
            break
    return frames


def _strands():
    """What runs or waits, by a key: the frames of each thread and of each task of an event loop, outermost first."""
    found = {}
    for thread in threading.enumerate():
        frame = sys._current_frames().get(thread.ident)
        if frame is not None and thread is not threading.current_thread():
            found["thread", thread.ident] = _of_thread(frame)
    for frames in list(found.values()):
        for loop in [f.f_locals.get("self") for f in frames if f.f_code.co_name == "run_forever"]:
            if isinstance(loop, asyncio.AbstractEventLoop):
                found.update({("task", id(task)): _of_task(task) for task in asyncio.all_tasks(loop)})
    return found


def _same(samples):
    """For each strand there in all samples: the calls that went on throughout, and whether nothing in it moved."""
    for key in samples[0]:
        stacks = [sample.get(key, []) for sample in samples]
        lasting = [column[0][0] for column in zip(*stacks) if all(f is column[0][0] for f, _ in column)]
        yield key, lasting, all(stack == stacks[0] for stack in stacks)


def _path(frames):
    """Names from the innermost call outwards; of calls within the standard library the one that led there."""
    names = [_named(frame) for frame in frames]
    while names and names[0] in ("std:threading.py:" + own for own in ("_bootstrap", "_bootstrap_inner", "run")):
        del names[0]
    led = [name for at, name in enumerate(names) if not (at and name[:4] == names[at - 1][:4] == "std:")]
    return led[:-9:-1]


def _used():
    """Seconds of processor time that each thread has used, where the system tells."""
    used = {}
    for thread in threading.enumerate():
        try:
            with open("/proc/self/task/%s/stat" % thread.native_id) as file:
                ticks = file.read().rpartition(")")[2].split()[11:13]
        except OSError:
            continue
        used[thread.ident] = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return used


def _limited(frames):
    """Whether the wait ends by itself after a time: the standard library's call was given a limit."""
    waits = [f for f in frames if _named(f)[:4] == "std:" and "select" not in f.f_code.co_filename]
    return any(isinstance(f.f_locals.get("timeout"), (int, float)) and f.f_locals["timeout"] > 0 for f in waits)


class _Watch(threading.Thread):
    """Lets `seconds` go by, compares what is on the stacks in their second half, and ends the process by force."""

    def __init__(self, seconds):
        super().__init__(daemon=True)
        self.seconds, self.main, self.before = seconds, threading.main_thread().ident, set(threading.enumerate())

    def run(self):
        time.sleep(self.seconds * 0.5)
        until = time.monotonic() + self.seconds * 0.7
        while True:
            samples, before = [], _used()
            while len(samples) < 9:
                samples.append({key: [(f, f.f_lasti) for f in frames] for key, frames in _strands().items()})
                time.sleep(self.seconds * 0.055)
            busy = [ident for ident, used in _used().items() if used - before.get(ident, 0.0) > 0.1 * self.seconds]
            limited = any(_limited(frames) for _, frames, still in _same(samples) if still)
            if not limited or time.monotonic() > until:
                self.end(samples, busy, limited)

    def end(self, samples, busy, limited):
        """Say what is stuck, and end the process: with status 125 if that may be over in a while."""
        base = samples[-1].get(("thread", self.main), [])
        over = bool(base) and base[0][0].f_code.co_name != "<module>"  # the main program is done
        others = [t for t in threading.enumerate() if t.ident != self.main]
        aside = [t.ident for t in others if t in self.before or (over and t.daemon)]
        told, sure = [], False
        for key, frames, still in sorted(_same(samples), key=lambda one: one[0] != ("thread", self.main)):
            names, waits = _path(frames), still and key[1] not in busy
            if names and key[1] not in aside:
                who = "main" if key[1] == self.main else key[0]
                sure = sure or ((waits or names[0][:4] not in ("scri", "std:")) and (over or who != "thread"))
                told.append(",".join([who, "waits" if waits else "loops", *names])[:300])
        figures = " ".join("strand_%s=%s" % (chr(97 + n), text) for n, text in enumerate(told[:8]))
        what = "the process cannot end" if over else "it does not come back"
        sure = sure and not limited
        sys.stdout.flush()
        faulthandler.dump_traceback(all_threads=True)
        text = "after %g seconds %s [hang end=%s %s]" % (self.seconds, what, "exit" if over else "call", figures)
        sys.stderr.write(
            "\nAssertionError: %s\n" % text if sure else "\nIt is slow, or waits for a limited time: cannot tell.\n"
        )
        sys.stderr.flush()
        tidying = threading.Thread(target=atexit._run_exitfuncs, daemon=True)  # temporary files
        tidying.start()
        tidying.join(1)
        os._exit(1 if sure else 125)


def watch(seconds=8.0):
    """From now on, a program that has not ended after so many seconds ends with status 1 and what it is stuck at."""
    faulthandler.dump_traceback_later(seconds * 1.75, exit=True)  # for a call that lets no Python code run
    _Watch(seconds).start()


def hang(act, seconds=8.0):
    """Status 1 if act() does not come back or the process cannot end after it; 125 if act() fails."""
    watch(seconds)
    try:
        act()
    except BaseException:  # noqa: BLE001 - whatever it is, it is not a hang
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(125)
