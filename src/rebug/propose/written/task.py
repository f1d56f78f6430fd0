"""What a language model is asked for: the values that writers share. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rebug.model import Ended, Failure, Trial
from rebug.ports import Situation

TOKENS_PER_SCRIPT = 450
"""Room in a reply for one hypothesis with its script: 40 lines at about 10 tokens, and the lines above it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One call: what follows the shared context, and how many hypotheses it asks for."""

    writer: str
    text: str
    hypotheses: int
    parents: tuple[str, ...] = ()
    sample: int = 0  # tells equal tasks of one run apart

    @property
    def max_output_tokens(self) -> int:
        return TOKENS_PER_SCRIPT * self.hypotheses + 150


class Writer(Protocol):
    """A way of asking. Its prompt stands in its module as `PROMPT`, with a `VERSION` that is raised when it changes."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    def tasks(self, situation: Situation, hypotheses: int) -> Sequence[Task]:
        """Tasks for this round, most promising first; empty when there is nothing to build on."""
        ...


def described(trial: Trial, *, longest: int = 1400) -> str:
    """A parent for a prompt: its script, what its run showed, what is missing. Never just a number."""
    observation = trial.observation
    parts = [f"script:\n```python\n{trial.candidate.script.strip()[:longest]}\n```", f"result: {_ending(trial)}"]
    parts += [f"raised: {_raised(failure)}" for failure in observation.failures[:2]]
    if observation.stdout.strip():
        parts.append(f"stdout, last lines:\n{_tail(observation.stdout)}")
    if observation.stderr.strip() and not observation.failures:
        parts.append(f"stderr, last lines:\n{_tail(observation.stderr)}")
    if trial.critique.differs:
        parts.append(f"still differs: {trial.critique.differs[:400]}")
    if trial.critique.next:
        parts.append(f"advice: {trial.critique.next[:300]}")
    return "\n".join(parts)


def _ending(trial: Trial) -> str:
    observation = trial.observation
    if observation.ended is Ended.EXITED:
        return f"exit status {observation.exit}; judged: {trial.loss.stage.value}"
    return f"{observation.ended.value} {observation.signal or observation.limit}; judged: {trial.loss.stage.value}"


def _raised(failure: Failure) -> str:
    stack = " > ".join(f"{frame.file.rpartition('/')[2]}:{frame.function}" for frame in failure.frames[-5:])
    return f"{failure.type}: {failure.message[:200]} at {stack}"


def _tail(text: str, *, lines: int = 8, longest: int = 500) -> str:
    return "\n".join(text.strip().splitlines()[-lines:])[-longest:]
