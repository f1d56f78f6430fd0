"""Rate: `again(act, "RuntimeError")` calls `act()` over and over until it fails so, in its own or in another thread.

Define `def act():` with what fails now and then. Threads are switched as often as can be; `at=("name", …)` pauses at
random in the functions of these names, in all threads, which changes only when things happen, never what happens.
"""

import random
import sys
import threading
import time


def _pausing(names):
    rng = random.Random(0)  # noqa: S311 - no secret

    def line(_frame, event, _arg):
        if event == "line" and rng.random() < 0.2:
            time.sleep(0.0005)  # the others run meanwhile
        return line

    return lambda frame, _event, _arg: line if frame.f_code.co_name in names else None


def _fails_anyway(act):
    """Whether act() fails when it is merely called again: then what it leaves behind is the reason, not a race."""
    try:
        for _ in range(3):
            act()
    except AssertionError:
        return True
    return False


def again(act, error, at=(), seconds=6.0):
    """Raises what act() raised; returns when it did not fail for so many seconds. `error` is an exception's name."""
    failures, interval = [], sys.getswitchinterval()

    def note(args):
        if args.exc_type.__name__ == error:
            failures.append(args.exc_value)

    if error == "AssertionError" and _fails_anyway(act):
        sys.exit(125)
    threading.excepthook = note
    if at:
        threading.settrace(_pausing(at))
        sys.settrace(_pausing(at))
    until = time.monotonic() + seconds
    try:
        while time.monotonic() < until and not failures:
            sys.setswitchinterval(1e-6)
            act()
    finally:
        sys.settrace(None)
        threading.settrace(None)
        sys.setswitchinterval(interval)
    if failures:
        raise failures[0]
