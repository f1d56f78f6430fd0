"""The proposer that asks a language model: picks writers, makes the calls of a round at once, reads what comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from rebug.errors import CapReached
from rebug.model import Candidate
from rebug.model_api import Failed, ModelRun, Reply, Request
from rebug.ports import Narrator, Situation
from rebug.propose.written import bandit
from rebug.propose.written.mend import mended
from rebug.propose.written.reply import read_reply
from rebug.propose.written.style import SECTIONS, Effort, Style
from rebug.propose.written.task import Task

AGAIN = """
Your last reply to this task held no script that parses as Python. Answer again, in exactly the form asked for, with one
short script only.
"""


@dataclass(kw_only=True)
class Author:
    """Implements `rebug.ports.Proposer`. `prefix` is the shared context, redacted, byte-identical in all calls.

    `independent`: every call is a fresh diagnosis that knows of no other (independent sampling), nothing is refined.
    """

    run: ModelRun
    prefix: str
    effort: Effort
    style: Style = SECTIONS
    independent: bool = False
    redact: Callable[[str], str] = str  # for what follows the shared context: parents' output may hold anything
    narrate: Narrator = lambda _: None
    name: str = "model"
    reactive: bool = False

    unreadable: int = field(default=0, init=False)
    capped: bool = field(default=False, init=False)  # a cap refused at least one call
    _asked: dict[str, int] = field(default_factory=dict, init=False)
    _cents: dict[str, float] = field(default_factory=dict, init=False)

    def propose(self, situation: Situation) -> Iterable[Candidate]:
        """Makes this round's calls. A call that a cap or the provider refuses is said and left out.

        Where a provider takes one call at a time, what each brought can be run before the next is made.
        """
        tasks, again = self._tasks(situation), list[Task]()
        width = 1 if self.run.model.traits.concurrency == 1 else max(1, len(tasks))
        for start in range(0, len(tasks), width):
            chunk = tasks[start : start + width]
            replies = self.run.complete_all([self._request(task) for task in chunk])
            for task, reply in zip(chunk, replies, strict=True):
                self._count(task, reply)
                candidates = list(self._read(task, reply, situation))
                yield from candidates
                if not candidates and isinstance(reply, Reply):
                    again.append(task)
        yield from self._once_more(again, situation)

    # ------------------------------------------------------------------------------------------------------- the tasks

    def _tasks(self, situation: Situation) -> list[Task]:
        if self.independent:
            return self._fresh_tasks(situation)
        offers = {writer.name: list(writer.tasks(situation, self.effort.hypotheses)) for writer in self.style.writers}
        ranked = self._ranked([name for name, tasks in offers.items() if tasks], situation)
        chosen: list[Task] = []
        while len(chosen) < self.effort.calls and any(offers[name] for name in ranked):
            for name in ranked:
                if offers[name] and len(chosen) < self.effort.calls:
                    chosen.append(offers[name].pop(0))
        return chosen

    def _fresh_tasks(self, situation: Situation) -> list[Task]:
        """As many as a round may ask, none of which knows of any other; equal ones are told apart by their sample."""
        offered = self.style.fresh.tasks(_without_history(situation), self.effort.hypotheses)
        return [
            replace(offered[number % len(offered)], sample=situation.round * 100 + number)
            for number in range(self.effort.calls)
        ]

    def _ranked(self, names: Sequence[str], situation: Situation) -> list[str]:
        return bandit.order(bandit.arms(names, self._asked, bandit.gains(situation.trials), self._cents))

    def _request(self, task: Task, more: str = "") -> Request:
        return Request(
            prefix=self.prefix,
            suffix=self.redact(task.text + more) + self.style.ending,
            max_output_tokens=task.max_output_tokens,
            label=task.writer,
            sample=task.sample,
        )

    # ----------------------------------------------------------------------------------------------------- the replies

    def _count(self, task: Task, reply: Reply | Failed) -> None:
        self._asked[task.writer] = self._asked.get(task.writer, 0) + 1
        if isinstance(reply, Failed):
            self.capped = self.capped or isinstance(reply.error, CapReached)
            self.narrate(f"the model's {task.writer} call gave nothing: {reply.error}")
        else:
            self._cents[task.writer] = self._cents.get(task.writer, 0.0) + 100 * (reply.usd or 0.0)

    def _read(self, task: Task, reply: Reply | Failed, situation: Situation) -> Iterator[Candidate]:
        if isinstance(reply, Reply):
            for written in read_reply(reply.text):
                yield mended(written, task, situation)

    def _once_more(self, tasks: Sequence[Task], situation: Situation) -> Iterator[Candidate]:
        """A reply without a usable script is asked for once more, then counted as a failed proposal."""
        replies = self.run.complete_all([self._request(task, AGAIN) for task in tasks]) if tasks else []
        for task, reply in zip(tasks, replies, strict=True):
            candidates = list(self._read(task, reply, situation))
            self.unreadable += not candidates
            yield from candidates


def _without_history(situation: Situation) -> Situation:
    return Situation(
        report=situation.report,
        symptom=situation.symptom,
        index=situation.index,
        environment=situation.environment,
        round=1,
        releases=situation.releases,
        rng=situation.rng,
    )
