"""Which writer to ask next: a bandit on improvement per cent spent. Pure: its state is the trials and the bill.

Source: UCB1 (Auer, Cesa-Bianchi, Fischer, Machine Learning 47, 2002) on gains divided by cost, which is the usual
index for budgeted bandits. Ties go to the order of the arms, so that a run is reproducible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rebug.model import Role, Trial

EXPLORATION = 0.15
"""Weight of the bonus for what was asked little. Gains are differences of losses and seldom over 0.3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One writer with one model: how often it was asked, what it gained in all, what it cost in all."""

    name: str
    calls: int = 0
    gain: float = 0.0
    cents: float = 0.0


def gains(trials: Sequence[Trial], prefix: str = "model:") -> dict[str, float]:
    """By proposer: the sum of what its candidates improved on the best loss before them."""
    best, total = 1.0, dict[str, float]()
    for trial in trials:
        if trial.candidate.role is not Role.ATTEMPT:
            continue
        if trial.candidate.proposer.startswith(prefix):
            name = trial.candidate.proposer
            total[name] = total.get(name, 0.0) + max(0.0, best - trial.loss.total)
        best = min(best, trial.loss.total)
    return total


def order(arms: Sequence[Arm]) -> list[str]:
    """Names of the arms, the one to pull first at the front. An arm never pulled comes before all others."""
    calls = sum(arm.calls for arm in arms)
    mean_cost = _mean_cost(arms)
    return [
        arm.name for _, arm in sorted(enumerate(arms), key=lambda pair: (-_index(pair[1], calls, mean_cost), pair[0]))
    ]


def _mean_cost(arms: Sequence[Arm]) -> float:
    calls = sum(arm.calls for arm in arms)
    return sum(arm.cents for arm in arms) / calls if calls else 0.0


def _index(arm: Arm, calls: int, mean_cost: float) -> float:
    if arm.calls == 0:
        return math.inf
    # Costs are relative to the mean, so that free and unknown prices (all zero) leave the gains as they are.
    relative = (arm.cents / arm.calls) / mean_cost if mean_cost > 0 else 1.0
    return (arm.gain / arm.calls) / max(relative, 0.1) + EXPLORATION * math.sqrt(
        2 * math.log(max(calls, 2)) / arm.calls
    )


def arms(
    names: Sequence[str], asked: Mapping[str, int], gained: Mapping[str, float], cents: Mapping[str, float]
) -> list[Arm]:
    """The arms of a run from its three tables."""
    return [
        Arm(name=name, calls=asked.get(name, 0), gain=gained.get(f"model:{name}", 0.0), cents=cents.get(name, 0.0))
        for name in names
    ]
