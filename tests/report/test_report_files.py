"""The run's directory: what is in it, and what it may overwrite."""

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from report_values import run

from rebug.errors import InputError
from rebug.model import Observation, Status
from rebug.report import prepare, write, write_text
from rebug.store import decode


def names(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}


def test_a_reproduced_run_leaves_all_files_of_the_contract(tmp_path: Path) -> None:
    out = tmp_path / "a" / "run"
    prepare(out)
    result = write(out, run())

    assert names(out) == {
        "result.json",
        "repro.py",
        "test_repro.py",
        *(f"candidates/0{n}/{name}" for n in (1, 2, 3) for name in ("repro.py", "observation.json")),
    }
    assert (out / "repro.py").read_text() == (out / result.candidates[0].script).read_text()
    assert (out / result.candidates[1].script).read_text() == run().ranked[1].candidate.script
    data = json.loads((out / "candidates/02/observation.json").read_text())
    assert decode(Observation, data) == run().ranked[1].observation


def test_nothing_found_leaves_a_result_and_no_script(tmp_path: Path) -> None:
    prepare(tmp_path)
    write(tmp_path, run(Status.NOT_REPRODUCED, trials=0))

    assert names(tmp_path) == {"result.json"}


def test_an_earlier_run_is_replaced_as_a_whole(tmp_path: Path) -> None:
    prepare(tmp_path)
    write(tmp_path, run())
    (tmp_path / "notes.txt").write_text("mine")
    prepare(tmp_path)
    assert names(tmp_path) == {"notes.txt"}


def test_a_directory_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "repro.py").write_text("mine")

    with pytest.raises(InputError, match="is not empty and not a run of rebug"):
        prepare(tmp_path)
    assert (tmp_path / "repro.py").read_text() == "mine"


def test_a_file_in_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")

    with pytest.raises(InputError, match="cannot be used as the run's directory"):
        prepare(tmp_path / "run")


def test_a_disk_that_cannot_be_written_ends_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: No such file"):
        write(tmp_path / "gone", replace(run(), ranked=(), findings=()))


def test_a_file_appears_whole_and_readable_by_all(tmp_path: Path) -> None:
    path = tmp_path / "repro.py"
    mask = os.umask(0o022)
    try:
        write_text(path, "é\udc80")
        write_text(path, "é\udc81")
    finally:
        os.umask(mask)

    assert path.read_bytes() == "é\\udc81".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert names(tmp_path) == {"repro.py"}
