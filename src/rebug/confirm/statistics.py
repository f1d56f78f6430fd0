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


def repeats(failures: int, runs: int) -> Repeats:
    """k failures in n runs, with rate and interval."""
    low, high = wilson(failures, runs)
    return Repeats(
        runs=runs,
        failures=failures,
        rate=round(failures / runs, 4) if runs else 0.0,
        interval=(round(low, 4), round(high, 4)),
    )
