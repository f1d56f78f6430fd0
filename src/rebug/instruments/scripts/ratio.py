"""Ratio: `ratio(act, control)` calls both in turns and fails if act() takes many times the CPU time of control().

Define `def act():` with the slow call and `def control():` with the same call as it is when it is quick (another
option, another spelling, another order), then call `ratio(act, control)`. `least` is how many times as long counts.
"""

import contextlib
import gc
import os
import resource
import sys
import time


def _clock():
    """CPU seconds of this process; time.process_time() is coarse under a limit on CPU time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _batch(call, times):
    """CPU seconds of so many calls, what they print going nowhere."""
    gc.collect()
    gc.disable()
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        started = _clock()
        for _ in range(times):
            call()
        took = _clock() - started
    gc.enable()
    return max(1e-6, took)


def ratio(act, control, least=4.0, seconds=3.0):
    """Raises AssertionError if act() takes `least` times as long as control() in each of some rounds, returns if in
    hardly any, ends 125 if it cannot tell. `seconds`: CPU time after which no further round is begun."""
    sys.setprofile(None)  # a profile would be part of what is measured
    gc.freeze()  # what is there already need not be looked through before every batch
    calls, until = 1, time.perf_counter() + 4 * seconds
    _batch(act, 1), _batch(control, 1)  # caches, lazy imports
    while calls < 1 << 16 and _batch(control, calls) < 0.004 and _batch(act, 1) * calls < seconds / 12:
        calls *= 2
    rounds, spent = [], 0.0
    while len(rounds) < 7 and (len(rounds) < 3 or spent < seconds) and time.perf_counter() < until:
        quick, slow = _batch(control, calls), _batch(act, calls)
        rounds.append((slow / quick, slow, quick))
        spent += slow + quick
    gc.unfreeze()
    ratios = sorted(one for one, _, _ in rounds)
    slow, quick = min(slow for _, slow, _ in rounds), min(quick for _, _, quick in rounds)
    if len(rounds) > 2 and ratios[1] >= least and slow >= max(0.002, least * quick):
        raise AssertionError(
            "it takes %.3g s where the control takes %.3g s, %.3g times as long in each of %d rounds "
            "[slow ratio=%.4g least=%.4g calls=%d rounds=%d]"
            % (slow / calls, quick / calls, slow / quick, len(rounds), slow / quick, least, calls, len(rounds))
        )
    if len(rounds) < 3 or ratios[-2] >= least:
        sys.stderr.write("cannot tell: the ratio is between %.3g and %.3g\n" % (ratios[0], ratios[-1]))
        sys.exit(125)
