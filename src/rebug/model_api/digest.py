"""How a trial is told to a language model: script, result, what is missing; never just a number. Pure."""

from __future__ import annotations

from rebug.model import Ended, Failure, Trial


def described(trial: Trial, *, longest: int = 1400) -> str:
    """A trial for a prompt; its script is cut at `longest` characters, which keeps a digest under 700 tokens."""
    observation = trial.observation
    parts = [f"script:\n```python\n{trial.candidate.script.strip()[:longest]}\n```", f"result: {_ending(trial)}"]
    parts += [f"raised: {_raised(failure)}" for failure in observation.failures[:2]]
    if observation.stdout.strip():
        parts.append(f"stdout, last lines:\n{_tail(observation.stdout)}")
    if observation.stderr.strip() and not observation.failures:
        parts.append(f"stderr, last lines:\n{_tail(observation.stderr)}")
    if trial.critique.differs:
        parts.append(f"still differs: {trial.critique.differs[:400]}")
    if trial.critique.next:
        parts.append(f"advice: {trial.critique.next[:300]}")
    return "\n".join(parts)


def _ending(trial: Trial) -> str:
    observation = trial.observation
    if observation.ended is Ended.EXITED:
        return f"exit status {observation.exit}; judged: {trial.loss.stage.value}"
    return f"{observation.ended.value} {observation.signal or observation.limit}; judged: {trial.loss.stage.value}"


def _raised(failure: Failure) -> str:
    stack = " > ".join(f"{frame.file.rpartition('/')[2]}:{frame.function}" for frame in failure.frames[-5:])
    return f"{failure.type}: {failure.message[:200]} at {stack}"


def _tail(text: str, *, lines: int = 8, longest: int = 500) -> str:
    return "\n".join(text.strip().splitlines()[-lines:])[-longest:]
