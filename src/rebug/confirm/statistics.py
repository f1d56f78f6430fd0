"""Statistics of repeated runs. Pure."""

from __future__ import annotations

import math

from rebug.model import Repeats

Z95 = 1.959964
"""The 97.5 % quantile of the normal distribution."""


def wilson(failures: int, runs: int) -> tuple[float, float]:
    """Wilson's score interval (95 %) of a rate seen as `failures` in `runs`. (0, 1) when there are no runs.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).
    """
    if runs == 0:
        return (0.0, 1.0)
    rate = failures / runs
    centre = rate + Z95**2 / (2 * runs)
    spread = Z95 * math.sqrt(rate * (1 - rate) / runs + Z95**2 / (4 * runs**2))
    scale = 1 + Z95**2 / runs
    return (max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale))


MOST_RUNS = 40
"""Runs after which a rate is said as it stands, however wide its interval."""

STABLE_RUNS = 20
"""Runs that show what comes and goes to be stable: a script is if it fails in at least 19 of 20."""

_STABLE_RATE = 0.95
_TIGHT = 0.2


def stable(failures: int, runs: int) -> bool:
    """Whether a script fails often enough to be relied upon: always, or in at least 19 of 20 runs."""
    return runs > 0 and (failures == runs or (runs >= STABLE_RUNS and failures >= _STABLE_RATE * runs))


def more_runs(failures: int, runs: int, *, fickle: bool) -> bool:
    """Whether further runs would tell more. `fickle`: the failure is said, or was seen, to come and go.

    A failure that was never seen in the first runs is given up; one that came each time is believed, a fickle one after
    `STABLE_RUNS`; what comes and goes is run until the interval of its rate is tight, at most `MOST_RUNS` times.
    """
    if failures == 0 or runs >= MOST_RUNS:
        return False
    if runs < STABLE_RUNS:
        return fickle or failures < runs
    low, high = wilson(failures, runs)
    return not stable(failures, runs) and high - low > _TIGHT


def repeats(failures: int, runs: int) -> Repeats:
    """k failures in n runs, with rate and interval."""
    low, high = wilson(failures, runs)
    return Repeats(
        runs=runs,
        failures=failures,
        rate=round(failures / runs, 4) if runs else 0.0,
        interval=(round(low, 4), round(high, 4)),
    )
