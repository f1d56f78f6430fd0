"""Growth: `growth(act)` calls `act(n)` with doubling n and fails if its CPU time grows much faster than n.

Define `def act(n):` with a call whose input grows in proportion to n, such as `parse("a\\n" * n)`, then call
`growth(act)`. An order of 1.7 or more over three doublings counts; n·log n does not. Where a doubled n never comes
back, smaller steps have to show how the time explodes.
"""

import contextlib
import gc
import math
import os
import resource
import signal
import sys
import time

_stacks, _until, _STDLIB = [], [0.0, 0.0], os.path.dirname(os.__file__)


class _Enough(BaseException):
    """Ends a call that does not come back."""


def _clock():
    """CPU seconds of this process; time.process_time() is coarse under a limit on CPU time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _cannot_tell(why):
    sys.stderr.write("cannot tell: %s\n" % why)
    sys.exit(125)


def _place(frame):
    """`file:function` of a frame; `script:line` for this script; "" for the standard library, whose time is its
    caller's."""
    path = frame.f_code.co_filename
    if path == __file__:
        return "script:%d" % frame.f_lineno
    if path[:1] == "<" or (path.startswith(_STDLIB) and "-packages" not in path):
        return ""
    roots = [os.path.join(root, "") for root in sys.path if root and path.startswith(os.path.join(root, ""))]
    short = path[max(map(len, roots)) :] if roots else os.path.basename(path)
    name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
    return "%s:%s" % (short.replace(os.sep, "/"), name.replace(" ", "_"))


def _tick(_signal, frame):
    """Notes the stack, innermost first; ends a call that has had its time."""
    if _clock() > _until[0] or time.perf_counter() > _until[1]:
        raise _Enough
    stack = []
    while frame is not None and frame.f_code is not _seconds.__code__ and len(stack) < 60:
        stack.append(_place(frame))
        frame = frame.f_back
    _stacks.append([place for place in stack if place])


def _seconds(act, n, limit=2.0):
    """CPU seconds of act(n), infinite when it is not back after `limit`."""
    gc.collect()
    gc.disable()
    del _stacks[:]
    started = _clock()
    _until[0] = started + limit
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
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


def _hottest(stacks):
    """The innermost function that is on at least half of the stacks, with its share, and those that call it."""
    total = max(1, len(stacks))
    shares = {place: sum(place in stack for stack in stacks) / total for stack in stacks for place in stack}
    often = [place for place in shares if shares[place] >= 0.5 and place[:7] != "script:"] or list(shares)
    depth = {place: max(stack[::-1].index(place) for stack in stacks if place in stack) for place in often}
    often.sort(key=lambda place: (depth[place], shares[place]))
    return (often[-1], shares[often[-1]], ">".join(often[:-1][-8:])) if often else ("", 0, "")


def _report(order, series, stacks):
    place, share, via = _hottest(stacks)
    sizes = ",".join(str(n) for n, _ in series)
    seconds = ",".join("%.3g" % took for _, took in series)
    raise AssertionError(
        "the time grows far faster than the input: %.3g s for n=%d, %.3g s for n=%d, spent in %s "
        "[slow order=%.2f sizes=%s seconds=%s share=%.2f place=%s via=%s]"
        % (series[0][1], series[0][0], series[-1][1], series[-1][0], place, order, sizes, seconds, share,
           place or "-", via or "-")
    )  # fmt: skip


def _explosion(act, low, high):
    """Between a size that is quick and one that takes very long: how the time grows with each step, if it does."""
    series, stacks, stride = [(low, _seconds(act, low))], [], max(1, (high - low) // 24)
    while series[-1][1] < 0.2 and series[-1][0] + stride <= high:
        n = series[-1][0] + stride
        series.append((n, _seconds(act, n)))
        stacks = list(_stacks)
    known = [(n, took) for n, took in series if 0.002 <= took < math.inf]
    rising = all(after[1] > 1.1 * before[1] for before, after in zip(known, known[1:]))
    if len(known) > 1 and rising and known[-1][1] > max(0.02, 4 * known[0][1]):
        order = math.log(known[-1][1] / known[-2][1]) / math.log(known[-1][0] / known[-2][0])
        _report(order, known[-5:], stacks)


def _measured(act, n, unit, before):
    """(n, seconds of act, seconds of the control), the least of some interleaved repeats, and the last stacks."""
    took, control, stacks = math.inf, math.inf, []
    for repeat in range(3):
        again = _seconds(act, n, max(0.6, min(4, 16 * before)))
        took, stacks = min(took, again), list(_stacks)
        if took < 0.001 or took > max(0.05, 24 * before) or (repeat == 1 and took > 0.2):
            break
        control = min(control, _seconds(_linear, max(200, int(n * unit))))
    return (n, took, control), stacks


def _orders(series):
    """The order of growth in each doubling, the control's being 1."""
    pairs = zip(series, series[1:])
    return [1 + math.log2(b[1] / a[1]) - math.log2(b[2] / a[2]) for a, b in pairs]


def _series(act, order, enough):
    """Measures the act with doubling n until it is clear how its time grows."""
    n, took, unit, series = 1, 0.0, 0.0, []
    while n <= 1 << 20:
        try:
            one, stacks = _measured(act, n, unit or 1, took)
            if n > 1 and one[1] > max(0.05, 24 * took):
                _explosion(act, max(1, n // 4), n)
            took = one[1]
            if took == math.inf:
                _cannot_tell("it stands still from n=%d on, which is no growth" % n)
            if took >= 0.001:
                unit = unit or took * 2e6 / n
                series.append(_measured(act, n, unit, took)[0] if one[2] == math.inf or not series else one)
        except Exception as error:
            if isinstance(error, AssertionError) and "[slow " in str(error):
                raise
            return  # it refuses so much, by whatever error; until then it was quick
        orders = _orders(series[-4:])
        if len(orders) == 3 and took >= 0.08 and min(orders) > 1.25 and sum(orders) >= 3 * order:
            _report(sum(orders) / 3, [(n, took) for n, took, _ in series[-4:]], stacks)
        if took >= enough and len(orders) >= 2 and sum(orders[-2:]) < 2.8:
            return
        if took > 1.2:
            _cannot_tell("the time grows, but not clearly: orders %s" % orders)
        n *= 2


def growth(act, order=1.7, enough=0.25):
    """Raises AssertionError if the time of act(n) grows much faster than n, returns if not, ends 125 if it cannot
    tell. `enough`: CPU seconds of one call after which slow growth is taken to be all there is."""
    act(1)
    sys.setprofile(None)  # a profile would be part of what is measured
    before = signal.signal(signal.SIGALRM, _tick)
    _until[1] = time.perf_counter() + 14
    try:
        _series(act, order, enough)
    finally:
        signal.signal(signal.SIGALRM, before)
