"""Hangs count where they stand still at the reported place; what waits rightly, or elsewhere, does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rebug.instruments import inline
from rebug.model import Ended, Failure, Frame, Observation, Stage, Symptom, SymptomKind, Trial

Judge = Callable[..., Trial]

SCRIPT = f"""{inline("watchdog")}

import box


def act():
    box.load("x").join()


hang(act)
"""
CORE = "/srv/venv/lib/python3.11/site-packages/box/core.py"
WAIT = Frame(file="/usr/lib/python3.11/threading.py", line=327, function="wait")
STORE = Failure(
    type="", frames=(Frame(file=CORE, line=5, function="put"), Frame(file=CORE, line=8, function="_store"), WAIT)
)
OUTSIDE = Failure(
    type="",
    frames=(
        Frame(file="/srv/app/close.py", line=3, function="close"),
        Frame(file="/usr/lib/python3.11/queue.py", line=90, function="join"),
        WAIT,
    ),
)


def stuck(*strands: str, end: str = "call", status: int = 1) -> Observation:
    figures = " ".join(f"strand_{chr(97 + n)}={text}" for n, text in enumerate(strands))
    return Observation(
        ended=Ended.EXITED,
        exit=status,
        stderr=f"AssertionError: after 10 s it does not come back [hang end={end} {figures}]\n",
        reached=("box/core.py:put",),
    )


AT_STORE = "main,waits,std:threading.py:wait,box/core.py:_store,box/core.py:put,script:act,script:hang"


@pytest.mark.parametrize(
    ("failure", "strand", "stage"),
    [
        (STORE, AT_STORE, Stage.MATCH),
        (STORE, AT_STORE.replace("main", "thread"), Stage.MATCH),
        (STORE, "main,waits,std:threading.py:wait,box/core.py:load,script:act,script:hang", Stage.KIND),
        (STORE, "main,loops,box/core.py:put,script:act,script:hang", Stage.MATCH),  # one turn of it is in _store
        (OUTSIDE, "main,waits,std:queue.py:join,script:act,script:hang", Stage.MATCH),
        (OUTSIDE, "main,waits,std:threading.py:join,script:act,script:hang", Stage.NEAR),
        (None, AT_STORE, Stage.MATCH),  # what act() calls is named and does not come back
        (None, AT_STORE.replace("main", "thread"), Stage.KIND),
        (None, AT_STORE.replace("_store", "recv").replace(":put", ":get"), Stage.KIND),
    ],
)
def test_the_place_decides(verdict_of: Judge, failure: Failure | None, strand: str, stage: Stage) -> None:
    symptom = Symptom(kind=SymptomKind.HANG, failure=failure, suspects=("put",))
    assert verdict_of(SCRIPT, stuck(strand), symptom).loss.stage is stage


def test_any_of_the_reported_threads_may_be_the_one(verdict_of: Judge) -> None:
    other = Failure(type="", frames=(Frame(file=CORE, line=12, function="load"), WAIT), members=(STORE,))
    symptom = Symptom(kind=SymptomKind.HANG, failure=other)
    assert verdict_of(SCRIPT, stuck("main,waits,script:act", AT_STORE), symptom).loss.stage is Stage.MATCH


def test_waiting_for_what_nobody_gives_is_no_hang_of_the_subject(verdict_of: Judge) -> None:
    frames = (Frame(file=CORE, line=5, function="recv"), WAIT)
    symptom = Symptom(kind=SymptomKind.HANG, failure=Failure(type="", frames=frames))
    waiting = stuck("main,waits,std:threading.py:wait,box/core.py:recv,script:act,script:hang")
    assert verdict_of(SCRIPT, waiting, symptom).loss.stage is Stage.KIND


def test_the_readings_count_only_from_an_unaltered_watchdog_on_the_subject(verdict_of: Judge) -> None:
    symptom = Symptom(kind=SymptomKind.HANG, failure=STORE)
    altered = SCRIPT.replace("seconds * 0.5", "seconds * 0.1")
    unrelated = SCRIPT.replace('box.load("x").join()', "threading.Event().wait()")
    for script in (altered, unrelated):
        assert verdict_of(script, stuck(AT_STORE), symptom).loss.stage is not Stage.MATCH
    assert verdict_of(SCRIPT, stuck(AT_STORE, status=125), symptom).loss.stage is Stage.ENVIRONMENT
