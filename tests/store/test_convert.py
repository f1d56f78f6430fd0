"""Every noun survives the way to JSON and back."""

import dataclasses
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rebug import model
from rebug.store import decode, encode


def dataclasses_of(module: ModuleType) -> list[type[Any]]:
    return [kind for kind in vars(module).values() if isinstance(kind, type) and dataclasses.is_dataclass(kind)]


FAILURE = model.Failure(
    type="pkg.errors.Bad",
    message="no such 'thing'",
    frames=(model.Frame(file="pkg/a.py", line=3, function="f", code="g()", values=(("x", "1"),)),),
    cause=model.Failure(type="KeyError", message="'a'", complete=False),
    members=(model.Failure(type="ValueError"),),
)
CANDIDATE = model.Candidate(
    script="print('é')\n",
    hypothesis=model.Hypothesis(claim="c"),
    proposer="snippet",
    id="7",
    round=2,
    basis=model.Basis.REPORT,
    variation=model.Variation(python="3.12", variables=(("TZ", "UTC"),), flags=("-W", "error")),
    parents=("1", "2"),
)
OBSERVATION = model.Observation(
    ended=model.Ended.TIMED_OUT,
    failures=(FAILURE,),
    stdout="out",
    stacks=(("MainThread", (model.Frame(file="a.py", line=None, function="f"),)),),
    reached=("pkg/a.py:f",),
    seconds=1.25,
    peak_rss=1 << 33,
)
TRIAL = model.Trial(
    candidate=CANDIDATE,
    observation=OBSERVATION,
    loss=model.Loss(total=0.2, stage=model.Stage.KIND, parts={"type": 0.5}, reasons=("another message",)),
    verdict=model.Verdict.INCONCLUSIVE,
    critique=model.Critique(shows="s"),
)
VALUES = [
    FAILURE,
    TRIAL,
    model.Finding(
        trial=TRIAL,
        script="s",
        test="t",
        repeats=model.Repeats(runs=4, failures=3, rate=0.75, interval=(0.3, 0.95)),
        confirmed=True,
        explanation="e",
    ),
    model.Symptom(kind=model.SymptomKind.EXCEPTION, failure=FAILURE, actual=(model.Value(text="1", exact=False),)),
    model.Report(
        title="t",
        body="b",
        sections=(("", "x"),),
        blocks=(model.Block(text="x", kind=model.BlockKind.REPL, line=3),),
        versions=(model.StatedVersion(name="pkg", version="1.0", role="good"),),
        attachments=(model.Attachment(name="a.log", path=Path("/tmp/a.log"), size=3),),
    ),
    model.Environment(
        python=Path("/v/bin/python"),
        prefix=Path("/v"),
        python_version="3.11.7",
        package="pkg",
        version="1.0",
        packages={"pkg": "1.0"},
        roots=(Path("/v/lib/pkg"),),
    ),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_there_and_back(value: object) -> None:
    data = json.loads(json.dumps(encode(value), allow_nan=False))

    assert decode(type(value), data) == value


@pytest.mark.parametrize("kind", dataclasses_of(model), ids=lambda kind: kind.__name__)
def test_data_of_another_kind_is_refused_in_one_line(kind: type[Any]) -> None:
    first = dataclasses.fields(kind)[0].name
    with pytest.raises(ValueError, match=rf"^not a stored {kind.__name__}: ") as caught:
        decode(kind, {first: object()})
    assert "\n" not in str(caught.value)


def test_enumerations_and_paths_become_text() -> None:
    assert encode(TRIAL)["verdict"] == "inconclusive"
    assert encode(VALUES[-1])["prefix"] == "/v"


def test_undecodable_output_is_kept_readable() -> None:
    observation = model.Observation(ended=model.Ended.EXITED, stdout="a\udcffb")

    assert decode(model.Observation, encode(observation)).stdout == "a\\udcffb"


def test_data_from_before_a_field_existed_takes_its_default() -> None:
    data = encode(TRIAL)
    del data["signature"]

    assert decode(model.Trial, data) == TRIAL
