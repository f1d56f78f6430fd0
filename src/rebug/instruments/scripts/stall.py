"""Stall: `stall(act)` awaits `act()` on an event loop, and fails if the loop stands still meanwhile.

Define `async def act():` with what is said to block the loop, then call `stall(act)`. A heartbeat on the same loop
tells how late other tasks come to run, without it and beside it; a thread tells where the loop's thread is just then.
"""

import asyncio
import os
import sys
import threading
import time

_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


def _named(frame):
    """Where a frame is: `file:function` below the directory it was imported from, "" for the standard library's."""
    path, code = frame.f_code.co_filename, frame.f_code
    if path[:1] == "<" or (path.startswith(_STDLIB) and "-packages" not in path):
        return ""
    roots = [os.path.join(root, "") for root in sys.path if root and path.startswith(os.path.join(root, ""))]
    short = "script" if path == __file__ else path[len(max(roots, key=len, default="")) :]
    return ("%s:%s" % (short, code.co_name)).replace(" ", "_")


class _Watch(threading.Thread):
    """Takes the loop thread's stack every few milliseconds while the heartbeat is late."""

    def __init__(self):
        super().__init__(daemon=True)
        self.thread, self.beat, self.seen, self.over = threading.get_ident(), time.monotonic(), {}, False

    def run(self):
        while not self.over:
            time.sleep(0.004)
            late = time.monotonic() - self.beat
            frame = sys._current_frames().get(self.thread) if late > 0.03 else None
            names = []
            while frame is not None:
                names.append(_named(frame))
                frame = frame.f_back
            stack = tuple(name for name in names if name)[:8]
            if stack:
                self.seen[stack] = self.seen.get(stack, 0) + 1


async def _beats(watch, late):
    while True:
        watch.beat = time.monotonic()
        await asyncio.sleep(0.005)
        late.append(max(0.0, time.monotonic() - watch.beat - 0.005))


async def _beside(watch, work):
    """(seconds that the work took, how late the heartbeat was each time)."""
    late = []
    heart = asyncio.ensure_future(_beats(watch, late))
    await asyncio.sleep(0.02)
    started = time.monotonic()
    await work()
    took = time.monotonic() - started
    await asyncio.sleep(0.02)
    heart.cancel()
    return took, late


async def _idle():
    await asyncio.sleep(0.2)


async def stall_async(act, seconds=8.0):
    """Raises AssertionError if the loop stands still while act() runs; returns if it does not."""
    watch, blocked, idle, took = _Watch(), [], [], []
    await act()  # caches, lazy imports
    watch.start()
    until = time.monotonic() + seconds
    while len(took) < 5 and (len(took) < 2 or time.monotonic() < until):
        idle.append(max((await _beside(watch, _idle))[1]))
        watch.seen = {} if not took else watch.seen
        one, late = await _beside(watch, act)
        took.append(one)
        blocked.append(max(late))
    watch.over = True
    baseline, loaded = sorted(idle)[len(idle) // 2], min(blocked)
    if loaded < 0.05 or loaded < 5 * baseline or loaded < 0.25 * min(took):
        figures = loaded, baseline, loaded / max(baseline, 0.001), baseline, loaded
        told = "others wait %.3g s beside it and %.3g s without [stall ratio=%.3g metric=loop_seconds baseline=%.3g"
        sys.stdout.write((told + " loaded=%.3g]\n") % figures)
        return
    total = sum(watch.seen.values())
    stack = max(watch.seen, key=watch.seen.get, default=("-",))
    share = sum(count for one, count in watch.seen.items() if one[0] == stack[0]) / max(1, total)
    figures = loaded / max(baseline, 0.001), baseline, loaded, stack[0], share, ">".join(stack)
    raise AssertionError(
        "the event loop stands still for %.3g s of %.3g s, in %s, and is %.2g s late without it "
        "[stall ratio=%.3g metric=loop_seconds baseline=%.3g loaded=%.3g place=%s share=%.2f via=%s]"
        % (loaded, min(took), stack[0], baseline, *figures)
    )


def stall(act, seconds=8.0):
    """Raises AssertionError if the loop stands still while act() runs; returns if it does not."""
    asyncio.run(stall_async(act, seconds))
