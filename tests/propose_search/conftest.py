"""Made-up packages and reports, indexed and read for real; candidates are run by the plain interpreter."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rebug.intake import find_symptom, parse_report
from rebug.model import (
    Candidate,
    Critique,
    Ended,
    Environment,
    Loss,
    Observation,
    Stage,
    Trial,
    Verdict,
)
from rebug.ports import Situation
from rebug.subject import build_index


@dataclass(frozen=True)
class Ran:
    exit: int
    stdout: str
    stderr: str

    @property
    def last(self) -> str:
        return (self.stderr.strip().splitlines() or [""])[-1]


@dataclass(frozen=True)
class Bench:
    """A package in a directory of its own and a report about it."""

    root: Path
    situation: Situation

    def run(self, script: str, *flags: str) -> Ran:
        file = self.root / "candidate.py"
        file.write_text(script, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, *flags, str(file)],
            check=False,
            capture_output=True,
            text=True,
            timeout=30,
            cwd=self.root,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def trial(self, candidate: Candidate, ran: Ran, total: float = 0.5) -> Trial:
        return Trial(
            candidate=candidate,
            observation=Observation(ended=Ended.EXITED, exit=ran.exit, stdout=ran.stdout, stderr=ran.stderr),
            loss=Loss(total=total, stage=Stage.INSIDE),
            verdict=Verdict.REFUTED,
            critique=Critique(shows=""),
        )


@pytest.fixture
def bench(tmp_path: Path) -> Callable[..., Bench]:
    def make(files: dict[str, str], report: str, **more: object) -> Bench:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        module = next(iter(files)).partition("/")[0]
        read = parse_report(report)
        environment = Environment(
            python=Path(sys.executable),
            prefix=Path(sys.prefix),
            python_version="3.11.4",
            package=module,
            version="1.0",
            modules=(module,),
        )
        situation = Situation(
            report=read,
            symptom=find_symptom(read, module, [module]),
            index=build_index(tmp_path, [module], module),
            environment=environment,
            round=1,
            rng=random.Random(7),
        )
        return Bench(tmp_path, situation)

    return make
