from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rebug.intake import find_symptom, parse_report
from rebug.model import (
    Candidate,
    Critique,
    Ended,
    Environment,
    Failure,
    Hypothesis,
    Loss,
    Observation,
    Stage,
    Trial,
    Verdict,
)
from rebug.ports import Situation
from rebug.propose.lacking import Lacking
from rebug.subject import build_index


@pytest.fixture
def after(tmp_path: Path) -> Callable[..., Situation]:
    (tmp_path / "box.py").write_text("def load():\n    import numpy\n")

    def made(*failures: Failure, requirements: tuple[str, ...] = ()) -> Situation:
        report = parse_report("# load() crashes\n\nbox 1, and yaml is installed too (6.0.1)\n")
        environment = Environment(
            python=Path("p"),
            prefix=tmp_path,
            python_version="3.11",
            package="box",
            version="1",
            modules=("box",),
            packages={"attrs": "1"},
        )
        candidate = Candidate(
            script="import box\nbox.load()\n",
            hypothesis=Hypothesis(claim="it fails"),
            proposer="snippet",
            id="c0001",
            requirements=requirements,
        )
        trial = Trial(
            candidate=candidate,
            observation=Observation(ended=Ended.EXITED, exit=1, failures=failures),
            loss=Loss(total=0.9, stage=Stage.ENVIRONMENT),
            verdict=Verdict.INCONCLUSIVE,
            critique=Critique(shows=""),
        )
        index = build_index(tmp_path, ("box",))
        symptom = find_symptom(report, "box", ["box"])
        return Situation(report=report, symptom=symptom, index=index, environment=environment, round=1, trials=(trial,))

    return made


def lost(module: str) -> Failure:
    return Failure(type="ModuleNotFoundError", message=f"No module named {module!r}")


def test_what_the_subject_imports_when_it_is_used_is_installed(after: Callable[..., Situation]) -> None:
    (candidate,) = Lacking().propose(after(lost("numpy.core")))
    assert (candidate.requirements, candidate.parents, candidate.proposer) == (("numpy",), ("c0001",), "lacking")
    wrapped = Failure(type="RuntimeError", message="install an extra", cause=lost("yaml"))
    (candidate,) = Lacking().propose(after(wrapped, requirements=("tool",)))
    assert candidate.requirements == ("tool", "PyYAML==6.0.1")


@pytest.mark.parametrize(
    "failure", [lost("box.missing"), lost("attrs"), lost("json.missing"), Failure(type="KeyError", message="'numpy'")]
)
def test_what_cannot_be_installed_is_left_alone(failure: Failure, after: Callable[..., Situation]) -> None:
    assert list(Lacking().propose(after(failure))) == []
