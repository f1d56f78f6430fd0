"""What a reading of the leak instrument is worth, by what was measured and around what."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rebug.instruments import inline
from rebug.model import Basis, Ended, Failure, Observation, Stage, Symptom, SymptomKind, Trial

Judge = Callable[..., Trial]

REPORT = "# Memory leak in `load`\n\nEvery call of `load` costs memory, `Shelf` does not.\n"
LEAK = Symptom(kind=SymptomKind.LEAK, suspects=("load",))
ACT = "def act():\n    load('x')\n\n\nleak(act)\n"


def script(act: str = ACT, head: str = "from box import Shelf, load\n") -> str:
    return f"{inline('leak')}\n\n{head}\n{act}"


def reading(resource: str = "memory") -> Observation:
    message = f"every call leaves 32 more {resource} [leak resource={resource} per_call=32 calls=5000]"
    return Observation(
        ended=Ended.EXITED,
        exit=1,
        failures=(Failure(type="AssertionError", message=message),),
        reached=("box/core.py:load",),
    )


def stage(verdict_of: Judge, text: str, seen: Observation, symptom: Symptom = LEAK, body: str = REPORT) -> Stage:
    return verdict_of(text, seen, symptom, body=body, basis=Basis.MEASURED).loss.stage


def test_growth_with_each_call_of_what_is_named_matches(verdict_of: Judge) -> None:
    assert stage(verdict_of, script(), reading()) is Stage.MATCH
    assert stage(verdict_of, script(), reading("objects")) is Stage.MATCH


def test_it_also_counts_from_the_output_of_a_plain_run(verdict_of: Judge) -> None:
    text = "AssertionError: every call leaves 32 more bytes [leak resource=memory per_call=32 calls=5000]\n"
    assert stage(verdict_of, script(), Observation(ended=Ended.EXITED, exit=1, stderr=text)) is Stage.MATCH


def test_an_instrument_that_was_touched_proves_nothing(verdict_of: Judge) -> None:
    altered = script().replace("0.6 * sum", "0.0 * sum")
    assert altered != script()
    assert stage(verdict_of, altered, reading()) not in {Stage.KIND, Stage.MATCH}


def test_a_script_that_only_says_so_proves_nothing(verdict_of: Judge) -> None:
    text = script("def act():\n    load('x')\n\n\nraise AssertionError('[leak resource=memory per_call=3]')\n")
    assert stage(verdict_of, text, reading()) not in {Stage.KIND, Stage.MATCH}


@pytest.mark.parametrize(
    "act",
    [
        "kept = []\ndef act():\n    kept.append(load('x'))\n\n\nleak(act)\n",
        "kept = [load('y')]\ndef act():\n    kept.append(load('x'))\n\n\nleak(act)\n",
        "kept = {}\ndef act():\n    kept[len(kept)] = load('x')\n\n\nleak(act)\n",
        "kept = {}\ndef keep(x):\n    kept.setdefault(id(x), x)\ndef act():\n    keep(load('x'))\n\n\nleak(act)\n",
        "last = None\ndef act():\n    global last\n    last = (load('x'), last)\n\n\nleak(act)\n",
        "shelf = Shelf()\ndef act():\n    shelf.add(load('x'))\n\n\nleak(act)\n",
    ],
)
def test_what_the_script_itself_keeps_is_no_leak(verdict_of: Judge, act: str) -> None:
    assert stage(verdict_of, script(act), reading()) is not Stage.MATCH


def test_what_the_act_makes_and_drops_may_be_filled(verdict_of: Judge) -> None:
    act = "def act():\n    kept = []\n    kept.append(load('x'))\n    count = 0\n    count += 1\n\n\nleak(act)\n"
    assert stage(verdict_of, script(act), reading()) is Stage.MATCH


def test_the_calls_have_to_be_the_subject_s_and_those_spoken_of(verdict_of: Judge) -> None:
    assert stage(verdict_of, script("def act():\n    print(1)\n\n\nleak(act)\n"), reading()) is not Stage.MATCH
    other = script("def act():\n    Shelf().burn('x')\n\n\nleak(act)\n")
    assert stage(verdict_of, other, reading()) is Stage.KIND


def test_the_resource_has_to_be_the_reported_one(verdict_of: Judge) -> None:
    threads = "# `load` leaks threads\n\nThere is one more after each `load`.\n"
    assert stage(verdict_of, script(), reading("threads"), body=threads) is Stage.MATCH
    assert stage(verdict_of, script(), reading("memory"), body=threads) is Stage.KIND
    assert stage(verdict_of, script(), reading("cycles")) is Stage.KIND
    cycles = "# `load` makes reference cycles\n\nMemory is only freed by the collector.\n"
    assert stage(verdict_of, script(), reading("cycles"), body=cycles) is Stage.MATCH


def test_what_the_script_itself_leaves_open_is_no_leak(verdict_of: Judge) -> None:
    body = "# `load` leaks descriptors\n\nAfter `load`, one stays open.\n"
    opened = "def act():\n    load(open('x'))\n\n\nleak(act)\n"
    assert stage(verdict_of, script(opened), reading("descriptors"), body=body) is not Stage.MATCH
    closed = "def act():\n    with open('x') as file:\n        load(file)\n\n\nleak(act)\n"
    assert stage(verdict_of, script(closed), reading("descriptors"), body=body) is Stage.MATCH
