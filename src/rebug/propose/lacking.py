"""What the subject itself imports only when it is used: the same candidate with the missing distribution installed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from packaging.utils import canonicalize_name

from rebug.model import Candidate, Failure, Role, Trial
from rebug.ports import Situation
from rebug.propose.entry_points import version_near
from rebug.propose.known import distribution_for, is_stdlib

_MISSING = re.compile(r"No module named '(?P<module>[\w.]+)'")
_MOST = 6
"""Candidates mended in a run: each distribution is another environment."""


class Lacking:
    """Installs what a candidate turned out to need."""

    name = "lacking"
    reactive = True

    def propose(self, situation: Situation) -> Iterator[Candidate]:
        answered = {
            parent for t in situation.trials if t.candidate.proposer == self.name for parent in t.candidate.parents
        }
        room = _MOST - len(answered)
        for trial in situation.trials:
            name = missing(trial, situation) if room > 0 and trial.candidate.id not in answered else ""
            if name:
                room -= 1
                yield replace(
                    trial.candidate,
                    id="",
                    proposer=self.name,
                    parents=(trial.candidate.id,),
                    requirements=(*trial.candidate.requirements, name),
                )


def missing(trial: Trial, situation: Situation) -> str:
    """The distribution that a trial died for, "" when it did not die of a missing one that can be named."""
    failures = trial.observation.failures
    if trial.candidate.role is not Role.ATTEMPT or not failures:
        return ""
    module = next(filter(None, map(_module, _chain(failures[0]))), "")
    own = {*situation.index.modules, *situation.environment.modules}
    name = "" if not module or module in own or is_stdlib(module) else distribution_for(module)
    normal = canonicalize_name(name)
    known = {*situation.environment.packages, *(item.partition("==")[0] for item in trial.candidate.requirements)}
    if not name or normal in known or name in known:
        return ""
    stated = {canonicalize_name(v.name): v.version for v in situation.report.versions if v.role == "used"}
    version = stated.get(normal) or version_near(module, situation.report.body)
    return f"{name}=={version}" if version else name


def _chain(failure: Failure) -> Iterator[Failure]:
    current: Failure | None = failure
    while current is not None:
        yield current
        current = current.cause


def _module(failure: Failure) -> str:
    found = _MISSING.match(failure.message) if failure.name == "ModuleNotFoundError" else None
    return found["module"].partition(".")[0] if found else ""
