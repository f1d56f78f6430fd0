"""The language model of a run: opened, capped, journaled, shown a redacted context, and put to work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rebug.app.options import Options
from rebug.errors import InputError
from rebug.judge.reviewer import VERSION as REVIEW
from rebug.judge.reviewer import Reviewer
from rebug.model import Environment, Report, Symptom
from rebug.model_api import NO_MODEL, JournalReplies, Ledger, ModelRun, Redactor, Transcript, open_model
from rebug.ports import Index, Journal, Narrator
from rebug.propose.written import EFFORTS, SECTIONS, SINGLE, Author, Effort, style_for
from rebug.propose.written.context import VERSION as CONTEXT

TRANSCRIPT = "model"
"""Directory of a run that holds all that was sent to the model and came back."""


@contextmanager
def opened(
    options: Options, out: Path, journal: Journal, *, narrate: Narrator, clock: Callable[[], float], started: float
) -> Iterator[ModelRun | None]:
    """The model for this run, None without one. Raises InputError and ModelUnavailable before anything is paid."""
    model = open_model(options.model or None)
    if model is None:
        if not options.model:
            narrate(NO_MODEL)
        yield None
        return
    ledger = Ledger(model.name, max_usd=options.max_usd, max_tokens=options.max_tokens)
    deadline = None if options.max_seconds is None else started + options.max_seconds
    try:
        with ModelRun(
            model,
            ledger=ledger,
            replies=JournalReplies(journal, ledger),
            transcript=Transcript(out / TRANSCRIPT),
            narrate=narrate,
            deadline=deadline,
            clock=clock,
        ) as run:
            yield run
    finally:
        model.close()


def effort_of(options: Options, run: ModelRun) -> Effort:
    """How much a round may ask: as --effort says, or what a small local model can read. The context is sized to the
    model's window. Raises InputError for an unknown effort."""
    if options.effort not in EFFORTS:
        raise InputError(f"--effort {options.effort}: say one of {', '.join(EFFORTS)}")
    effort = style_for(run.model.name, local=run.model.traits.local).efforts[options.effort]
    window = run.model.context_window
    return effort if window is None else replace(effort, context=min(effort.context, window // 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What the shared context is made of."""

    report: Report
    symptom: Symptom
    index: Index
    environment: Environment


def workers(options: Options, run: ModelRun, subject: Subject, narrate: Narrator) -> tuple[Author, Reviewer | None]:
    """The proposer and the critic of a run, over one byte-identical context. Independent sampling has no critic."""
    effort, style = effort_of(options, run), style_for(run.model.name, local=run.model.traits.local)
    prefix = style.context(subject.report, subject.symptom, subject.index, subject.environment, tokens=effort.context)
    redact = Redactor().redact if options.redact else str  # one for all, so that a value has one replacement
    prefix = redact(prefix)
    independent = options.strategy == "independent"
    author = Author(
        run=run, prefix=prefix, effort=effort, style=style, independent=independent, redact=redact, narrate=narrate
    )
    return author, Reviewer(run=run, prefix=prefix, redact=redact) if style.reviewed and not independent else None


def prompt_versions() -> dict[str, int]:
    """The versions of all prompts, for the result: what a score was reached with."""
    asked = {writer.name: writer.version for style in (SECTIONS, SINGLE) for writer in style.writers}
    return {**asked, "context": CONTEXT, "review": REVIEW}
