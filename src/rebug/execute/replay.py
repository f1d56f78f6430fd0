"""An engine that knows what an interrupted run has observed already, and runs only the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rebug.model import Candidate, Observation
from rebug.ports import Engine, Job


def job_key(candidate: Candidate) -> tuple[str, str, str]:
    """What decides a candidate's run: script, variation of the environment, requirements."""
    return candidate.script, repr(candidate.variation), repr(candidate.requirements)


@dataclass(frozen=True, kw_only=True)
class ReplayEngine:
    """Implements `rebug.ports.Engine` over another one. Only runs under the harness are replayed: confirmation is a
    fresh run by definition."""

    engine: Engine
    observed: Mapping[tuple[str, str, str], Observation]

    def run(
        self,
        jobs: Sequence[Job],
        *,
        deadline: float | None = None,
        done: Callable[[int, Observation], None] | None = None,
    ) -> list[Observation]:
        """As the engine's own `run`; what is known is not run again."""
        known = {
            number: self.observed[job_key(job.candidate)]
            for number, job in enumerate(jobs)
            if job.harness and job_key(job.candidate) in self.observed
        }
        for number, observation in known.items():
            if done is not None:
                done(number, observation)
        rest = [number for number in range(len(jobs)) if number not in known]

        def done_of_rest(position: int, observation: Observation) -> None:
            if done is not None:
                done(rest[position], observation)

        ran = self.engine.run([jobs[number] for number in rest], deadline=deadline, done=done_of_rest)
        known.update(zip(rest, ran, strict=True))
        return [known[number] for number in range(len(jobs))]
