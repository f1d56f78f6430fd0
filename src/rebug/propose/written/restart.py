"""Fresh restart: the same context with part of it masked, so that another cause comes to mind.

The mask is an instruction in the task, not another context: another context would not be served from the cache.
"""

from __future__ import annotations

from collections.abc import Sequence

from rebug.ports import Situation
from rebug.propose.written.task import Task

VERSION = 1

PROMPT = """\
# Task: start afresh

Forget what seems the obvious cause: it was tried without success. {mask} Reread the report for conditions that were
passed over: versions, platform, order of calls, sizes, types, encodings, empty and repeated values, configuration.
Write {count} scripts for causes that nobody has tried yet.
"""

MASKS = (
    "Disregard the first source excerpt above.",
    "Disregard all source excerpts above but the last two.",
    "Disregard the source excerpts above altogether; go by the report and the public interface.",
    "Disregard the report's own code; go by its prose.",
)


class Restart:
    """Asks for causes off the beaten track; another mask each round."""

    name = "restart"
    version = VERSION

    def tasks(self, situation: Situation, hypotheses: int) -> Sequence[Task]:
        mask = MASKS[situation.round % len(MASKS)]
        text = PROMPT.format(mask=mask, count=hypotheses)
        return [Task(writer=self.name, text=text, hypotheses=hypotheses, sample=situation.round)]
