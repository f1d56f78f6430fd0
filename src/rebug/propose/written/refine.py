"""Refine: a parent with what its run showed and what is missing, and the same again, nearer."""

from __future__ import annotations

from collections.abc import Sequence

from rebug.model_api.digest import described
from rebug.ports import Situation
from rebug.propose.written.task import Task

VERSION = 1

PROMPT = """\
# Task: refine

The script below was run. Find out from its result why the reported symptom did not show (wrong input, wrong call,
missing condition, something unrelated failed, nothing asserted), then write {count} improved scripts, each with
another remedy.

{parent}
"""


class Refine:
    """Asks for improved variants of each parent."""

    name = "refine"
    version = VERSION

    def tasks(self, situation: Situation, hypotheses: int) -> Sequence[Task]:
        return [
            Task(
                writer=self.name,
                text=PROMPT.format(count=hypotheses, parent=described(parent)),
                hypotheses=hypotheses,
                parents=(parent.candidate.id,),
            )
            for parent in situation.parents
        ]
