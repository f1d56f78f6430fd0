"""Crashes that come without a program: a subject that dies for real, and one that does not."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rebug.errors import SandboxUnavailable
from rebug.execute import LocalEngine, choose_sandbox
from rebug.intake import find_symptom, parse_report
from rebug.judge import StagedJudge
from rebug.model import (
    Candidate,
    Critique,
    Ended,
    Environment,
    Hypothesis,
    Loss,
    Observation,
    Role,
    Stage,
    Trial,
    Verdict,
)
from rebug.ports import Engine, Job, Situation
from rebug.propose.native import NativeProbe, families, hits_of, plan_of, program, quoted_values, ranked
from rebug.subject import build_index

READER = '''
import ctypes
import sys


def count(text):
    """The sum of a text's bytes."""
    if not isinstance(text, str) or not text.isascii():
        raise TypeError("count() takes ASCII text")
    start = id(text) + sys.getsizeof("") - 1
    size = {size}
    return sum(ctypes.string_at(start, size)[: len(text)])
'''
OVER = READER.format(size="len(text) + 16")
EXACT = READER.format(size="len(text)")
PICKY = '''
import ctypes


def find(pattern, text):
    """Where a text matches."""
    if pattern == "(?R)" and text and {buggy}:
        ctypes.string_at(8, 1)
    if not isinstance(pattern, str) or not isinstance(text, str):
        raise TypeError("find() takes texts")
    return text.find(pattern)
'''
KERNEL = (
    "# Random crashes\n\nThe kernel log has:\n\n```\n[Sun Mar  3 12:11:22 2024] python3[89]: segfault at 7eff1d896000 "
    "ip 00007eff1de12cef sp 00007ffe0d6d20d8 error 4 in box.so[30cef,7eff1ddec000+30000]\n```\n"
)
LOGGED = (
    "# The worker is killed by a segfault\n\n```\n08:12:01 INFO pattern='a+' text='b'\n"
    "08:12:02 INFO pattern='(?R)' text='x'\nFatal Python error: Segmentation fault\n```\n"
)


@pytest.fixture(scope="module")
def engine() -> Engine:
    try:
        return LocalEngine(choose_sandbox(), workers=1)
    except SandboxUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture
def about(tmp_path: Path) -> Callable[[str, str], Situation]:
    def made(source: str, text: str) -> Situation:
        package = tmp_path / "box"
        package.mkdir()
        (package / "__init__.py").write_text(source)
        report = parse_report(text)
        first = Trial(
            candidate=Candidate(
                script="import box\n", hypothesis=Hypothesis(claim="it dies"), proposer="t", id="c0001"
            ),
            observation=Observation(ended=Ended.EXITED, exit=0),
            loss=Loss(total=0.8, stage=Stage.OUTSIDE),
            verdict=Verdict.REFUTED,
            critique=Critique(shows=""),
        )
        return Situation(
            report=report,
            symptom=find_symptom(report, "box", ("box",)),
            index=build_index(tmp_path, ("box",)),
            environment=Environment(
                python=Path(sys.executable),
                prefix=Path(sys.prefix),
                python_version="3.11",
                package="box",
                version="1",
                modules=("box",),
                roots=(package,),
                paths=(tmp_path,),
                base_prefixes=(Path(sys.base_prefix),),
            ),
            round=1,
            trials=(first,),
        )

    return made


def ran(situation: Situation, candidate: Candidate, engine: Engine, *, harness: bool = True) -> Trial:
    job = Job(candidate=candidate, environment=situation.environment, harness=harness)
    return StagedJudge().judge(candidate, engine.run([job])[0], situation)


def searched(situation: Situation, engine: Engine) -> tuple[Situation, list[Candidate]]:
    """The situation after the first probe, and the attempts made of it."""
    probe = next(iter(NativeProbe().propose(situation)))
    assert probe.role is Role.PROBE
    plan = plan_of(probe.script)
    assert plan is not None
    probe = replace(probe, script=probe.script.replace("'seconds': 9.0", "'seconds': 4.0"), id="c0002")
    later = replace(situation, trials=(*situation.trials, ran(situation, probe, engine)))
    return later, [c for c in NativeProbe().propose(later) if c.role is Role.ATTEMPT]


def test_a_read_past_the_end_is_found_and_becomes_a_program_that_dies_each_time(
    about: Callable[[str, str], Situation], engine: Engine
) -> None:
    situation, attempts = searched(about(OVER, KERNEL), engine)
    assert attempts
    assert "box.count(data)" in attempts[0].script
    for harness in (True, False):
        for _ in range(3):
            trial = ran(situation, attempts[0], engine, harness=harness)
            assert trial.observation.signal == "SIGSEGV"
    assert ran(situation, attempts[0], engine).loss.stage is Stage.MATCH
    (Path(situation.index.root) / "box" / "__init__.py").write_text(EXACT)
    assert ran(situation, attempts[0], engine, harness=False).observation.exit == 0


def test_sound_reads_at_the_end_of_a_page_survive(about: Callable[[str, str], Situation], engine: Engine) -> None:
    _, attempts = searched(about(EXACT, KERNEL), engine)
    assert attempts == []


def test_values_that_the_log_quotes_last_are_tried(about: Callable[[str, str], Situation], engine: Engine) -> None:
    situation, attempts = searched(about(PICKY.format(buggy=True), LOGGED), engine)
    assert attempts[0].script == "import box\n\nbox.find('(?R)', 'x')\n"
    assert ran(situation, attempts[0], engine).loss.stage is Stage.MATCH


def test_what_the_crash_reached_for_decides_what_is_tried() -> None:
    page = find_symptom(parse_report(KERNEL), "box", ("box",))
    assert families(page)[0] == "page"
    overflow = find_symptom(parse_report("# Segmentation fault\n\nIt is a stack overflow.\n"), "box", ("box",))
    assert "deep" in families(overflow)
    assert "page" not in families(overflow)


def test_values_with_their_names_the_last_ones_first() -> None:
    assert quoted_values(parse_report(LOGGED)) == [("text", "'x'"), ("pattern", "'(?R)'"), ("text", "'b'"),
                                                   ("pattern", "'a+'")]  # fmt: skip


HIT = {"signal": "SIGSEGV", "import": "import box", "target": "box.f", "helper": "", "body": "box.f('a' * 3)"}


@pytest.mark.parametrize(
    "body",
    [
        "__import__('os').system('x')",
        "box.f(open('/etc/passwd'))",
        "import os",
        "box.__dict__",
        "box.f(lambda: 1)",
        "(",
    ],
)
def test_a_hit_with_anything_but_calls_of_the_subject_is_refused(body: str) -> None:
    assert program(HIT, ("box",)) == "import box\n\nbox.f('a' * 3)\n"
    assert program({**HIT, "body": body}, ("box",)) == ""
    assert program({**HIT, "import": "import os"}, ("box",)) == ""


def test_hits_are_read_and_ranked_by_signal_and_length() -> None:
    symptom = find_symptom(parse_report(LOGGED), "box", ("box",))
    lines = ["native-probe: {", "noise", 'native-probe: {"targets": 3}']
    hit = 'native-probe: {"signal": "%s", "import": "import box", "target": "%s", "helper": "", "body": "%s"}'
    lines += [hit % ("SIGABRT", "box.a", "box.a()"), hit % ("SIGSEGV", "box.b", "box.b(1)")]
    assert [found["target"] for found in ranked(hits_of("\n".join(lines)), symptom)] == ["box.b", "box.a"]
