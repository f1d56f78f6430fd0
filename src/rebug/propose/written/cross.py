"""Crossover: what two parents do well, in one script."""

from __future__ import annotations

from collections.abc import Sequence

from rebug.model_api.digest import described
from rebug.ports import Situation
from rebug.propose.written.task import Task

VERSION = 1

PROMPT = """\
# Task: combine

Two scripts came near the bug in different ways. Write {count} scripts that join the set-up or conditions of one with
the call or check of the other.

First:
{first}

Second:
{second}
"""


class Cross:
    """Asks for combinations of the best two parents."""

    name = "cross"
    version = VERSION

    def tasks(self, situation: Situation, hypotheses: int) -> Sequence[Task]:
        if len(situation.parents) < 2:
            return []
        first, second = situation.parents[:2]
        text = PROMPT.format(
            count=hypotheses, first=described(first, longest=900), second=described(second, longest=900)
        )
        parents = (first.candidate.id, second.candidate.id)
        return [Task(writer=self.name, text=text, hypotheses=hypotheses, parents=parents)]
