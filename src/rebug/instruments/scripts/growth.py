"""Growth: `growth(act)` calls `act(n)` with doubling n and fails if its CPU time grows much faster than n.

Define `def act(n):` with a call whose input grows in proportion to n, such as `parse("a\\n" * n)`, then call
`growth(act)`. An order of 1.65 or more over three doublings counts; n·log n does not. Where a doubled n never comes
back, smaller steps have to show how the time explodes.
"""

import contextlib
import faulthandler
import gc
import math
import os
import re
import resource
import signal
import sys
import tempfile
import time

_until, _STDLIB = [0.0, 0.0], os.path.dirname(os.__file__)


class _Enough(BaseException):
    """Ends a call that does not come back."""


def _clock():
    """CPU seconds of this process; time.process_time() is coarse under a limit on CPU time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _cannot_tell(why):
    sys.stderr.write("cannot tell: %s\n" % why)
    sys.exit(125)


def _tick(_signal, _frame):
    if _clock() > _until[0] or time.perf_counter() > _until[1]:
        raise _Enough


def _seconds(act, n, limit=2.0):
    """CPU seconds of act(n), infinite when it is not back after `limit`."""
    gc.collect()
    gc.disable()
    started = _clock()
    _until[0] = started + limit
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        try:
            act(n)
        except _Enough:
            if _clock() - started < limit:
                _cannot_tell("it waits, or the machine is too busy")
            return math.inf
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            gc.enable()
    return max(1e-6, _clock() - started)


def _linear(n):
    """The control."""
    kept = {}
    for i in range(n):
        kept[i & 1023] = str(i)


def _place(path, line, name):
    """`file:function`; `script:line` for this script; "" for the standard library, whose time is its caller's."""
    if path == __file__:
        return "script:%s" % line
    if path[:1] == "<" or (path.startswith(_STDLIB) and "-packages" not in path):
        return ""
    roots = [os.path.join(root, "") for root in sys.path if root and path.startswith(os.path.join(root, ""))]
    short = path[max(map(len, roots)) :] if roots else os.path.basename(path)
    return "%s:%s" % (short.replace(os.sep, "/"), name)


def _sampled(act, n):
    """The stacks at many moments of act(n), innermost place first. By faulthandler, which needs no interpreter to look:
    what runs in Python sees a stack only where the next call or jump is."""
    with tempfile.TemporaryFile() as dump:
        faulthandler.dump_traceback_later(0.005, repeat=True, file=dump)
        try:
            _seconds(act, n, 10)
        finally:
            faulthandler.cancel_dump_traceback_later()
        dump.seek(0)
        text = dump.read().decode("utf-8", "replace")
    stacks = []
    for block in re.split(r"Timeout|Thread 0x", text):
        frames = re.findall(r'File "(.*)", line (\d+) in (\S+)', block)
        ends = [at for at, (path, _, name) in enumerate(frames) if path == __file__ and name == act.__name__]
        stacks += [[place for place in (_place(*frame) for frame in frames[: at + 1]) if place] for at in ends[-1:]]
    return stacks


def _hottest(stacks):
    """The innermost function that is on at least half of the stacks, with its share, and those that call it."""
    shares = {place: sum(place in stack for stack in stacks) / len(stacks) for stack in stacks for place in stack}
    often = [place for place in shares if shares[place] >= 0.5]
    often = [place for place in often if place[:7] != "script:"] or often
    depth = {place: max(stack[::-1].index(place) for stack in stacks if place in stack) for place in often}
    often.sort(key=lambda place: (depth[place], shares[place]))
    return (often[-1], shares[often[-1]], ">".join(often[:-1])[-250:].lstrip(">") or "-") if often else ("-", 0, "-")


def _report(act, order, series):
    place, share, via = _hottest(_sampled(act, series[-2 if series[-2][1] > 0.04 else -1][0]))
    sizes = ",".join(str(n) for n, _ in series)
    seconds = ",".join("%.3g" % took for _, took in series)
    raise AssertionError(
        "the time grows far faster than the input: %.3g s for n=%d, %.3g s for n=%d, spent in %s "
        "[slow order=%.2f sizes=%s seconds=%s share=%.2f place=%s via=%s]"
        % (series[0][1], series[0][0], series[-1][1], series[-1][0], place, order, sizes, seconds, share, place, via)
    )


def _explosion(act, low, high):
    """Between a size that is quick and one that takes very long: how the time grows with each step, if it does."""
    n, took, series, stride = low, 0.0, [], max(1, (high - low) // 24)
    while took < 0.2 and n <= high:
        took = _seconds(act, n)
        took = min(took, _seconds(act, n)) if took < 0.05 else took
        if 0.003 <= took < math.inf:
            series.append((n, took))
        n += stride
    series = series[-5:]
    rising = all(after[1] > 1.05 * before[1] for before, after in zip(series, series[1:]))
    if len(series) > 1 and rising and series[-1][1] > max(0.02, 4 * series[0][1]):
        order = math.log(series[-1][1] / series[-2][1]) / math.log(series[-1][0] / series[-2][0])
        _report(act, order, series)


def _measured(act, n, unit, before):
    """(n, seconds of act, seconds of the control), the least of some interleaved repeats."""
    took, control = math.inf, math.inf
    for repeat in range(3):
        took = min(took, _seconds(act, n, max(0.6, min(4, 16 * before))))
        if took < 0.001 or took > max(0.05, 24 * before):
            break
        control = min(control, _seconds(_linear, max(200, int(n * unit))))
        if took > (0.3, 0.06, 0)[repeat]:
            break
    return n, took, control


def _orders(series):
    """The order of growth in each doubling, the control's being 1."""
    pairs = zip(series, series[1:])
    return [1 + math.log2(b[1] / a[1]) - math.log2(b[2] / a[2]) for a, b in pairs]


def _series(act, order, enough):
    """Measures the act with doubling n until it is clear how its time grows."""
    n, took, unit, series = 1, 0.0, 0.0, []
    while n <= 1 << 20:
        try:
            one = _measured(act, n, unit or 1, took)
            if n > 1 and one[1] > max(0.05, 24 * took):
                _explosion(act, max(1, n // 4), n)
            took = one[1]
            if took == math.inf:
                _cannot_tell("it stands still from n=%d on, which is no growth" % n)
            if took >= 0.001:
                unit = unit or took * 2e6 / n
                one = _measured(act, n, unit, took) if one[2] == math.inf or not series else one
                series += [one] if one[2] < math.inf else []
        except Exception as error:
            if isinstance(error, AssertionError) and "[slow " in str(error):
                raise
            return  # it refuses so much, by whatever error; until then it was quick
        orders = _orders(series[-4:])
        last = sum(orders[-2:]) / 2 if len(orders) > 1 else 0
        clear = len(orders) == 3 and sorted(orders)[1] > 1.4 and min(orders) > 1 and sum(orders) >= 3 * order
        if (clear and took >= 0.08) or (took > 0.5 and last >= order and min(orders[-2:]) > 1.25):
            _report(act, max(last, sum(orders) / 3), [(n, took) for n, took, _ in series[-4:]])
        if took >= enough and 0 < last < 1.4:
            return
        if took > 0.8:
            _cannot_tell("the time grows, but not clearly: orders %s" % orders)
        n *= 2


def growth(act, order=1.65, enough=0.25):
    """Raises AssertionError if the time of act(n) grows much faster than n, returns if not, ends 125 if it cannot
    tell. `enough`: CPU seconds of one call after which slow growth is taken to be all there is."""
    act(1)
    sys.setprofile(None)  # a profile would be part of what is measured
    gc.freeze()  # what is there already need not be looked through before every call
    before = signal.signal(signal.SIGALRM, _tick)
    _until[1] = time.perf_counter() + 12
    try:
        _series(act, order, enough)
    finally:
        signal.signal(signal.SIGALRM, before)
        gc.unfreeze()
