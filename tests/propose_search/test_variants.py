"""Neighbour tests, environments, mutation and crossover."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from rebug.model import Candidate, Hypothesis, Role, Trial, Variation
from rebug.propose.crossover import Crossover, joined
from rebug.propose.environment import EnvironmentVariations, merge
from rebug.propose.mutate import Mutate
from rebug.propose.neighbour_tests import NeighbourTests

from .conftest import Bench

MODULE = '''
"""Slugs."""


def slug(text: str, sep: str = "-") -> str:
    """Make a slug.

    >>> slug("a b")
    'a-b'
    """
    if "ß" in text:
        raise UnicodeError("cannot slug 'ß'")
    return sep.join(text.split())
'''
TESTS = """import pytest

from slugs import slug

SEP = "-"


def test_plain():
    assert slug("some words") == "some" + SEP + "words"


@pytest.mark.parametrize("text", ["a b", "c d"])
def test_many(text, tmp_path):
    (tmp_path / "x").write_text(slug(text, SEP))
    assert (tmp_path / "x").read_text()[1] == SEP


class TestSlug:
    def setup_method(self):
        self.sep = "_"

    def test_sep(self):
        assert slug("a b", self.sep) == "a_b"
"""
REPORT = """# slug raises

`slug` fails for "groß rot" with

```
UnicodeError: cannot slug 'ß'
```

Set `SLUG_MODE=strict` or LC_ALL=C, it is the same. Time zone UTC.
"""
FILES = {"slugs/__init__.py": MODULE, "tests/test_slugs.py": TESTS}


def parent(made: Bench, script: str, number: int = 1) -> Trial:
    candidate = Candidate(script=script, hypothesis=Hypothesis(claim="c"), proposer="p", id=str(number), round=1)
    return made.trial(candidate, made.run("pass"))


def test_tests_run_as_they_stand_and_with_the_reports_values(bench: Callable[..., Bench]) -> None:
    made = bench(FILES, REPORT)
    candidates = list(NeighbourTests().propose(made.situation))
    runs = [made.run(c.script) for c in candidates if not c.requirements]
    assert any(ran.last == "UnicodeError: cannot slug 'ß'" for ran in runs)
    plain = [c for c in candidates if "as it stands" in c.hypothesis.claim]
    assert plain
    assert all(made.run(c.script).exit == 0 for c in plain)
    assert all("import pytest" not in c.script for c in plain)


def test_hints_of_the_report_are_tried_on_the_first_trials(bench: Callable[..., Bench]) -> None:
    made = bench(FILES, REPORT)
    trials = (parent(made, "import slugs\nslugs.slug('a')\n"),)
    found = list(EnvironmentVariations().propose(replace(made.situation, trials=trials)))
    variables = [c.variation.variables for c in found]
    assert (("SLUG_MODE", "strict"),) in variables
    assert (("TZ", "Asia/Kolkata"),) in variables
    assert (("PYTHONHASHSEED", "1"),) not in variables
    assert all(c.parents == ("1",) for c in found)
    assert list(EnvironmentVariations().propose(made.situation)) == []


def test_common_variations_come_in_later_rounds_and_only_once(bench: Callable[..., Bench]) -> None:
    made = bench(FILES, REPORT)
    base = parent(made, "import slugs\nslugs.slug('a')\n")
    situation = replace(made.situation, round=2, trials=(base,), parents=(base,))
    found = list(EnvironmentVariations().propose(situation))
    flags = {c.variation.flags for c in found}
    assert {("-W", "error"), ("-O",), ("-X", "dev")} <= flags
    tried = tuple(replace(base, candidate=c) for c in found)
    assert list(EnvironmentVariations().propose(replace(situation, trials=(base, *tried)))) == []


def test_variations_are_merged() -> None:
    one = Variation(variables=(("A", "1"), ("B", "2")), flags=("-O",))
    both = merge(one, Variation(variables=(("B", "3"),), flags=("-X", "dev"), requirements=("x==1",)))
    assert both == Variation(variables=(("A", "1"), ("B", "3")), flags=("-O", "-X", "dev"), requirements=("x==1",))


def test_mutants_parse_differ_and_say_what_was_changed(bench: Callable[..., Bench]) -> None:
    made = bench(FILES, REPORT)
    base = parent(made, "from slugs import slug\n\nx = slug('some words')  # the call\nassert x\n")
    situation = replace(made.situation, round=2, trials=(base,), parents=(base,), rng=random.Random(1))
    found = list(Mutate().propose(situation))
    assert 3 <= len(found) <= 6
    assert len({c.script for c in found}) == len(found)
    assert all(c.parents == ("1",) and c.hypothesis.claim.startswith("It shows when ") for c in found)
    for mutant in found:
        compile(mutant.script, "mutant", "exec")
    again = replace(situation, rng=random.Random(1))
    assert [c.script for c in Mutate().propose(again)] == [c.script for c in found]


def test_mutation_puts_the_reports_literals_in(bench: Callable[..., Bench]) -> None:
    made = bench(FILES, REPORT)
    base = parent(made, "from slugs import slug\nslug('some words')\n")
    scripts: list[str] = []
    for seed in range(12):
        situation = replace(made.situation, round=2, trials=(base,), parents=(base,), rng=random.Random(seed))
        scripts += [c.script for c in Mutate().propose(situation)]
    hits = [s for s in dict.fromkeys(scripts) if "groß rot" in s]
    assert hits
    assert made.run(hits[0]).last == "UnicodeError: cannot slug 'ß'"


def test_crossover_joins_the_setup_of_one_with_the_call_of_the_other(bench: Callable[..., Bench]) -> None:
    one = "import slugs\ntext = 'groß'\nprint(text)\n"
    other = "from slugs import slug\ntext = 'a'\nsep = '_'\nslug(text, sep)\n"
    script = joined(one, other)
    assert script == "import slugs\nfrom slugs import slug\ntext = 'groß'\nsep = '_'\nslug(text, sep)\n"
    made = bench(FILES, REPORT)
    assert made.run(script).last == "UnicodeError: cannot slug 'ß'"
    parents = (parent(made, one, 1), parent(made, other, 2))
    found = list(Crossover().propose(replace(made.situation, round=2, trials=parents, parents=parents)))
    assert script in [c.script for c in found]
    assert found[0].parents == ("1", "2")


def test_probes_are_no_parents(bench: Callable[..., Bench]) -> None:
    made = bench(FILES, REPORT)
    base = parent(made, "import slugs\nslugs.slug('a')\n")
    probe = replace(base, candidate=replace(base.candidate, role=Role.PROBE))
    situation = replace(made.situation, round=2, trials=(probe,), parents=(probe,))
    assert list(Mutate().propose(situation)) == []
    assert list(Crossover().propose(situation)) == []
    assert list(EnvironmentVariations().propose(situation)) == []
