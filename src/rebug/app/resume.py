"""Going on with an interrupted run: its options and what it has observed and paid for, from its journal.

A resumed run makes the same decisions again from the same seed; what the interrupted one has run or paid for is taken
from the journal instead of being run or paid again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rebug.app.options import Options
from rebug.errors import InputError
from rebug.execute.replay import job_key
from rebug.model import Candidate, Ended, Observation
from rebug.ports import Journal
from rebug.report import JOURNAL
from rebug.store import SqliteJournal, decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """What the journal of an earlier run holds."""

    options: Options
    observed: Mapping[tuple[str, str, str], Observation]


def interrupted(directory: Path, given: Options) -> Interrupted:
    """Reads the run in `directory`. What `given` says of report, caps and variables holds, the rest is as it was.

    Raises InputError when it is no run, or was started with --env and the values are not given again.
    """
    if not (directory / JOURNAL).is_file():
        raise InputError(f"--resume {directory}: is not a run of rebug: there is no {JOURNAL} in it")
    with SqliteJournal(directory / JOURNAL) as journal:
        options = _options(directory, journal)
        observed = _observed(journal)
    if options.variables and not given.variables:
        names = " ".join(f"--env {name}=…" for name, _ in options.variables)
        raise InputError(f"--resume {directory}: values of variables are not kept; give them again: {names}")
    return Interrupted(
        options=replace(
            options,
            report=given.report or options.report,
            variables=given.variables,
            max_seconds=given.max_seconds or options.max_seconds,
            max_usd=options.max_usd if given.max_usd is None else given.max_usd,
            max_tokens=options.max_tokens if given.max_tokens is None else given.max_tokens,
            jobs=given.jobs,
            out=directory,
            resume=directory,
        ),
        observed=observed,
    )


def _options(directory: Path, journal: Journal) -> Options:
    for _, kind, data in journal.events():
        if kind == "run":
            known = {key: value for key, value in data.items() if key in Options.__dataclass_fields__}
            return decode(Options, known)
    raise InputError(f"--resume {directory}: the run was stopped before it began; start it anew")


def _observed(journal: Journal) -> dict[tuple[str, str, str], Observation]:
    found: dict[tuple[str, str, str], Observation] = {}
    for _, kind, data in journal.events():
        candidate, observed = data.get("candidate"), data.get("observation")
        if kind == "trial" and isinstance(candidate, Mapping) and isinstance(observed, Mapping):
            observation = decode(Observation, observed)
            if observation.ended is not Ended.REFUSED:
                found[job_key(decode(Candidate, candidate))] = observation
    return found
