"""How near a run came to the symptom, and what is concluded from it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from rebug.model.experiment import Candidate, Observation


class Stage(enum.StrEnum):
    """How far a candidate got, worst first (DESIGN: staged, so that getting further always wins)."""

    UNRUNNABLE = "unrunnable"
    ENVIRONMENT = "environment"
    OUTSIDE = "outside"
    INSIDE = "inside"
    NEAR = "near"
    KIND = "kind"
    MATCH = "match"
    PROVEN = "proven"


class Verdict(enum.StrEnum):
    SUPPORTED = "supported"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    UNTESTED = "untested"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Distance from observation to symptom: 0 is the reported bug, 1 is nothing."""

    total: float
    stage: Stage
    parts: Mapping[str, float] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()  # what still differs, in words

    @property
    def score(self) -> int:
        return round(100 * (1 - self.total))


@dataclass(frozen=True, slots=True, kw_only=True)
class Critique:
    """In words: what the candidate shows, what still differs, what to try next."""

    shows: str
    differs: str = ""
    next: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A candidate, what its run showed, and how near that is to the symptom."""

    candidate: Candidate
    observation: Observation
    loss: Loss
    verdict: Verdict
    critique: Critique
    signature: str = ""  # failure signature: exception type, innermost subject frame, missing evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """k failures in n runs with the Wilson interval of the rate (95 %)."""

    runs: int
    failures: int
    rate: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A trial after confirmation."""

    trial: Trial
    script: str  # the stand-alone contract script
    test: str  # the same as a pytest module
    repeats: Repeats
    confirmed: bool  # the stand-alone script failed for the reported reason, run plainly in a clean environment
    explanation: str
    last_good: str = ""  # a release in which the stand-alone script exits 0, "" when none was found
    lines_before: int = 0
    doubts: tuple[str, ...] = ()  # why it was not confirmed, or what remains uncertain


class Status(enum.StrEnum):
    """What a run of rebug concluded; result.json's `status`."""

    REPRODUCED = "reproduced"
    PARTIAL = "partial"
    NOT_REPRODUCED = "not_reproduced"
    CAPPED = "capped"
    ENVIRONMENT_FAILED = "environment_failed"
