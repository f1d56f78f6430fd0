"""Runs a script by the contract and says whether it shows a bug, with the numbers behind it.

What it cannot know without a report is whether the bug is the reported one. It can tell what is no bug of the subject:
a missing module, a script that does not parse, an address in use.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from rebug.app import wiring
from rebug.app.options import Options, cache_directory, check, good_version, source_of
from rebug.confirm import repeats
from rebug.errors import InputError
from rebug.execute import LocalEngine, choose_sandbox
from rebug.judge import fails
from rebug.model import Candidate, Ended, Environment, Hypothesis, Observation, Repeats, Variation
from rebug.ports import Engine, Job, Limits, Narrator
from rebug.subject import open_source

_LARGEST = 1 << 20  # bytes of a script that is read
_SURROUNDINGS = {"ModuleNotFoundError", "ImportError", "SyntaxError", "IndentationError", "TabError"}
_OUTPUT = 8  # lines of a run's last output that are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What the runs of a script say. `verdict`: present, absent, cannot tell, or not discriminating."""

    verdict: str
    reason: str
    repeats: Repeats
    version: str  # of the subject
    good: str = ""  # the version it was compared with
    good_repeats: Repeats | None = None
    output: str = ""  # the end of what a telling run printed

    @property
    def present(self) -> bool:
        return self.verdict == "present"


def _silent(_line: str) -> None:
    """Narrate nothing."""


def verify_script(
    script: Path,
    options: Options,
    *,
    seconds: float = 60,
    narrate: Narrator = _silent,
    clock: Callable[[], float] = time.monotonic,
) -> Verification:
    """Runs the script `options.repeat` times in the sandbox, `seconds` at most each.

    Raises InputError, SandboxUnavailable, and EnvironmentFailed when the subject's environment cannot be built.
    """
    check(options)
    text = _read(script)
    spec = source_of(options)
    sandbox = choose_sandbox(options.sandbox)
    source = open_source(spec, cache_directory(), as_of=options.as_of, narrate=narrate)
    good = good_version(options, source.package)
    environments = wiring.environments(options, source, narrate)
    engine = LocalEngine(sandbox, workers=options.workers)
    candidate = Candidate(script=text, hypothesis=Hypothesis(claim=script.name), proposer="you", id="script")
    runner = _Runner(engine=engine, candidate=candidate, limits=Limits(wall_seconds=seconds, cpu_seconds=seconds))
    environment = environments.build(Variation())
    began = clock()
    seen = runner.run(environment, options.repeat)
    narrate(f"{len(seen)} runs with {environment.package} {environment.version} took {clock() - began:.1f} s")
    verification = judge(seen, environment)
    if not good or not verification.present:
        return verification
    control = runner.run(environments.build(Variation(subject_version=good)), options.repeat)
    return compare(verification, good, control)


def judge(seen: list[Observation], environment: Environment) -> Verification:
    """The verdict of some runs with one version of the subject. Pure."""
    doubts = [doubt(observation) for observation in seen]
    telling = [observation for observation, why in zip(seen, doubts, strict=True) if not why]
    counted = repeats(len(telling), len(seen))
    if telling:
        reason = f"it fails in {len(telling)} of {len(seen)} runs"
        return Verification(
            verdict="present", reason=reason, repeats=counted, version=environment.version, output=_tail(telling[0])
        )
    if all(observation.ended is Ended.EXITED and observation.exit == 0 for observation in seen):
        verdict, reason = "absent", "it exits 0 in every run"
    else:
        verdict, reason = "cannot tell", Counter(why for why in doubts if why != _PASSED).most_common(1)[0][0]
    return Verification(
        verdict=verdict, reason=reason, repeats=counted, version=environment.version, output=_tail(seen[-1])
    )


def compare(verification: Verification, good: str, control: list[Observation]) -> Verification:
    """The verdict beside runs with a version that is free of the bug: the script has to pass there. Pure."""
    passed = sum(observation.ended is Ended.EXITED and observation.exit == 0 for observation in control)
    failed = sum(not doubt(observation) for observation in control)
    verification = replace(verification, good=good, good_repeats=repeats(failed, len(control)))
    if passed == len(control):
        return verification
    if failed:
        reason = f"it fails with {good} too, in {failed} of {len(control)} runs"
        return replace(verification, verdict="not discriminating", reason=reason, output=_tail(control[0]))
    reason = f"with {good} it cannot tell: {doubt(control[0]) or 'some runs fail'}"
    return replace(verification, verdict="cannot tell", reason=reason, output=_tail(control[0]))


_PASSED = "it exits 0"


def doubt(observation: Observation) -> str:
    """Why a run does not show the bug; "" when it does, as far as can be said without the report. Pure."""
    if observation.ended in {Ended.LIMITED, Ended.REFUSED, Ended.TIMED_OUT}:
        return f"it was ended by a limit ({observation.limit or observation.ended.value})"
    if observation.exit == 0:
        return _PASSED
    if observation.exit == 125:
        return "it says so itself (exit status 125)"
    if not fails(observation):
        return "it did not run to its end"
    if observation.failures and observation.failures[0].name in _SURROUNDINGS:
        failure = observation.failures[0]
        return f"its surroundings fail: {failure.name}: {failure.message}"
    if "Address already in use" in observation.stderr[-2000:]:
        return "its surroundings fail: an address is already in use"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runner:
    engine: Engine
    candidate: Candidate
    limits: Limits

    def run(self, environment: Environment, times: int) -> list[Observation]:
        job = Job(candidate=self.candidate, environment=environment, limits=self.limits, harness=False)
        return self.engine.run([job] * times)


def _read(script: Path) -> str:
    try:
        with script.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise InputError(f"{script}: cannot be read: {error.strerror}") from error
    if len(data) > _LARGEST:
        raise InputError(f"{script}: is larger than {_LARGEST >> 10} KiB; a reproduction script is short")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{script}: is not UTF-8 text (byte {error.start})") from error


def _tail(observation: Observation) -> str:
    return "\n".join((observation.stderr or observation.stdout).strip().splitlines()[-_OUTPUT:])
