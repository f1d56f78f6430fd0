"""Leak: `leak(act)` repeats `act()` and fails if every call keeps memory, objects, descriptors, threads, tasks …

Define `def act():` (or `async def act():`) with the calls to repeat, then call `leak(act)`; inside a coroutine
`await leak_async(act)`. `resource` narrows it to one of memory, objects, descriptors, threads, processes, tasks; only
when asked for: "cycles" (garbage that reference counting does not free) and "unclosed" (ResourceWarnings).
"""

import asyncio
import contextlib
import gc
import inspect
import os
import sys
import threading
import time
import warnings


def _listed(path):
    try:
        return os.listdir(path)
    except OSError:  # no /proc here
        return []


def _resident():
    """Resident memory in bytes; where there is no /proc, its peak."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource  # not on Windows

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _children():
    found = 0
    for thread in _listed("/proc/self/task"):
        with contextlib.suppress(OSError), open("/proc/self/task/%s/children" % thread) as children:
            found += len(children.read().split())
    return found


async def _kept(loop):
    """What the process holds now; `blocks` are those of Python's own allocator."""
    for _ in range(30):  # what ends a moment later has not leaked
        before = threading.active_count(), _children()
        await asyncio.sleep(0.01) if loop else time.sleep(0.01)
        if before == (threading.active_count(), _children()):
            break
    gc.collect()
    gc.collect()
    return {
        "processes": _children(),
        "threads": threading.active_count(),
        "descriptors": len(_listed("/proc/self/fd")),
        "tasks": len(asyncio.all_tasks()) if loop else 0,
        "objects": len(gc.get_objects()),
        "blocks": sys.getallocatedblocks(),
        "memory": _resident(),
    }


async def _repeat(act, calls):
    """Calls act() so often, what it prints going nowhere; gives the seconds that took."""
    started = time.perf_counter()
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        for _ in range(calls):
            result = act()
            if inspect.iscoroutine(result):
                await result
            del result
    return time.perf_counter() - started


def _growth(series, name, least):
    """By how much `name` grows with each batch, if it does in every one by `least` and does not level off; else 0."""
    steps = [after[name] - before[name] for before, after in zip(series, series[1:])]
    steady = sum(steps[-2:]) >= 0.6 * sum(steps[:2])
    return sum(steps) / len(steps) if min(steps) >= least and steady else 0


def _report(name, per_call, calls):
    words = {"memory": "bytes of memory", "unclosed": "things unclosed", "cycles": "objects in reference cycles"}
    raise AssertionError(
        "every call leaves %.4g more %s, on and on over %d calls [leak resource=%s per_call=%.4g calls=%d]"
        % (per_call, words.get(name, name), calls, name, per_call, calls)
    )


async def _garbage(act, resource, calls=40):
    """What every call leaves to the cycle collector, or lets die without closing it."""
    gc.collect()
    gc.disable()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", ResourceWarning)
        await _repeat(act, calls)
        found = gc.collect()
    gc.enable()
    if resource == "unclosed":
        found = sum(issubclass(one.category, ResourceWarning) for one in seen)
    if found >= 0.9 * calls:
        _report(resource, found / calls, calls)


async def _batches(act, calls, batches, loop, floors):
    """What is held after each batch of calls; ends when nothing grows any more."""
    series = []
    while len(series) < batches:
        await _repeat(act, calls)
        series.append(await _kept(loop))
        if len(series) > 2 and not any(_growth(series, name, least) for name, least in floors.items()):
            break
    return series


async def _idle():
    """The control: an act that takes nothing."""


async def leak_async(act, resource="", seconds=6.0, loop=True):
    """Raises AssertionError if what act() takes is never given back; returns if it is, ends 125 if it cannot tell."""
    warm = await _repeat(act, 3) / 3  # caches, lazy imports
    if resource in ("cycles", "unclosed"):
        return await _garbage(act, resource)
    calls = 10 if warm < 0.05 else 4
    floors = dict.fromkeys(("processes", "threads", "descriptors", "tasks"), 0.75 * calls)
    if resource not in ("memory", "objects"):
        series = await _batches(act, calls, 5, loop, floors)
        for name, least in floors.items():
            if resource in ("", name) and len(series) == 5 and _growth(series, name, least):
                _report(name, _growth(series, name, least) / calls, 4 * calls)
        if resource in floors:
            return None
    calls, took, held = 2, 0.0, _resident()
    while calls < 40000 and took < seconds / 20 and _resident() < held + 3000000:
        calls, held = 2 * calls, _resident()
        took = await _repeat(act, calls)
    if _resident() < held + 3000000:  # slow calls: as many as time allows, since few may still be filling a cache
        calls = max(calls, min(500, int(calls * seconds / 6 / took)))
    idle = await _batches(_idle, calls, 3, loop, {"memory": 1})
    noise = max(0, idle[-1]["memory"] - idle[0]["memory"])
    few = max(64, 0.7 * calls)  # what this function itself keeps is less
    floors = {"memory": max(64 * 1024, 12 * calls, 2 * noise), "objects": few, "blocks": few}
    await _repeat(act, calls)  # still fills pools
    series = await _batches(act, calls, 6, loop, floors)
    memory, objects, blocks = (_growth(series, name, least) for name, least in floors.items())
    if len(series) < 6 or not (memory or objects or blocks):
        return None
    if 7 * calls < 300 and memory < 65536 * calls:
        sys.exit(125)
    if objects and resource in ("", "objects"):
        _report("objects", objects / calls, 5 * calls)
    return _report("memory", max(memory, 32 * blocks) / calls, 5 * calls)


def leak(act, resource="", seconds=6.0):
    """Raises AssertionError if what act() takes is never given back; returns if it is, ends 125 if it cannot tell."""
    if inspect.iscoroutinefunction(act):
        asyncio.run(leak_async(act, resource, seconds))
    else:  # without a loop, which the act may want to run itself: the coroutine has nothing to wait for
        with contextlib.suppress(StopIteration):
            leak_async(act, resource, seconds, False).send(None)
