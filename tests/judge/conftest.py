from collections.abc import Callable
from pathlib import Path

import pytest

from rebug.intake import parse_report
from rebug.judge import StagedJudge
from rebug.model import Candidate, Environment, Hypothesis, Observation, Symptom, Trial
from rebug.ports import Situation
from rebug.subject import build_index

SOURCE = """
class Shelf:
    def put(self, item):
        return self._store(item)

    def _store(self, item):
        raise KeyError(item)


def load(path):
    return Shelf().put(path)
"""


@pytest.fixture
def verdict_of(tmp_path: Path) -> Callable[..., Trial]:
    """Judges one observation of one script against a symptom, for a subject called `box`."""
    package = tmp_path / "box"
    package.mkdir()
    (package / "__init__.py").write_text("from box.core import Shelf, load\n")
    (package / "core.py").write_text(SOURCE)

    def judge(script: str, observation: Observation, symptom: Symptom, *, body: str = "", **extra: object) -> Trial:
        situation = Situation(
            report=parse_report(body or "# A bug\n"),
            symptom=symptom,
            index=build_index(tmp_path, ("box",)),
            environment=Environment(
                python=Path("python"),
                prefix=tmp_path,
                python_version="3.11",
                package="box",
                version="1",
                modules=("box",),
            ),
            round=1,
        )
        candidate = Candidate(script=script, hypothesis=Hypothesis(claim="it fails"), proposer="test", **extra)
        return StagedJudge().judge(candidate, observation, situation)

    return judge
