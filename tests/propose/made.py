"""A made-up subject with bugs, situations about it, and real runs of what is proposed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rebug.intake import find_symptom, parse_report, parse_tracebacks
from rebug.model import (
    Candidate,
    Critique,
    Ended,
    Environment,
    Loss,
    Observation,
    Stage,
    Symptom,
    Trial,
    Verdict,
)
from rebug.ports import Situation
from rebug.subject import build_index

LIBRARY = '''"""Boxes of things."""
import json
import sys
import threading
import warnings


class BoxError(ValueError):
    """A box that cannot be packed."""


class Box:
    """Holds things."""

    def __init__(self, things=()):
        self.things = list(things)

    def last(self):
        return self.things[len(self.things) - OFF]


def pack(text: str) -> list:
    """Words of a text."""
    return text.split() if FIXED else [text]


def load(path):
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    return data["items"] if FIXED else data["itmes"]


def check(text):
    if FIXED and not text:
        raise BoxError("nothing to check")
    return True


def deprecated():
    if not FIXED:
        warnings.warn("pack_old is deprecated", DeprecationWarning, stacklevel=2)


def background():
    def work():
        if not FIXED:
            raise BoxError("lost in a thread")

    thread = threading.Thread(target=work)
    thread.start()


def main():
    text = open(sys.argv[1]).read()
    if "?" in text and not FIXED:
        print("error: cannot pack " + sys.argv[1] + ": question mark")
        sys.exit(3)
    print("packed")
'''


@dataclass(frozen=True)
class Made:
    """The broken and the repaired subject."""

    broken: Path
    repaired: Path

    def situation(
        self, report: str, *, round_number: int = 1, trials: Sequence[Trial] = (), **changes: object
    ) -> Situation:
        parsed = parse_report(report)
        symptom = replace(find_symptom(parsed, "boxes", ("boxes",)), **changes)  # type: ignore[arg-type]
        return Situation(
            report=parsed,
            symptom=symptom,
            index=build_index(self.broken, ("boxes",), "boxes"),
            environment=environment(self.broken),
            round=round_number,
            trials=trials,
            releases=("0.9", "1.0", "2.0"),
        )

    def exits(self, candidate: Candidate) -> tuple[int, int]:
        """Exit statuses of a script on the broken and on the repaired subject."""
        return run(candidate.script, self.broken).returncode, run(candidate.script, self.repaired).returncode

    def trial(self, candidate: Candidate, identity: str = "c1") -> Trial:
        where = self.repaired if candidate.variation.subject_version else self.broken
        done = run(candidate.script, where)
        observation = Observation(
            ended=Ended.EXITED,
            exit=done.returncode,
            stdout=done.stdout,
            stderr=done.stderr,
            failures=tuple(replace(f, where="raised") for f in parse_tracebacks(done.stderr)),
        )
        return trial_of(replace(candidate, id=identity), observation)


def make(root: Path) -> Made:
    for name, fixed in (("broken", False), ("repaired", True)):
        package = root / name / "boxes"
        package.mkdir(parents=True)
        head = f"FIXED = {fixed}\nOFF = {1 if fixed else 0}\n"
        (package / "__init__.py").write_text(LIBRARY.replace("import json", head + "import json", 1))
        (package / "__main__.py").write_text("from boxes import main\n\nmain()\n")
    return Made(root / "broken", root / "repaired")


def environment(root: Path) -> Environment:
    return Environment(
        python=Path(sys.executable),
        prefix=Path(sys.prefix),
        python_version="3.11.7",
        package="boxes",
        version="2.0",
        modules=("boxes",),
        roots=(root / "boxes",),
        paths=(root,),
        scripts={"boxes": "boxes:main"},
    )


def run(script: str, subject: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script] if "__file__" not in script else [sys.executable, "-"],
        input=script,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={"PYTHONPATH": str(subject), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=subject,
    )


def trial_of(candidate: Candidate, observation: Observation) -> Trial:
    return Trial(
        candidate=candidate,
        observation=observation,
        loss=Loss(total=0.5, stage=Stage.NEAR),
        verdict=Verdict.UNTESTED,
        critique=Critique(shows=""),
    )


__all__ = ["Made", "Symptom", "environment", "make", "run", "trial_of"]
