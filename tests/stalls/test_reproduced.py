"""From a prose report and a directory to a stand-alone script, without a model; minutes, so only when asked for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rebug.app import reproduce
from rebug.app.options import Options
from rebug.model import Status

from .conftest import HERE, VARIANTS

pytestmark = pytest.mark.slow
PLACES = {"contention": "drafts.py:nearest", "previews": "previews.py:encode", "gil": "nodes.py:upscale"}


def options(name: str, source: Path, out: Path) -> Options:
    return Options(
        report=str(HERE / "reports" / f"{name}.md"), source=str(source), model="none", max_seconds=150, out=out
    )


@pytest.mark.parametrize("name", VARIANTS)
def test_the_faulty_variant_is_reproduced_and_the_script_passes_on_the_sound_one(
    name: str, jobserver: Callable[[str], Path], tmp_path: Path
) -> None:
    faulty, sound = jobserver(name), jobserver("sound")
    done = reproduce(options(name, faulty, tmp_path / "out"))
    assert done.result.status is Status.REPRODUCED
    script = (tmp_path / "out" / "repro.py").read_text()
    for subject, status in ((faulty, 1), (sound, 0)):
        (tmp_path / "check.py").write_text(script.replace(str(faulty), str(subject)))
        ran = subprocess.run(
            [sys.executable, str(tmp_path / "check.py")], capture_output=True, text=True, timeout=60, check=False
        )
        assert ran.returncode == status, ran.stderr
        if status:
            assert f"place={PLACES[name]}" in ran.stderr


@pytest.mark.parametrize("name", VARIANTS)
def test_the_sound_variant_is_not_reproduced_and_the_figures_are_said(
    name: str, jobserver: Callable[[str], Path], tmp_path: Path
) -> None:
    done = reproduce(options(name, jobserver("sound"), tmp_path / "out"))
    assert done.result.status is Status.NOT_REPRODUCED
    assert done.result.measured
    assert all(" s under load (" in sentence for sentence in done.result.measured)
