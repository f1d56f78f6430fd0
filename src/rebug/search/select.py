"""Ranking of trials and choice of parents. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rebug.model import Basis, Ended, Role, Stage, Trial

_UNFIT = {Stage.UNRUNNABLE}


def rank(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Attempts, best first, refuted ones last; among equals the shorter script, then the earlier one.

    One of each failure signature and loss is kept: clusters of the same result are one result.
    """
    attempts = [trial for trial in trials if trial.candidate.role is Role.ATTEMPT]
    refuted = refuted_by_controls(trials)

    def place(trial: Trial) -> tuple[bool, float, int, str]:
        return trial.candidate.id in refuted, trial.loss.total, len(trial.candidate.script), trial.candidate.id

    ordered = sorted(attempts, key=place)
    seen: set[tuple[str, float, str]] = set()
    distinct = []
    for trial in ordered:
        key = (trial.signature, trial.loss.total, trial.candidate.proposer)
        if key not in seen:
            seen.add(key)
            distinct.append(trial)
    return tuple(distinct)


def refuted_by_controls(trials: Sequence[Trial]) -> set[str]:
    """Ids of trials whose assertion is a model's word only, and fails just so in every release it was checked in."""
    controls: dict[str, list[bool]] = {}
    for trial in trials:
        if trial.candidate.role is Role.CONTROL and trial.candidate.basis is Basis.MODEL:
            same = trial.observation.ended is Ended.EXITED and trial.observation.exit not in {0, 125, None}
            for parent in trial.candidate.parents:
                controls.setdefault(parent, []).append(same)
    return {parent for parent, failed in controls.items() if all(failed)}


def parents(trials: Sequence[Trial], keep: int) -> tuple[Trial, ...]:
    """The best trial and the best others whose failure signatures differ from those already kept; `keep` in all."""
    kept: list[Trial] = []
    signatures: set[str] = set()
    refuted = refuted_by_controls(trials)
    for trial in rank(trials):
        if len(kept) == keep:
            break
        if trial.loss.stage in _UNFIT or trial.signature in signatures or trial.candidate.id in refuted:
            continue
        kept.append(trial)
        signatures.add(trial.signature)
    return tuple(kept)
