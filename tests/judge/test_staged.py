from collections.abc import Callable
from dataclasses import replace

import pytest

from rebug.model import (
    Basis,
    Ended,
    Failure,
    Frame,
    Observation,
    Stage,
    Symptom,
    SymptomKind,
    Trial,
    Value,
    Verdict,
    WarningSeen,
)

Judge = Callable[..., Trial]

IN_SCRIPT = Frame(file="repro.py", line=2, function="<module>")
PUT = Frame(file="box/core.py", line=3, function="put")
STORE = Frame(file="box/core.py", line=6, function="_store")
SCRIPT = "from box import load\nload('x')\n"

REPORTED = Symptom(
    kind=SymptomKind.EXCEPTION,
    failure=Failure(
        type="KeyError",
        message="'the key x is not there'",
        frames=(
            Frame(file="/home/a/app.py", line=3, function="<module>"),
            Frame(file="/usr/lib/site-packages/box/core.py", line=30, function="put"),
            Frame(file="/usr/lib/site-packages/box/core.py", line=60, function="_store"),
        ),
    ),
)


def raised(kind: str, message: str, *frames: Frame, **more: object) -> Observation:
    return Observation(
        ended=Ended.EXITED,
        exit=1,
        failures=(Failure(type=kind, message=message, frames=frames),),
        reached=("box/core.py:put", "box/core.py:_store"),
        **more,
    )


def test_the_reported_failure_matches(verdict_of: Judge) -> None:
    trial = verdict_of(SCRIPT, raised("KeyError", "'the key x is not there'", IN_SCRIPT, PUT, STORE), REPORTED)
    assert trial.loss.stage is Stage.MATCH
    assert trial.verdict is Verdict.SUPPORTED
    assert trial.loss.total == pytest.approx(0.03)


def test_another_message_is_of_the_kind_only(verdict_of: Judge) -> None:
    trial = verdict_of(SCRIPT, raised("KeyError", "'something else'", IN_SCRIPT, PUT, STORE), REPORTED)
    assert trial.loss.stage is Stage.KIND
    assert "reported was" in trial.critique.differs


def test_another_place_is_of_the_kind_only(verdict_of: Judge) -> None:
    other = Frame(file="box/core.py", line=9, function="elsewhere")
    trial = verdict_of(SCRIPT, raised("KeyError", "'the key x is not there'", IN_SCRIPT, other), REPORTED)
    assert trial.loss.stage is Stage.KIND


def test_another_exception_at_the_place_is_near(verdict_of: Judge) -> None:
    trial = verdict_of(SCRIPT, raised("ValueError", "no", IN_SCRIPT, PUT, STORE), REPORTED)
    assert trial.loss.stage is Stage.NEAR


def test_a_script_that_raises_the_error_itself_does_not_count(verdict_of: Judge) -> None:
    script = "import box\nraise KeyError('the key x is not there')\n"
    trial = verdict_of(script, raised("KeyError", "'the key x is not there'", IN_SCRIPT), REPORTED)
    assert trial.loss.stage not in {Stage.KIND, Stage.MATCH, Stage.PROVEN}


def test_a_script_that_replaces_the_suspected_function_is_refused(verdict_of: Judge) -> None:
    script = "import box.core\nbox.core.load = lambda path: {}['x']\nbox.core.load(1)\n"
    trial = verdict_of(script, raised("KeyError", "'the key x is not there'", IN_SCRIPT, PUT, STORE), REPORTED)
    assert trial.loss.stage is Stage.UNRUNNABLE
    assert "replaces `load`" in trial.critique.differs


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("ModuleNotFoundError", "No module named 'numpy'"),
        ("ConnectionRefusedError", "[Errno 111] Connection refused"),
        ("OSError", "[Errno 98] Address already in use"),
        ("NameError", "name 'data' is not defined"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'a.csv'"),
    ],
)
def test_what_surrounds_the_script_is_no_reproduction(verdict_of: Judge, kind: str, message: str) -> None:
    trial = verdict_of(SCRIPT, raised(kind, message, IN_SCRIPT), REPORTED)
    assert trial.loss.stage is Stage.ENVIRONMENT
    assert trial.verdict is Verdict.INCONCLUSIVE


def test_exit_125_never_counts_as_present(verdict_of: Judge) -> None:
    trial = verdict_of(SCRIPT, Observation(ended=Ended.EXITED, exit=125), REPORTED)
    assert trial.loss.stage is Stage.ENVIRONMENT


def test_a_script_that_does_not_parse_is_unrunnable(verdict_of: Judge) -> None:
    trial = verdict_of("def (:\n", Observation(ended=Ended.EXITED, exit=1), REPORTED)
    assert (trial.loss.total, trial.verdict) == (1.0, Verdict.UNTESTED)


def test_a_script_that_never_uses_the_subject_is_outside(verdict_of: Judge) -> None:
    trial = verdict_of("print(1)\n", Observation(ended=Ended.EXITED, exit=0), REPORTED)
    assert trial.loss.stage is Stage.OUTSIDE


def test_getting_further_always_wins(verdict_of: Judge) -> None:
    inside = verdict_of(SCRIPT, Observation(ended=Ended.EXITED, exit=0, reached=("box/core.py:load",)), REPORTED)
    near = verdict_of(SCRIPT, raised("ValueError", "no", IN_SCRIPT, PUT, STORE), REPORTED)
    kind = verdict_of(SCRIPT, raised("KeyError", "'other words'", IN_SCRIPT, PUT, STORE), REPORTED)
    assert inside.loss.stage is Stage.INSIDE
    assert 1 > inside.loss.total > near.loss.total > kind.loss.total > 0.09


def test_a_type_alone_matches_only_in_the_reporters_own_words(verdict_of: Judge) -> None:
    symptom = Symptom(kind=SymptomKind.EXCEPTION, failure=Failure(type="KeyError"))
    observation = raised("KeyError", "'x'", IN_SCRIPT, PUT, STORE)
    assert verdict_of(SCRIPT, observation, symptom).loss.stage is Stage.KIND
    own = verdict_of(SCRIPT, observation, symptom, body="# KeyError\n\n```python\nload('x')\n```\n")
    assert own.loss.stage is Stage.MATCH


def test_a_failure_that_shows_itself_with_exit_0_is_not_yet_a_match(verdict_of: Judge) -> None:
    printed = Failure(type="KeyError", message="'the key x is not there'", frames=(PUT, STORE), where="thread")
    trial = verdict_of(SCRIPT, Observation(ended=Ended.EXITED, exit=0, failures=(printed,)), REPORTED)
    assert trial.loss.stage is Stage.KIND
    assert "exits 0" in trial.critique.differs


def test_made_up_input_that_is_refused_at_once_proves_nothing(verdict_of: Judge) -> None:
    symptom = Symptom(
        kind=SymptomKind.EXCEPTION, failure=Failure(type="ParseError", message="not well-formed input in line 1")
    )
    seen = raised("ParseError", "not well-formed input in line 1", IN_SCRIPT, PUT, script_line=2)
    assert verdict_of(SCRIPT, seen, symptom).loss.stage is Stage.KIND
    own = "# Cannot parse\n\n```python\nload('x')\n```\n"
    assert verdict_of(SCRIPT, seen, symptom, body=own).loss.stage is Stage.MATCH
    within = "import box\n\nclass Case:\n    def test(self):\n        box.load('x')\n\nCase().test()\n"
    method = Frame(file="repro.py", line=5, function="test")
    inner = raised("ParseError", "not well-formed input in line 1", IN_SCRIPT, method, PUT, script_line=5)
    assert verdict_of(within, inner, symptom).loss.stage is Stage.KIND
    later = "from box import load\nthing = load('x')\nthing.get('y')\n"
    third = Frame(file="repro.py", line=3, function="<module>")
    inner = raised("ParseError", "not well-formed input in line 1", third, PUT, script_line=3)
    assert verdict_of(later, inner, symptom).loss.stage is Stage.MATCH, "what was accepted first may not break later"


WRONG = Symptom(
    kind=SymptomKind.WRONG_OUTPUT, actual=(Value(text="1"),), expected=(Value(text="4"),), good_versions=("0.9",)
)


def failed_assertion(message: str) -> Observation:
    return raised("AssertionError", message, IN_SCRIPT)


def test_an_asserted_wrong_value_matches_on_the_reporters_own_inputs(verdict_of: Judge) -> None:
    asserted = {"basis": Basis.REPORT, "expected": "4", "actual": "1"}
    own = "# Wrong\n\n```python\nload('x')\n```\n"
    trial = verdict_of(SCRIPT, failed_assertion("expected 4, got 1"), WRONG, body=own, **asserted)
    assert trial.loss.stage is Stage.MATCH
    other = verdict_of(SCRIPT, failed_assertion("expected 4, got 1"), WRONG, **asserted)
    assert other.loss.stage is Stage.KIND, "a value as common as 1 says nothing of other inputs"


def test_a_particular_wrong_value_matches_on_any_inputs(verdict_of: Judge) -> None:
    symptom = Symptom(kind=SymptomKind.WRONG_OUTPUT, actual=(Value(text="Sentinel.UNSET is here"),))
    seen = failed_assertion("expected None, got Sentinel.UNSET is here")
    trial = verdict_of(SCRIPT, seen, symptom, basis=Basis.REPORT, actual="Sentinel.UNSET is here")
    assert trial.loss.stage is Stage.MATCH


def test_an_invented_assertion_does_not_match(verdict_of: Judge) -> None:
    trial = verdict_of(
        SCRIPT, failed_assertion("expected 7, got 8"), WRONG, basis=Basis.MODEL, expected="7", actual="8"
    )
    assert trial.loss.stage is Stage.KIND


def test_a_models_assertion_about_something_else_than_the_subject_is_outside(verdict_of: Judge) -> None:
    script = "import os\nassert 'TTL' not in os.environ, 'expected 7, got 8'\n"
    observation = replace(failed_assertion("expected 7, got 8"), reached=())
    assert verdict_of(script, observation, WRONG, basis=Basis.MODEL).loss.stage is Stage.OUTSIDE
    alike = script + "print('boxes and a toolbox')\n"
    assert verdict_of(alike, observation, WRONG, basis=Basis.MODEL).loss.stage is Stage.OUTSIDE
    command = "import subprocess\nassert subprocess.run(['box', '--load']).returncode == 0, 'expected 7, got 8'\n"
    assert verdict_of(command, failed_assertion("no"), WRONG, basis=Basis.MODEL).loss.stage is Stage.KIND


def test_a_regression_counts_only_where_the_report_names_a_good_version(verdict_of: Judge) -> None:
    observation = failed_assertion("expected 7, got 8")
    stated = verdict_of(SCRIPT, observation, WRONG, basis=Basis.REGRESSION, expected="7", actual="8")
    unstated = Symptom(kind=SymptomKind.WRONG_OUTPUT)
    guessed = verdict_of(SCRIPT, observation, unstated, basis=Basis.REGRESSION, expected="7", actual="8")
    assert (stated.loss.stage, guessed.loss.stage) == (Stage.MATCH, Stage.KIND)


def test_a_printed_wrong_value_is_of_the_kind(verdict_of: Judge) -> None:
    trial = verdict_of(SCRIPT, Observation(ended=Ended.EXITED, exit=0, stdout="1\n"), WRONG)
    assert trial.loss.stage is Stage.KIND
    right = verdict_of(SCRIPT, Observation(ended=Ended.EXITED, exit=0, stdout="4\n", reached=("a.py:b",)), WRONG)
    assert right.loss.stage is Stage.INSIDE


def test_a_hang_needs_the_place_and_a_limit_of_the_scripts_own(verdict_of: Judge) -> None:
    symptom = Symptom(kind=SymptomKind.HANG, failure=Failure(type="", frames=(PUT,)))
    stuck = Observation(ended=Ended.TIMED_OUT, stacks=(("MainThread", (IN_SCRIPT, PUT)),), seconds=15)
    assert verdict_of(SCRIPT, stuck, symptom).loss.stage is Stage.KIND
    elsewhere = Observation(ended=Ended.TIMED_OUT, stacks=(("MainThread", (IN_SCRIPT,)),), seconds=15)
    assert verdict_of(SCRIPT, elsewhere, symptom).loss.stage is not Stage.KIND
    watched = Observation(
        ended=Ended.EXITED, exit=1, stderr="Timeout (0:00:10)!\n", stacks=(("MainThread", (IN_SCRIPT, PUT)),)
    )
    assert verdict_of(SCRIPT, watched, symptom).loss.stage is Stage.MATCH


def test_a_warning_matches_by_category_and_text_once_the_script_fails(verdict_of: Judge) -> None:
    symptom = Symptom(
        kind=SymptomKind.WARNING, warning="DeprecationWarning", messages=(Value(text="put() is going away soon"),)
    )
    seen = (WarningSeen(category="DeprecationWarning", message="put() is going away soon"),)
    shown = verdict_of(SCRIPT, Observation(ended=Ended.EXITED, exit=0, warnings=seen), symptom)
    failing = verdict_of(SCRIPT, Observation(ended=Ended.EXITED, exit=1, warnings=seen), symptom, basis=Basis.REPORT)
    assert (shown.loss.stage, failing.loss.stage) == (Stage.KIND, Stage.MATCH)


def test_a_crash_is_its_signal(verdict_of: Judge) -> None:
    symptom = Symptom(kind=SymptomKind.CRASH, signal="SIGSEGV")
    own = "# It dies\n\n```python\nload('x')\n```\n"
    died = Observation(ended=Ended.SIGNALLED, signal="SIGSEGV")
    assert verdict_of(SCRIPT, died, symptom, body=own).loss.stage is Stage.MATCH
    assert verdict_of(SCRIPT, died, symptom).loss.stage is Stage.KIND, "the report has nothing to do with it"
    killed = verdict_of(SCRIPT, Observation(ended=Ended.SIGNALLED, signal="SIGKILL"), symptom, body=own)
    assert killed.loss.stage is not Stage.MATCH
