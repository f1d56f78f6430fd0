"""One way of a call against another: the report's two ways become a script, which is run on a slow and a sound twin."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rebug.intake import find_symptom, parse_report, parse_tracebacks
from rebug.intake.factors import factor_said
from rebug.judge import StagedJudge
from rebug.model import Ended, Environment, Observation, Stage
from rebug.ports import Situation
from rebug.propose.ratios import Ratios, least_of
from rebug.subject import build_index

LIBRARY = """
def find(text, word, errors=None):
    if errors == 0 and SLOW:
        return [at for at in range(len(text)) if text[at : at + len(word)] == word]
    found, at = [], text.find(word)
    while at >= 0:
        found.append(at)
        at = text.find(word, at + 1)
    return found
"""
REPORT = """# `find` with `errors=0` is about a hundred times slower

```python
import time
from seek import find

text = "the quick brown fox " * 3000
for errors in (None, 0):
    start = time.perf_counter()
    find(text, "lazy cat", errors)
    print(errors, time.perf_counter() - start)
```
"""


def situation(root: Path, report: str) -> Situation:
    read = parse_report(report)
    return Situation(
        report=read,
        symptom=find_symptom(read, "seek", ("seek",)),
        index=build_index(root, ("seek",), "seek"),
        environment=Environment(
            python=Path(sys.executable),
            prefix=root,
            python_version="3.11.7",
            package="seek",
            version="1",
            modules=("seek",),
        ),
        round=1,
    )


def run(root: Path, script: str) -> Observation:
    (root / "repro.py").write_text(script)
    command = [sys.executable, str(root / "repro.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=root)
    return Observation(
        ended=Ended.EXITED,
        exit=done.returncode,
        stderr=done.stderr,
        failures=tuple(parse_tracebacks(done.stderr)),
    )


def test_the_slow_way_is_measured_against_the_quick_one(tmp_path: Path) -> None:
    for name, slow in (("slow", True), ("sound", False)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "seek.py").write_text(f"SLOW = {slow}\n{LIBRARY}")
    seen = situation(tmp_path / "slow", REPORT)
    found = list(Ratios().propose(seen))
    runs = [(candidate, run(tmp_path / "slow", candidate.script)) for candidate in found]
    matching = [
        candidate for candidate, ran in runs if StagedJudge().judge(candidate, ran, seen).loss.stage is Stage.MATCH
    ]
    assert len(matching) == 1
    assert "errors = 0" in matching[0].script.partition("def act():")[2].partition("def control():")[0]
    assert run(tmp_path / "sound", matching[0].script).exit == 0


def test_a_control_with_less_data_proves_nothing(tmp_path: Path) -> None:
    (tmp_path / "seek.py").write_text(f"SLOW = True\n{LIBRARY}")
    seen = situation(tmp_path, REPORT)
    candidate = next(iter(Ratios().propose(seen)))
    cut = candidate.script.partition("def act():")[0]
    unfair = (
        f"{cut}def act():\n    find('a b ' * 100000, 'c', 0)\n\n\ndef control():\n    find('a b ' * 100, 'c', 0)\n\n\n"
        "ratio(act, control, least=10)\n"
    )
    changed = replace(candidate, script=unfair)
    ran = run(tmp_path, unfair)
    assert ran.exit == 1
    assert StagedJudge().judge(changed, ran, seen).loss.stage is Stage.KIND


@pytest.mark.parametrize(
    ("text", "factor"),
    [
        ("It is 50 times slower than json.loads.", 50.0),
        ("`a` takes about a hundred times as long.", 100.0),
        ("a 20x slowdown", 20.0),
        ("It is two orders of magnitude slower.", 100.0),
        ("I tried it three times. It is slow.", 0.0),
        ("It is slow.", 0.0),
    ],
)
def test_the_factor_that_is_said(text: str, factor: float) -> None:
    assert factor_said(text) == factor


def test_half_of_the_orders_of_magnitude_count_but_never_less_than_three() -> None:
    assert least_of("It is 100 times slower.") == 10.0
    assert least_of("It is 4 times slower.") == 3.0
    assert least_of("It is slow.") == 0.0
