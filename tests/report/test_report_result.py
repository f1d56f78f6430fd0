"""result.json: its contract, its schema, and what a run becomes in it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from report_values import run, trial

from rebug.errors import InputError
from rebug.model import Ended, Observation, Stage, Status
from rebug.report import build, json_schema, order, prepare, read_result, write

ROOT = Path(__file__).parents[2]

CONTRACT = {
    "": "schema_version run_id status score report subject symptom candidates best missing_information cost counts "
    "seconds",
    "report": "title url date",
    "subject": "source version python commit",
    "symptom": "kind",
    "candidates.0": "rank id round parents proposer score loss verdict hypothesis script environment explanation "
    "critique repeats observation",
    "candidates.0.loss": "total stage parts",
    "candidates.0.hypothesis": "claim conditions prediction",
    "candidates.0.environment": "python variation",
    "candidates.0.repeats": "runs failures rate interval",
    "candidates.0.observation": "exit signal exception frames seconds peak_rss",
    "best": "script test minimized_from_lines lines located versions",
    "best.versions": "first_bad last_good fixed_in",
    "cost": "model calls input_tokens cached_tokens cache_write_tokens output_tokens usd usd_without_cache",
    "counts": "proposed duplicates run environment_failures rounds",
    "seconds": "total environment proposing running judging",
}


def at(document: object, path: str) -> dict[str, object]:
    for part in filter(None, path.split(".")):
        document = document[int(part)] if isinstance(document, list) else document[part]  # type: ignore[index]
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize("path", CONTRACT)
def test_every_field_of_the_contract_is_there(path: str) -> None:
    document = json.loads(build(run()).model_dump_json())

    assert set(CONTRACT[path].split()) <= set(at(document, path))


def test_the_schema_in_the_docs_is_current() -> None:
    """Made by `python -m rebug.report.schema > docs/result.schema.json`."""
    assert (ROOT / "docs" / "result.schema.json").read_text("utf-8") == json_schema()


def test_values_of_a_reproduced_run() -> None:
    result = build(run())

    assert (result.schema_version, result.status, result.score) == (1, "reproduced", 98)
    assert [one.rank for one in result.candidates] == [1, 2, 3]
    first = result.candidates[0]
    assert (first.loss.stage, first.observation.exit) == (Stage.PROVEN, 1)
    assert first.observation.exception is not None
    assert (first.observation.exception.type, first.observation.exception.message) == ("KeyError", "'1000'")
    assert first.observation.frames[0].function == "fail"
    assert first.repeats is not None
    assert (first.repeats.failures, first.repeats.interval) == (4, (0.51, 1.0))
    assert first.critique == "It raises KeyError. the message differs."
    assert result.candidates[1].repeats is None
    assert result.best is not None
    assert (result.best.lines, result.best.minimized_from_lines, result.best.versions.last_good) == (4, 7, "1.9")
    assert result.missing_information == ()
    assert result.cost.usd == 0
    assert result.tried == {"snippet": 3}


def test_a_run_that_found_nothing() -> None:
    result = build(run(Status.NOT_REPRODUCED, trials=0))

    assert (result.score, result.best, result.candidates) == (0, None, ())
    assert result.missing_information == ("Which version is it?",)


def test_the_chosen_finding_comes_first_and_no_more_than_top_are_shown() -> None:
    given = run()
    third = given.ranked[2]
    chosen = replace(given.findings[0], trial=third)

    assert [t.candidate.id for t in order(replace(given, findings=[chosen], top=2))] == ["c0002", "c0000"]


def test_output_of_any_bytes_and_size_is_kept_in_bounds() -> None:
    strange = replace(trial(0), observation=Observation(ended=Ended.EXITED, exit=1, stderr="\udcff\0" + "x" * 100_000))
    result = build(replace(run(), ranked=[strange], findings=[]))

    assert len(result.candidates[0].observation.stderr) == 2000
    assert json.loads(result.model_dump_json())


def test_reading_back(tmp_path: Path) -> None:
    prepare(tmp_path)
    written = write(tmp_path, run())
    path = tmp_path / "result.json"

    assert read_result(path) == written
    grown = json.loads(path.read_text()) | {"a_later_field": 1}
    path.write_text(json.dumps(grown))
    assert read_result(path) == written


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schema_version": 1, "status": "maybe"}', "\x00\xff"])
def test_what_is_no_result_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "result.json").write_text(text, "latin-1")

    with pytest.raises(InputError, match="is not a result of rebug") as caught:
        read_result(tmp_path / "result.json")
    assert "\n" not in str(caught.value)
