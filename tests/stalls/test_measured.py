"""The instruments, as scripts that run plainly, on faulty and on sound software."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from rebug.instruments import inline, readings
from rebug.intake import find_symptom, load_report
from rebug.model import Basis, Candidate, Environment
from rebug.ports import Situation
from rebug.propose.load import Load
from rebug.subject import build_index

REPORTS = Path(__file__).parent / "reports"


def run(script: str, subject: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "repro.py"
    file.write_text(script)
    variables = {**os.environ, "PYTHONPATH": str(subject)}
    return subprocess.run(
        [sys.executable, str(file)],
        capture_output=True,
        text=True,
        timeout=60,
        env=variables,
        cwd=tmp_path,
        check=False,
    )


def first(subject: Path, name: str) -> Candidate:
    """The first candidate for a report, of the proposer that needs no model."""
    report = load_report(str(REPORTS / f"{name}.md"), (), sys.stdin.buffer)
    index = build_index(subject)
    candidates = Load().propose(
        Situation(
            report=report,
            symptom=find_symptom(report, "", index.modules),
            index=index,
            environment=Environment(
                python=Path(sys.executable), prefix=subject, python_version="3.11", package="", version=""
            ),
            round=1,
        )
    )
    return next(iter(candidates))


def test_typing_slows_down_the_steps_where_a_lock_is_held_meanwhile(
    jobserver: Callable[[str], Path], tmp_path: Path
) -> None:
    candidate = first(jobserver("contention"), "contention")
    assert candidate.basis is Basis.MEASURED
    done = run(candidate.script, tmp_path / "contention", tmp_path)
    assert done.returncode == 1, done.stderr
    (reading,) = readings(done.stderr)
    assert (reading.kind, reading.figures["metric"], reading.figures["place"]) == (
        "stall",
        "step_seconds",
        "drafts.py:nearest",
    )
    assert reading.number("ratio") > 1.8
    assert reading.number("baseline") >= 0.03  # a step sleeps that long


def test_typing_does_not_slow_down_the_sound_server(jobserver: Callable[[str], Path], tmp_path: Path) -> None:
    done = run(first(jobserver("sound"), "contention").script, tmp_path / "sound", tmp_path)
    assert done.returncode == 0, done.stderr
    (reading,) = readings(done.stdout)
    assert reading.number("ratio") < 1.8


def loop_script(function: str) -> str:
    act = f"async def act():\n    await shop.{function}()\n"
    return f"{inline('stall')}\n\nimport shop\n\n\n{act}\n\nstall(act, seconds=1)\n"


@pytest.mark.parametrize(("function", "status"), [("blocking", 1), ("threaded", 0)])
def test_a_loop_that_stands_still(function: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(
        textwrap.dedent("""
            import asyncio, time
            def work():
                time.sleep(0.15)
            async def blocking():
                work()
            async def threaded():
                await asyncio.get_running_loop().run_in_executor(None, work)
        """)
    )
    done = run(loop_script(function), tmp_path, tmp_path)
    assert done.returncode == status, done.stderr
    (reading,) = readings(done.stderr if status else done.stdout)
    if status:
        assert reading.figures["place"] == "shop.py:work"
        assert reading.number("loaded") == pytest.approx(0.15, abs=0.1)


def test_a_server_that_does_not_start_says_why_and_cannot_tell(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise SystemExit('no such device')\n")
    done = run(f"{inline('load')}\n\nload('broken', probes=['/'])\n", tmp_path, tmp_path)
    assert done.returncode == 125
    assert "no such device" in done.stderr
