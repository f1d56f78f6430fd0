"""Runs jobs in parallel on this machine, one thread per worker, each in a fresh interpreter in a fresh sandbox.

A fork server takes the place of `_run_job` one day: it needs a job and a flag to stop by, and gives an observation.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rebug.execute.observe import observe
from rebug.execute.plan import command_for
from rebug.model import Ended, Observation
from rebug.ports import Job, Sandbox

Outcome = tuple[int, Observation | BaseException | None]
"""A job's number with its observation or what went wrong in rebug itself; None when a worker has ended."""


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Runs up to `workers` (1 or more) jobs at a time in `sandbox`."""

    sandbox: Sandbox
    workers: int = 1

    def run(
        self,
        jobs: Sequence[Job],
        *,
        deadline: float | None = None,
        done: Callable[[int, Observation], None] | None = None,
    ) -> list[Observation]:
        """One observation per job, in the order of `jobs`; `done` is called in the calling thread as each one ends.

        `deadline` is on the monotonic clock. Whatever is raised meanwhile, KeyboardInterrupt included, first ends every
        running job and then goes on to the caller. Raises SandboxUnavailable when the sandbox cannot be started.
        """
        stop = threading.Event()
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(len(jobs)):
            waiting.put(number)
        outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        work = Work(self.sandbox, jobs, waiting, outcomes, stop, deadline)
        threads = [threading.Thread(target=work.go_on) for _ in range(min(max(1, self.workers), len(jobs)))]
        results: dict[int, Observation] = {}
        try:
            for thread in threads:
                thread.start()
            while len(results) < len(jobs):
                number, outcome = outcomes.get()
                if isinstance(outcome, BaseException):
                    raise outcome
                if outcome is not None:
                    results[number] = outcome
                    if done is not None:
                        done(number, outcome)
        finally:
            stop.set()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
        return [results[number] for number in range(len(jobs))]


@dataclass(frozen=True, slots=True)
class Work:
    """What the workers share."""

    sandbox: Sandbox
    jobs: Sequence[Job]
    waiting: queue.SimpleQueue[int]
    outcomes: queue.SimpleQueue[Outcome]
    stop: threading.Event
    deadline: float | None

    def go_on(self) -> None:
        """Takes jobs until there are none left or it is time to stop."""
        while not self.stop.is_set():
            try:
                number = self.waiting.get_nowait()
            except queue.Empty:
                return
            try:
                outcome: Observation | BaseException = self._run_job(self.jobs[number])
            except BaseException as error:  # noqa: BLE001 - raised again in the calling thread, which would wait for ever
                outcome = error
            self.outcomes.put((number, outcome))

    def _run_job(self, job: Job) -> Observation:
        if self._late():
            return Observation(ended=Ended.REFUSED, limit="deadline")
        completed = self.sandbox.run(command_for(job), lambda: self.stop.is_set() or self._late())
        observation = observe(completed, job)
        if completed.limit == "stopped" and not self.stop.is_set():
            return replace(observation, limit="deadline")
        return observation

    def _late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline
