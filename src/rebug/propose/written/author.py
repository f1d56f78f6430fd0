"""The proposer that asks a language model: picks writers, makes the calls of a round at once, reads what comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rebug.errors import CapReached
from rebug.model import Candidate
from rebug.model_api import Failed, ModelRun, Reply, Request
from rebug.ports import Narrator, Situation
from rebug.propose.written import bandit
from rebug.propose.written.cross import Cross
from rebug.propose.written.diagnose import Diagnose
from rebug.propose.written.invert import Invert
from rebug.propose.written.mend import mended
from rebug.propose.written.refine import Refine
from rebug.propose.written.reply import read_reply
from rebug.propose.written.restart import Restart
from rebug.propose.written.task import Task, Writer

AGAIN = """
Your last reply to this task held no script that parses as Python. Answer again, in exactly the form asked for, with one
short script only.
"""


FORM = """
Write the sections now, in the form shown, about the report above.
"""
"""Ends every task: small models lose the form when the context stands between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much a round may ask."""

    calls: int
    hypotheses: int  # in one reply
    context: int  # tokens of the shared context


EFFORTS = {
    "low": Effort(calls=1, hypotheses=3, context=8_000),
    "normal": Effort(calls=3, hypotheses=3, context=14_000),
    "high": Effort(calls=6, hypotheses=4, context=20_000),
}
LOCAL = Effort(calls=4, hypotheses=2, context=2_600)
"""A small model on a CPU reads about 100 tokens a second and keeps to one or two scripts."""


def writers() -> tuple[Writer, ...]:
    """All ways of asking, in the order in which they are tried first."""
    return (Diagnose(), Invert(), Refine(), Cross(), Restart())


@dataclass(kw_only=True)
class Author:
    """Implements `rebug.ports.Proposer`. `prefix` is the shared context, redacted, byte-identical in all calls.

    `independent`: every call is a fresh diagnosis that knows of no other (independent sampling), nothing is refined.
    """

    run: ModelRun
    prefix: str
    effort: Effort
    writers: Sequence[Writer] = field(default_factory=writers)
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
        """Makes this round's calls. A call that a cap or the provider refuses is said and left out."""
        tasks = self._tasks(situation)
        replies = self.run.complete_all([self._request(task) for task in tasks])
        again: list[Task] = []
        for task, reply in zip(tasks, replies, strict=True):
            self._count(task, reply)
            candidates = list(self._read(task, reply, situation))
            yield from candidates
            if not candidates and isinstance(reply, Reply):
                again.append(task)
        yield from self._once_more(again, situation)

    # ------------------------------------------------------------------------------------------------------- the tasks

    def _tasks(self, situation: Situation) -> list[Task]:
        if self.independent:
            fresh = Diagnose()
            return [
                Task(
                    writer=fresh.name, text=task.text, hypotheses=task.hypotheses, sample=situation.round * 100 + number
                )
                for number in range(self.effort.calls)
                for task in fresh.tasks(_without_history(situation), self.effort.hypotheses)
            ]
        offers = {writer.name: list(writer.tasks(situation, self.effort.hypotheses)) for writer in self.writers}
        ranked = self._ranked([name for name, tasks in offers.items() if tasks], situation)
        chosen: list[Task] = []
        while len(chosen) < self.effort.calls and any(offers[name] for name in ranked):
            for name in ranked:
                if offers[name] and len(chosen) < self.effort.calls:
                    chosen.append(offers[name].pop(0))
        return chosen

    def _ranked(self, names: Sequence[str], situation: Situation) -> list[str]:
        return bandit.order(bandit.arms(names, self._asked, bandit.gains(situation.trials), self._cents))

    def _request(self, task: Task, more: str = "") -> Request:
        return Request(
            prefix=self.prefix,
            suffix=self.redact(task.text + more) + FORM,
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
