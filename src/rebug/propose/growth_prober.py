"""The program inside a growth probe: many calls with growing inputs, each timed for a moment, in one process.

It runs in the subject's interpreter (3.8 and later) without rebug. It decides nothing: it names the calls whose time
seems to grow faster than their input; plain candidates made of them measure properly and are judged.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import resource
import signal
import sys
import time
from types import FrameType
from typing import Any

PREFIX = "REBUG-GROWTH "
LIMIT = 0.25  # CPU seconds of one call
STEEP = 1.5  # order of growth above which a call is named


def clock() -> float:
    """CPU seconds of this process; time.process_time() is coarse under a limit on CPU time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class TooLong(BaseException):
    """A call ran into LIMIT."""


class Prober:
    """Times acts; an act is the text of a function's body with the size `n`."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.until = 0.0
        self.spaces: dict[str, dict[str, Any] | None] = {}

    def tick(self, _signal: int, _frame: FrameType | None) -> None:
        if clock() > self.until:
            raise TooLong

    def seconds(self, act: Any, n: int, limit: float = LIMIT) -> float:
        """CPU seconds of one call; infinite when it is not back after `limit`."""
        started = clock()
        self.until = started + limit
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        try:
            act(n)
        except TooLong:
            return math.inf
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return clock() - started

    def space(self, setup: str) -> dict[str, Any] | None:
        """The names that a set-up gives; None when it fails. A set-up runs once."""
        if setup not in self.spaces:
            space: dict[str, Any] = {"__name__": "probe"}
            try:
                exec(compile(setup, "<setup>", "exec"), space)  # noqa: S102 - the subject's sandbox
            except Exception:  # noqa: BLE001 - whatever it is, such acts cannot be had
                self.spaces[setup] = None
            else:
                self.spaces[setup] = space
        return self.spaces[setup]

    def act(self, body: str, setup: str) -> Any:
        space = self.space(setup)
        if space is None:
            return None
        lines = ["def act(n):", *("    " + line for line in body.splitlines())]
        exec(compile("\n".join(lines), "<act>", "exec"), space)  # noqa: S102 - the subject's sandbox
        return space["act"]

    def order(self, act: Any) -> tuple[float, int]:
        """The order of growth that shows in a quadrupling of the size, 0.0 when none does, and that size."""
        known: list[tuple[int, float]] = []
        n = 4
        while n <= 1 << 16:
            try:
                took = self.seconds(act, n)
                if took == math.inf:
                    return self.beyond(act, known, n), n
                order = slope(known[-1], (n, took)) if known and took > 0.002 else 0.0
                if order > STEEP and took > 0.008:
                    before = min(known[-1][1], self.seconds(act, known[-1][0]))
                    order = slope((known[-1][0], before), (n, min(took, self.seconds(act, n))))
                    if order > STEEP:
                        return order, n
            except Exception:  # noqa: BLE001 - it refuses such inputs, by whatever error
                return 0.0, n
            if (took > 0.02 and order < 1.15) or (took > 0.06 and order < 1.35):
                return 0.0, n
            known.append((n, took))
            n *= 4
        return 0.0, n

    def beyond(self, act: Any, known: list[tuple[int, float]], n: int) -> float:
        """The order where LIMIT was too short for a size: what more time shows, else what smaller steps show."""
        if not known:
            return 0.0
        before = known[-1]
        if before[1] < 0.012:
            return self.explosion(act, *before, n)
        order = slope(before, (n, min(24 * before[1], self.seconds(act, n, 24 * before[1]))))
        return order if order > STEEP else 0.0

    def explosion(self, act: Any, low: int, took: float, high: int) -> float:
        """Between a size that is quick and one that never comes back: whether the time rises in between."""
        known = [(low, took)]
        stride = max(1, (high - low) // 12)
        for n in range(low + stride, high + 1, stride):
            took = self.seconds(act, n)
            if took == math.inf:
                break
            known.append((n, took))
        visible = [pair for pair in known if pair[1] > 0.0005]
        if len(visible) < 2 or visible[-1][1] < max(0.004, 3 * visible[0][1]):
            return 0.0
        return max(STEEP, slope(visible[0], visible[-1]))

    def run(self) -> None:
        """Tries the acts in order for `plan["seconds"]` and prints one line: PREFIX and a JSON object with the hits."""
        end = time.monotonic() + self.plan["seconds"]
        hits, tried, failed = [], 0, 0
        signal.signal(signal.SIGALRM, self.tick)
        for number, (setup, body) in enumerate(self.plan["acts"]):
            if time.monotonic() > end:
                break
            tried += 1
            with io.StringIO() as nowhere, contextlib.redirect_stdout(nowhere):
                try:
                    act = self.act(body, self.plan["setups"][setup])
                    if act is not None and self.seconds(act, 1) == math.inf:
                        act = None
                except Exception:  # noqa: BLE001 - a call that is not possible
                    act = None
                if act is None:
                    failed += 1
                    continue
                order, size = self.order(act)
            if order:
                hits.append({"act": number, "order": round(min(order, 99.0), 2), "size": size})
            if len(hits) >= self.plan["enough"]:
                break
        sys.stdout.write(PREFIX + json.dumps({"tried": tried, "failed": failed, "hits": hits}) + "\n")
        sys.stdout.flush()


def slope(one: tuple[int, float], other: tuple[int, float]) -> float:
    return math.log(other[1] / max(one[1], 1e-5)) / math.log(other[0] / one[0])


def main(plan: dict[str, Any]) -> None:
    """Runs a plan: `setups`, `acts` (number of the set-up, body), `seconds`, `enough` hits."""
    sys.setprofile(None)  # it would be part of what is timed
    Prober(plan).run()
