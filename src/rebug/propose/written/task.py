"""What a language model is asked for: the values that writers share. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

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
