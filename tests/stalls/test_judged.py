"""Which readings count for a report of slowness under load, and which do not."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

from rebug.instruments import inline
from rebug.intake import find_symptom, load_report
from rebug.judge.exhibit import Evidence, Exhibit
from rebug.judge.gate import parse
from rebug.judge.stall import stall
from rebug.model import Basis, Candidate, Ended, Failure, Hypothesis, Observation, Strain, Symptom

REPORTS = Path(__file__).parent / "reports"
MODULES = ("drafts", "jobs", "nodes", "previews", "server")
TYPING = """load(
    "server",
    job=("POST", "/prompt", {"node": "denoise"}),
    act=("WS", "/ws", {"type": "draft", "text": "a cat"}),
    metric="step",
)"""
SLOWER = (
    "a step takes 0.3 s under load (WS /ws) and 0.03 s without: 90 % of that time goes to drafts.py:nearest "
    "[stall ratio=10 metric=step_seconds baseline=0.03 loaded=0.3 place=drafts.py:nearest share=0.90]"
)


def judged(
    call: str = TYPING,
    said: str = SLOWER,
    *,
    report: str = "contention",
    basis: Basis = Basis.MEASURED,
    code: str = "",
    status: int = 1,
    strain: Strain | None = None,
) -> Evidence:
    read = load_report(str(REPORTS / f"{report}.md"), (), io.BytesIO())
    symptom: Symptom = find_symptom(read, "", MODULES)
    script = f"{code or inline('load')}\n\n{call}\n"
    tree = parse(script)
    assert tree is not None
    failures = (Failure(type="AssertionError", message=said),) if status else ()
    return stall(
        Exhibit(
            candidate=Candidate(script=script, hypothesis=Hypothesis(claim="slow"), proposer="test", basis=basis),
            observation=Observation(ended=Ended.EXITED, exit=status, failures=failures, stdout="" if status else said),
            symptom=replace(symptom, strain=strain) if strain else symptom,
            tree=tree,
            modules=MODULES,
            told=f"{read.title}\n{read.body}",
        )
    )


def test_the_reported_load_on_the_subject_s_server_counts() -> None:
    evidence = judged()
    assert evidence.matches
    assert evidence.distance == 0.0


def test_a_script_that_exits_0_shows_nothing_but_says_its_figures() -> None:
    told = "a step takes 0.031 s under load (WS /ws) and 0.03 s without"
    evidence = judged(said=f"{told} [stall ratio=1.03 metric=step_seconds baseline=0.03 loaded=0.031]", status=0)
    assert not evidence.shown
    assert evidence.reasons == (f"measured: {told}",)


@pytest.mark.parametrize(
    ("why", "changes"),
    [
        ("a reading that no instrument took", {"basis": Basis.MODEL}),
        ("an instrument that was changed", {"code": inline("load").replace("_PHASE = 0.9", "_PHASE = 0.1")}),
        ("no instrument at all", {"code": "def load(*a, **k): raise AssertionError"}),
        ("a server that is not the subject's", {"call": TYPING.replace('"server"', '"http.server"')}),
        ("a server chosen by an expression", {"call": TYPING.replace('"server"', '"ser" + "ver"')}),
        ("no difference to speak of", {"said": SLOWER.replace("ratio=10", "ratio=1.2")}),
        ("two loads, of which one is said", {"call": f"{TYPING}\n{TYPING}"}),
    ],
)
def test_does_not_count(why: str, changes: dict[str, object]) -> None:
    assert not judged(**changes).shown, why  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("why", "changes"),
    [
        ("something else gets slow", {"said": SLOWER.replace("step_seconds", "api_seconds")}),
        ("another load than the reported one", {"strain": Strain(meanwhile="uploading a picture", metric="step")}),
        ("a server that the script may have written", {"call": f"open('server.py', 'w').write('')\n{TYPING}"}),
        ("a flood", {"call": TYPING.replace('"a cat"', '"a cat" * 10000')}),
        ("the time goes elsewhere", {"said": SLOWER.replace("place=drafts.py", "place=site/other.py")}),
    ],
)
def test_is_of_the_kind_and_no_match(why: str, changes: dict[str, object]) -> None:
    evidence = judged(**changes)  # type: ignore[arg-type]
    assert evidence.shown, why
    assert not evidence.matches, why
    assert evidence.reasons, why


def test_a_job_is_the_load_where_the_report_says_that_one_runs() -> None:
    call = 'load("server", job=("POST", "/prompt", {"node": "upscale", "steps": 20}), probes=["/queue"], metric="api")'
    said = "it is slow [stall ratio=90 metric=api_seconds baseline=0.005 loaded=0.5 place=nodes.py:upscale share=0.9]"
    assert judged(call, said, report="gil").distance == 0.0
    assert judged(call, said, report="contention").distance > 0.25


LOOP = "import drafts\n\n\nasync def act():\n    drafts.check('a cat')\n\n\nstall(act)\n"
STOOD = (
    "the event loop stands still for 0.2 s [stall ratio=90 metric=loop_seconds baseline=0.002 loaded=0.2 "
    "place=drafts.py:check share=1.00 via=drafts.py:check>script:act]"
)


def test_a_coroutine_of_the_subject_s_that_blocks_the_loop_counts() -> None:
    assert judged(LOOP, STOOD, code=inline("stall")).shown


def test_a_coroutine_of_the_script_s_own_does_not() -> None:
    own = LOOP.replace("import drafts", "import time").replace("drafts.check('a cat')", "time.sleep(1)")
    assert not judged(own, STOOD, code=inline("stall")).shown
