"""Ranking of trials and choice of parents. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rebug.model import Role, Stage, Trial

_UNFIT = {Stage.UNRUNNABLE}


def rank(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Attempts, best first; among equals the shorter script, then the earlier one. One of each failure signature and
    loss is kept: clusters of the same result are one result."""
    attempts = [trial for trial in trials if trial.candidate.role is Role.ATTEMPT]
    ordered = sorted(attempts, key=lambda t: (t.loss.total, len(t.candidate.script), t.candidate.id))
    seen: set[tuple[str, float, str]] = set()
    distinct = []
    for trial in ordered:
        key = (trial.signature, trial.loss.total, trial.candidate.proposer)
        if key not in seen:
            seen.add(key)
            distinct.append(trial)
    return tuple(distinct)


def parents(trials: Sequence[Trial], keep: int) -> tuple[Trial, ...]:
    """The best trial and the best others whose failure signatures differ from those already kept; `keep` in all."""
    kept: list[Trial] = []
    signatures: set[str] = set()
    for trial in rank(trials):
        if len(kept) == keep:
            break
        if trial.loss.stage in _UNFIT or trial.signature in signatures:
            continue
        kept.append(trial)
        signatures.add(trial.signature)
    return tuple(kept)
