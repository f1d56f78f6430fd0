"""Pass, then invert: a script that passes on the buggy behaviour as reported, with its assertion turned round.

Source: AssertFlip (Khatib et al., 2025), whose figures favour it over asking for a failing test directly: a model
writes passing code more reliably than failing code.
"""

from __future__ import annotations

from collections.abc import Sequence

from rebug.ports import Situation
from rebug.propose.written.task import Task

VERSION = 1

PROMPT = """\
# Task: pass, then invert

For each of {count} hypotheses first think of a script that passes today because it asserts the *wrong* behaviour
exactly as the report describes it. Then turn its final assertion round, so that it asserts the right behaviour: it
fails today and passes once the bug is fixed. Write only the turned script, its assertion with a message that states
expected and actual.
"""


class Invert:
    """Asks for passing scripts with the assertion inverted. Once a run: the task does not change."""

    name = "invert"
    version = VERSION

    def tasks(self, situation: Situation, hypotheses: int) -> Sequence[Task]:
        asked = any(trial.candidate.proposer == f"model:{self.name}" for trial in situation.trials)
        if asked:
            return []
        return [Task(writer=self.name, text=PROMPT.format(count=hypotheses), hypotheses=hypotheses)]
