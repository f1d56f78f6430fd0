"""A version to ask: an assertion that only its author vouches for is run where the bug is said to be absent.

A language model can assert anything. Where its script fails in the reported version and passes in a good one, the good
version vouches for the expectation too, and the same candidate is proposed again on that basis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rebug.model import Basis, Candidate, Ended, Role, Stage, Trial
from rebug.ports import Situation
from rebug.propose.regression import good_versions

_MOST = 6
"""Trials cross-checked in one turn; each may need an environment of its own."""


class CrossCheck:
    """Controls for assertions on a model's word, and the assertions again where a control agrees with them."""

    name = "crosscheck"
    reactive = True

    def propose(self, situation: Situation) -> Iterator[Candidate]:
        controls = [trial for trial in situation.trials if trial.candidate.proposer == self.name]
        doubtful = [trial for trial in situation.trials if _unvouched(trial)]
        for trial in doubtful[-_MOST:]:
            own = [control for control in controls if trial.candidate.id in control.candidate.parents]
            if not own:
                yield from self._controls(trial, situation)
            elif any(control.observation.ended is Ended.EXITED and control.observation.exit == 0 for control in own):
                yield replace(
                    trial.candidate, id="", basis=Basis.REGRESSION, parents=(trial.candidate.id, own[0].candidate.id)
                )

    def _controls(self, trial: Trial, situation: Situation) -> Iterator[Candidate]:
        for version in good_versions(situation):
            yield replace(
                trial.candidate,
                id="",
                proposer=self.name,
                role=Role.CONTROL,
                parents=(trial.candidate.id,),
                variation=replace(trial.candidate.variation, subject_version=version),
            )


def _unvouched(trial: Trial) -> bool:
    return (
        trial.candidate.basis in {Basis.MODEL, Basis.REPORT}
        and trial.candidate.role is Role.ATTEMPT
        and trial.loss.stage is Stage.KIND
        and trial.observation.ended is Ended.EXITED
        and trial.observation.exit == 1
    )
