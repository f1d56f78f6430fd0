"""The pure decisions of `rebug.app`."""

from dataclasses import replace
from pathlib import Path

import pytest

from rebug.app import EXIT_STATUS, Options, cache_directory
from rebug.app.options import good_version, source_of
from rebug.app.reproduce import decide
from rebug.app.verify import compare, doubt, judge
from rebug.errors import InputError
from rebug.model import (
    Candidate,
    Critique,
    Ended,
    Environment,
    Failure,
    Finding,
    Hypothesis,
    Loss,
    Observation,
    Repeats,
    Stage,
    Status,
    Trial,
    Verdict,
)
from rebug.search import Counts, Outcome

PASSED = Observation(ended=Ended.EXITED, exit=0)
FAILED = Observation(
    ended=Ended.EXITED, exit=1, stderr="KeyError: 1", failures=(Failure(type="KeyError", message="1"),)
)
UNTOLD = Observation(ended=Ended.EXITED, exit=125)
ENVIRONMENT = Environment(
    python=Path("/v/bin/python"), prefix=Path("/v"), python_version="3.11.7", package="pkg", version="2.0"
)


def trial(stage: Stage) -> Trial:
    return Trial(
        candidate=Candidate(script="", hypothesis=Hypothesis(claim=""), proposer="p", id="c1"),
        observation=FAILED,
        loss=Loss(total=0.5, stage=stage),
        verdict=Verdict.SUPPORTED,
        critique=Critique(shows=""),
    )


def finding(*, confirmed: bool) -> Finding:
    return Finding(
        trial=trial(Stage.MATCH),
        script="",
        test="",
        repeats=Repeats(runs=1, failures=1, rate=1, interval=(0, 1)),
        confirmed=confirmed,
        explanation="",
    )


@pytest.mark.parametrize(
    ("stopped", "stage", "confirmed", "status"),
    [
        ("reproduced", Stage.MATCH, [True], Status.REPRODUCED),
        ("seconds", Stage.MATCH, [False, True], Status.REPRODUCED),
        ("seconds", Stage.MATCH, [False], Status.CAPPED),
        ("candidates", None, [], Status.CAPPED),
        ("interrupted", Stage.KIND, [], Status.CAPPED),
        ("rounds", Stage.MATCH, [False], Status.PARTIAL),
        ("stalled", Stage.KIND, [], Status.PARTIAL),
        ("stalled", Stage.NEAR, [], Status.NOT_REPRODUCED),
        ("rounds", None, [], Status.NOT_REPRODUCED),
    ],
)
def test_only_a_confirmed_finding_is_a_reproduction(
    stopped: str, stage: Stage | None, confirmed: list[bool], status: Status
) -> None:
    ranked = (trial(stage),) if stage else ()
    outcome = Outcome(trials=ranked, ranked=ranked, accepted=None, counts=Counts(), stopped=stopped, seconds={})

    assert decide(outcome, [finding(confirmed=one) for one in confirmed]) is status


def test_exit_statuses_are_the_contract() -> None:
    assert {status.value: number for status, number in EXIT_STATUS.items()} == {
        "reproduced": 0,
        "partial": 1,
        "not_reproduced": 1,
        "capped": 3,
        "environment_failed": 4,
    }


@pytest.mark.parametrize(
    ("report", "source"),
    [
        ("https://github.com/owner/name/issues/12", "https://github.com/owner/name"),
        ("https://github.com/owner/name/pull/12#issuecomment-1", "https://github.com/owner/name"),
        ("https://gitlab.com/group/sub/name/-/issues/3", "https://gitlab.com/group/sub/name"),
        ("https://gitlab.com/group/name/-/work_items/3", "https://gitlab.com/group/name"),
    ],
)
def test_an_issue_on_a_forge_implies_its_repository(report: str, source: str) -> None:
    assert source_of(Options(report=report)) == source
    assert source_of(Options(report=report, source="./here")) == "./here"


@pytest.mark.parametrize("report", ["report.md", "-", "https://example.org/issues/1", "https://github.com/owner"])
def test_other_reports_imply_nothing(report: str) -> None:
    with pytest.raises(InputError, match="--source"):
        source_of(Options(report=report))


@pytest.mark.parametrize(
    ("good", "version"), [("", ""), ("1.9", "1.9"), ("pypi:My_Pkg==1.9rc1", "1.9rc1"), ("my-pkg==1!2.0", "1!2.0")]
)
def test_a_good_version(good: str, version: str) -> None:
    assert good_version(Options(report="-", good=good), "my.pkg") == version


@pytest.mark.parametrize("good", ["./dir", "pypi:other==1.9", "pypi:my.pkg", "my.pkg>=1", "1.9; rm -rf"])
def test_a_good_version_is_a_release_of_the_same_software(good: str) -> None:
    with pytest.raises(InputError, match=r"pypi:my\.pkg==VERSION"):
        good_version(Options(report="-", good=good), "my.pkg")


def test_the_cache_follows_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    monkeypatch.delenv("REBUG_CACHE", raising=False)
    assert cache_directory() == Path("/x/rebug")
    monkeypatch.setenv("REBUG_CACHE", "/own")
    assert cache_directory() == Path("/own")


def test_every_failing_run_counts() -> None:
    found = judge([FAILED, PASSED, FAILED, UNTOLD], ENVIRONMENT)

    assert (found.verdict, found.present) == ("present", True)
    assert (found.repeats.failures, found.repeats.runs, found.repeats.rate) == (2, 4, 0.5)
    assert found.output == "KeyError: 1"


def test_a_script_that_passes_shows_the_absence() -> None:
    found = judge([PASSED, PASSED], ENVIRONMENT)

    assert (found.verdict, found.present, found.repeats.failures) == ("absent", False, 0)


@pytest.mark.parametrize(
    ("observation", "why"),
    [
        (UNTOLD, "exit status 125"),
        (Observation(ended=Ended.TIMED_OUT, limit="wall"), "wall"),
        (Observation(ended=Ended.REFUSED, limit="deadline"), "deadline"),
        (
            Observation(ended=Ended.EXITED, exit=1, failures=(Failure(type="ModuleNotFoundError", message="No x"),)),
            "ModuleNotFoundError: No x",
        ),
        (Observation(ended=Ended.EXITED, exit=1, failures=(Failure(type="SyntaxError"),)), "SyntaxError"),
        (Observation(ended=Ended.EXITED, exit=1, stderr="OSError: Address already in use"), "already in use"),
    ],
)
def test_what_never_shows_a_bug(observation: Observation, why: str) -> None:
    assert why in doubt(observation)
    found = judge([observation, PASSED], ENVIRONMENT)
    assert found.verdict == "cannot tell"
    assert why in found.reason


def test_a_crash_shows_a_bug() -> None:
    assert doubt(Observation(ended=Ended.SIGNALLED, signal="SIGSEGV")) == ""


def test_a_good_version_has_to_pass() -> None:
    found = judge([FAILED], ENVIRONMENT)

    assert compare(found, "1.9", [PASSED]).present
    both = compare(found, "1.9", [FAILED])
    assert (both.verdict, both.present) == ("not discriminating", False)
    assert "1.9" in both.reason
    assert compare(found, "1.9", [replace(UNTOLD)]).verdict == "cannot tell"
