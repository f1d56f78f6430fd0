"""Diagnose, then script: mutually exclusive causes first, one script for each."""

from __future__ import annotations

from collections.abc import Sequence

from rebug.ports import Situation
from rebug.propose.written.task import Task

VERSION = 1

PROMPT = """\
# Task: diagnose

Name {count} causes that could explain the report and exclude one another: different code paths, inputs or conditions,
the likeliest first. For each write a script that shows the bug if, and only if, that cause is the true one.
"""

KNOWN = """\
These were tried and did not show it; do not repeat them:
{tried}
"""


class Diagnose:
    """Asks for rival causes, each with its script."""

    name = "diagnose"
    version = VERSION

    def tasks(self, situation: Situation, hypotheses: int) -> Sequence[Task]:
        text = PROMPT.format(count=hypotheses)
        tried = [f"- {trial.candidate.hypothesis.claim[:120]}" for trial in situation.trials]
        if tried and situation.round > 1:
            text += KNOWN.format(tried="\n".join(list(dict.fromkeys(tried))[-10:]))
        return [Task(writer=self.name, text=text, hypotheses=hypotheses, sample=situation.round)]
