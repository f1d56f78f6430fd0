from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from rebug.execute import LocalEngine, choose_sandbox
from rebug.intake import parse_report
from rebug.judge import StagedJudge
from rebug.model import Candidate, Failure, Hypothesis, Symptom, SymptomKind
from rebug.ports import Situation
from rebug.search import Search
from rebug.store import MemoryJournal
from rebug.subject import UvEnvironments, build_index, open_source

SOURCE = """
def load(value):
    return parse(value)


def parse(value):
    if value == "bad":
        raise RuntimeError("cannot parse bad input")
    if value == "other":
        raise KeyError(value)
    return value
"""

HIT = "from box import load\nload('bad')\n"
NEAR = "from box import load\nload('other')\n"
MISS = "from box import load\nload('good')\n"


def candidate(script: str, **more: Any) -> Candidate:
    return Candidate(
        script=script, hypothesis=Hypothesis(claim="it fails"), proposer=more.pop("proposer", "fixed"), **more
    )


@dataclass
class Fixed:
    """A proposer that offers the same candidates in its round, whatever happened."""

    candidates: Sequence[Candidate]
    name: str = "fixed"
    reactive: bool = False
    round: int = 1

    def propose(self, situation: Situation) -> Iterable[Candidate]:
        return self.candidates if situation.round == self.round else ()


@pytest.fixture(scope="session")
def searching(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Search]:
    """A search over a small application, with the real sandbox, engine, judge and environments."""
    folder = tmp_path_factory.mktemp("search")
    tree = folder / "app"
    (tree / "box").mkdir(parents=True)
    (tree / "box" / "__init__.py").write_text(SOURCE)
    cache = folder / "cache"
    source = open_source(str(tree), cache)
    environments = UvEnvironments(source, cache=cache)

    def make(*proposers: Any, **more: Any) -> Search:
        symptom = Symptom(
            kind=SymptomKind.EXCEPTION, failure=Failure(type="RuntimeError", message="cannot parse bad input")
        )
        return Search(
            report=parse_report("# load() fails\n"),
            symptom=symptom,
            index=build_index(source.root, ("box",)),
            environments=environments,
            proposers=proposers,
            engine=LocalEngine(choose_sandbox("auto"), workers=2),
            judge=StagedJudge(),
            journal=more.pop("journal", MemoryJournal()),
            **more,
        )

    return make
