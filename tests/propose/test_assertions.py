from __future__ import annotations

import ast
from dataclasses import replace

import pytest
from made import Made, trial_of

from rebug.instruments import genuine
from rebug.model import Basis, Candidate, Ended, Hypothesis, Observation, Role, Symptom, SymptomKind, Value
from rebug.propose import Assertions, Regression, Sharpen, StandIns
from rebug.propose.comments import read
from rebug.propose.needles import mask, pieces_of
from rebug.propose.rewrite import statement_of, with_value_check
from rebug.propose.sharpen import impatient, with_watchdog
from rebug.propose.values import wrong_lines


def _plain(script: str) -> Candidate:
    return Candidate(script=script, hypothesis=Hypothesis(claim="as reported"), proposer="snippet")


def _values(*texts: str, exact: bool = True) -> tuple[Value, ...]:
    return tuple(Value(text=text, exact=exact) for text in texts)


def _made_of(proposer: object, made: Made, script: str, **symptom: object) -> list[Candidate]:
    trial = made.trial(_plain(script))
    changes = {"kind": SymptomKind.WRONG_OUTPUT, "failure": None, "actual": (), "expected": (), **symptom}
    situation = made.situation("# pack is wrong\n\ntext\n", trials=[trial], **changes)
    return list(proposer.propose(situation))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("script", "symptom"),
    [
        ("from boxes import pack\nprint(pack('a b'))\n", {"actual": _values("['a b']")}),
        (
            "from boxes import pack\nprint(pack('a b'))\n",
            {"actual": _values('["a b"]'), "expected": _values("['a', 'b']")},
        ),
        (
            "from boxes import pack\nprint('got', len(pack('a b')))\n",
            {"actual": _values("got 1"), "expected": _values("got 2")},
        ),
        ("from boxes import pack\nprint(len(pack('a b')))\n", {"actual": _values("one item", exact=False)}),
        ("from boxes import pack\nprint('x')\nfor p in pack('a b'):\n    print(p)\n", {"actual": _values("a b")}),
        ("from boxes import pack\nprint('same')\nprint(pack('a b'))\n", {"actual": _values("same\n['a b']")}),
        ("from boxes import pack\nprint(pack('a b'))\n", {"expected": _values("['a', 'b']")}),
        ("from boxes import pack\nprint(pack('a b'))  # ['a b'], should be ['a', 'b']\n", {}),
        ("from boxes import pack\nx = pack('a b')  # expected ['a', 'b']\nprint('done')\n", {}),
        ("from boxes import check\ncheck('')\n", {"expected_exception": "BoxError"}),
    ],
)
def test_a_wrong_value_becomes_a_failing_script(made: Made, script: str, symptom: dict[str, object]) -> None:
    found = _made_of(Assertions(), made, script, **symptom)
    assert found
    for candidate in found:
        assert candidate.basis is Basis.REPORT
        assert candidate.parents == ("c1",)
        assert made.exits(candidate) == (1, 0)


def test_of_several_values_all_must_be_seen_before_it_fails(made: Made) -> None:
    script = "from boxes import pack\nprint('same')\nprint(pack('a b'))\n"
    found = _made_of(Assertions(), made, script, actual=_values("same", "['a b']"))
    assert [made.exits(c) for c in found] == [(1, 0)]


def test_a_value_that_is_not_seen_gives_nothing(made: Made) -> None:
    assert _made_of(Assertions(), made, "print(1)\n", actual=_values("22")) == []


def test_an_answered_trial_is_left_alone(made: Made) -> None:
    plain = made.trial(_plain("from boxes import pack\nprint(pack('a b'))\n"))
    situation = made.situation("# x\n\ny\n", trials=[plain], kind=SymptomKind.WRONG_OUTPUT, actual=_values("['a b']"))
    first = next(iter(Assertions().propose(situation)))
    again = replace(situation, trials=[plain, made.trial(first, "c2")])
    assert list(Assertions().propose(again)) == []


@pytest.mark.parametrize(
    ("comment", "wrong", "right"),
    [
        ("expected 3, got 2", "2", "3"),
        ("should be True", "", "True"),
        ("-> 3 (wrong)", "3", ""),
        ("None  <-- expected a result", "None", ""),
        ("returns [] instead of [1, 2]", "[]", "[1, 2]"),
        ("`a` but should be `b`", "a", "b"),
    ],
)
def test_remarks_behind_statements(comment: str, wrong: str, right: str) -> None:
    remark = read(comment)
    assert remark is not None
    assert (remark.wrong, remark.right) == (wrong, right)


@pytest.mark.parametrize("comment", ["set up", "fine", "3", "noqa: E501", ""])
def test_other_comments_complain_of_nothing(comment: str) -> None:
    assert read(comment) is None


def test_a_good_version_tells_what_is_wrong(made: Made) -> None:
    script = "from boxes import pack\nparts = pack('a b')\nprint(len(parts))\nprint('same')\n"
    plain = made.trial(_plain(script))
    situation = made.situation("# x\n\ny\n", trials=[plain], kind=SymptomKind.WRONG_OUTPUT, good_versions=("1.0",))
    control = next(iter(Regression().propose(situation)))
    assert (control.role, control.variation.subject_version) == (Role.CONTROL, "1.0")
    found = list(Regression().propose(replace(situation, trials=[plain, made.trial(control, "c2")])))
    assert {c.basis for c in found} == {Basis.REGRESSION}
    assert {(c.expected, c.actual) for c in found} == {("2", "1")}
    assert [made.exits(c) for c in found] == [(1, 0)] * len(found)


def test_a_script_that_prints_nothing_is_made_to_show_its_values(made: Made) -> None:
    found = _made_of(Regression(), made, "from boxes import pack\nparts = pack('a b')\n", good_versions=("1.0",))
    shown = next(c for c in found if "_note('parts', parts)" in c.script)
    assert made.trial(shown).observation.stdout == "parts = ['a b']\n"


def test_an_exception_of_the_good_version_is_what_is_missing(made: Made) -> None:
    plain = made.trial(_plain("from boxes import check\ncheck('')\n"))
    situation = made.situation("# x\n\ny\n", trials=[plain], kind=SymptomKind.WRONG_OUTPUT, good_versions=("1.0",))
    control = next(iter(Regression().propose(situation)))
    trial = made.trial(control, "c2")
    trial = replace(trial, observation=replace(trial.observation, script_line=2))
    found = list(Regression().propose(replace(situation, trials=[plain, trial])))
    assert [made.exits(c) for c in found] == [(1, 0)]


def test_nothing_is_compared_when_the_report_gives_the_value(made: Made) -> None:
    assert _made_of(Regression(), made, "print(1)\n", actual=_values("1")) == []


def test_hidden_failures_of_threads_end_the_script(made: Made) -> None:
    script = "import boxes\nboxes.background()\n"
    plain = made.trial(_plain(script))
    failure = replace(plain.observation.failures[0], where="thread") if plain.observation.failures else None
    assert failure is not None
    plain = replace(plain, observation=replace(plain.observation, failures=(failure,)))
    situation = made.situation("# x\n\ny\n", trials=[plain], kind=SymptomKind.EXCEPTION, failure=failure)
    found = list(Sharpen().propose(situation))
    assert [made.exits(c) for c in found] == [(1, 0)]


def test_other_failures_than_the_reported_one_are_not_sharpened(made: Made) -> None:
    plain = made.trial(_plain("import boxes\nboxes.background()\n"))
    failure = replace(plain.observation.failures[0], where="thread")
    plain = replace(plain, observation=replace(plain.observation, failures=(failure,)))
    for kind, reported in (
        (SymptomKind.WRONG_OUTPUT, None),
        (SymptomKind.EXCEPTION, replace(failure, type="KeyError")),
    ):
        assert list(Sharpen().propose(made.situation("# x\n\ny\n", trials=[plain], kind=kind, failure=reported))) == []


def test_a_reported_warning_ends_the_script(made: Made) -> None:
    from rebug.model import WarningSeen

    plain = made.trial(_plain("import boxes\nboxes.deprecated()\n"))
    seen = WarningSeen(category="DeprecationWarning", message="pack_old is deprecated")
    plain = replace(plain, observation=replace(plain.observation, warnings=(seen,)))
    situation = made.situation(
        "# x\n\ny\n", trials=[plain], kind=SymptomKind.WARNING, failure=None, warning="DeprecationWarning", messages=()
    )
    assert [made.exits(c) for c in Sharpen().propose(situation)] == [(1, 0)]


def test_a_hang_gets_a_watchdog_and_its_own_limits_are_lowered() -> None:
    watched = with_watchdog("import time\n")
    assert genuine(ast.parse(watched), "watchdog")
    assert watched.endswith("watch(8)\n\n\nimport time\n")
    assert with_watchdog("from time import time\n").startswith("import faulthandler\n")
    assert impatient("f(timeout=30)\n") == "f(timeout=3)\n"
    assert impatient("f(timeout=1)\n") == ""


def test_a_server_that_is_not_there_is_stood_in_for(made: Made) -> None:
    script = "from urllib.request import urlopen\nprint(len(urlopen('http://example.invalid:9/{x}').read()))\n"
    refused = Observation(ended=Ended.EXITED, exit=1, stderr="ConnectionRefusedError: [Errno 111] Connection refused")
    trial = trial_of(replace(_plain(script), id="c1"), refused)
    found = list(StandIns().propose(made.situation("# x\n\nThe object has 2 KiB.\n", trials=[trial])))
    assert made.trial(found[0]).observation.stdout == "2048\n"


def test_a_key_value_store_is_stood_in_for(made: Made) -> None:
    script = (
        "import socket\ns = socket.create_connection(('127.0.0.1', 6379))\n"
        "s.sendall(b'*3\\r\\n$3\\r\\nSET\\r\\n$1\\r\\na\\r\\n$2\\r\\nbc\\r\\n*2\\r\\n$3\\r\\nGET\\r\\n$1\\r\\na\\r\\n')\n"
        "import time; time.sleep(0.3)\nprint(s.recv(99))\n"
    )
    refused = Observation(ended=Ended.EXITED, exit=1, stderr="ConnectionRefusedError: Connection refused")
    found = list(
        StandIns().propose(made.situation("# x\n\ny\n", trials=[trial_of(replace(_plain(script), id="c1"), refused)]))
    )
    assert made.trial(found[0]).observation.stdout == "b'+OK\\r\\n$2\\r\\nbc\\r\\n'\n"


def test_volatile_parts_do_not_count() -> None:
    assert pieces_of("error in /home/me/x/y.py: bad thing at 0x7f00aabbccdd") == ("error in", ": bad thing at")
    assert mask("done in 3.2 s at 2024-01-02 10:11:12") == mask("done in 1.7 s at 2025-01-02 10:11:13")


def test_values_are_checked_where_they_are_printed() -> None:
    script = "x = [1]\nprint('n =', len(x))\n"
    shown = statement_of(script, ["n = 1"], 0)
    assert shown is not None
    text = with_value_check(script, shown, wrong="1", right="2")
    assert "_value = len(x)\nprint('n =', _value)\nassert str(_value).strip() != '1', 'expected 2, got 1'" in text


def test_empty_is_told_from_its_words() -> None:
    symptom = Symptom(kind=SymptomKind.WRONG_OUTPUT, actual=_values("empty", exact=False))
    assert [seen.at for seen in wrong_lines(symptom, ["a", "items: []", "b"])] == [(1,)]
    assert wrong_lines(symptom, ["", "[]"]) == []
