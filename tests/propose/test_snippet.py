from __future__ import annotations

import pytest
from made import Made

from rebug.model import Basis, Candidate, SymptomKind
from rebug.propose import Snippet, free_proposers

TRACE = (
    'Traceback (most recent call last):\n  File "/x/app.py", line 3, in <module>\n    Box([1]).last()\n'
    '  File "/x/boxes/__init__.py", line 22, in last\n    return self.things[len(self.things) - OFF]\n'
    "IndexError: list index out of range\n"
)


def _report(code: str, more: str = "", language: str = "python") -> str:
    return f"# It fails\n\nTo reproduce:\n\n```{language}\n{code}\n```\n\n{more}\n\n```\n{TRACE}```\n"


def _candidates(made: Made, report: str) -> list[Candidate]:
    return list(Snippet().propose(made.situation(report)))


@pytest.mark.parametrize(
    "code",
    [
        "import boxes\nboxes.Box([1]).last()",
        "Box([1]).last()",
        ">>> from boxes import Box\n>>> b = Box([1])\n>>> b.last()",
        "def test_last():\n    assert Box([1]).last() == 1",
        "def test_last(tmp_path, monkeypatch):\n    monkeypatch.setenv('A', 'b')\n    Box([tmp_path]).last()",
        "@pytest.mark.parametrize('n', [1, 2])\ndef test_last(n):\n    Box([n]).last()",
        "class TestBox:\n    def test_last(self):\n        Box([1]).last()",
        (
            "import unittest\nclass BoxTest(unittest.TestCase):\n"
            "    def setUp(self):\n        self.box = boxes.Box([1])\n"
            "    def test_last(self):\n        self.box.last()"
        ),
        "def main():\n    boxes.Box([1]).last()",
        "async def main():\n    boxes.Box([1]).last()",
        "async def get():\n    return Box([1])\nbox = await get()\nbox.last()",
        "from .models import Thing\nbox = Box([Thing(name='a')])\nbox.last()",
        "from config import settings\nBox([settings]).last()",
        "box.things.append(1)\nbox.last()",
    ],
)
def test_code_of_a_report_runs_and_fails_where_the_bug_is_only(made: Made, code: str) -> None:
    statuses = [made.exits(candidate) for candidate in _candidates(made, _report(code))]
    assert (1, 0) in statuses


def test_blocks_are_joined_when_one_needs_the_other(made: Made) -> None:
    helper = "```python\ndef helper():\n    return Box([1])\n```"
    report = f"# It fails\n\n{helper}\n\nand then\n\n```python\nhelper().last()\n```\n"
    assert (1, 0) in [made.exits(c) for c in _candidates(made, f"{report}\n```\n{TRACE}```\n")]


def test_a_file_that_the_code_opens_is_written_from_the_report(made: Made) -> None:
    report = _report(
        "import boxes\nprint(boxes.load('things.json'))", '`things.json`:\n\n```json\n{"items": [1]}\n```\n'
    )
    done = [made.exits(c) for c in _candidates(made, report.replace(TRACE, TRACE.replace("IndexError", "KeyError")))]
    assert (1, 0) in done


def test_own_assertions_of_the_reporter_are_marked_as_such(made: Made) -> None:
    report = "# pack gives the wrong list\n\n```python\nfrom boxes import pack\nassert pack('a b') == ['a', 'b']\n```\n"
    found = list(Snippet().propose(made.situation(report, kind=SymptomKind.WRONG_OUTPUT, failure=None)))
    assert found[0].basis is Basis.SCRIPT
    assert made.exits(found[0]) == (1, 0)


def test_imports_of_others_become_requirements(made: Made) -> None:
    found = _candidates(
        made, _report("import yaml\nimport other_lib.sub\nimport os\nfrom boxes import Box\nBox([1]).last()")
    )
    assert found[0].requirements == ("other-lib", "PyYAML")


def test_no_code_no_candidate_and_later_rounds_are_silent(made: Made) -> None:
    assert _candidates(made, "# Only words\n\nIt does not work.\n") == []
    situation = made.situation(_report("Box([1]).last()"), round_number=2)
    assert list(Snippet().propose(situation)) == []


@pytest.mark.parametrize("code", ["(" * 500, "import boxes\n" + "x = [" * 200, "\x00boxes", ">>> boxes.(\n>>> ..."])
def test_garbage_raises_nothing(made: Made, code: str) -> None:
    for candidate in _candidates(made, _report(code)):
        assert candidate.script


def test_every_free_proposer_has_its_own_name() -> None:
    names = [proposer.name for proposer in free_proposers()]
    assert len(set(names)) == len(names) > 10
