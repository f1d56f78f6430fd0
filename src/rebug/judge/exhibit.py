"""One run laid beside the symptom it is measured against, and how much of the symptom it shows."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rebug.model import Candidate, Ended, Failure, Observation, Symptom

TOLERANCE = 0.25
"""Greatest distance of a match: a template with other literals (0.2) still is one, another message is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """How much of the symptom a run showed."""

    shown: bool = False
    failing: bool = False
    distance: float = 1.0
    parts: Mapping[str, float] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    failure: Failure | None = None

    @property
    def matches(self) -> bool:
        return self.shown and self.failing and self.distance <= TOLERANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """One run laid beside the symptom it is measured against."""

    candidate: Candidate
    observation: Observation
    symptom: Symptom
    tree: ast.Module  # of the candidate's script
    modules: Sequence[str]  # top-level import names of the subject
    own: bool = False  # it runs the reporter's own code, on the reporter's own inputs
    tells_of_change: bool = False  # the report says that the bug came with a version, if not since which
    logged: str = ""  # the ends of the attached logs
    told: str = ""  # the report's title, a newline, and the beginning of its text


NOTHING = Evidence()


def fails(observation: Observation) -> bool:
    """Whether the script ended with a status that, by the contract, says "present"."""
    if observation.ended is Ended.SIGNALLED:
        return True
    return observation.ended is Ended.EXITED and observation.exit not in {None, 0, 125}


def said(observation: Observation) -> str:
    """All that a run said in words: its failures' messages, then its output."""
    messages = [failure.message for failure in observation.failures]
    return "\n".join([*messages, observation.stderr, observation.stdout])
