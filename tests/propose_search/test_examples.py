"""Tests of a subject taken apart, the reporter's line on their objects, and clean refusals."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from rebug.model import Role
from rebug.propose.data_probe import DataProbe
from rebug.propose.examples import examples_with_line, inlined, uses_through
from rebug.propose.neighbour_tests import NeighbourTests
from rebug.propose.tolerance import own_errors, tolerant
from rebug.propose.workshop import Workshop

from .conftest import Bench

MODULE = '''
"""Rules."""


class RuleError(Exception):
    pass


class OneOf:
    def __init__(self, allowed):
        self.allowed = allowed

    def __call__(self, value):
        if value in self.allowed:
            return value
        raise RuleError("must be one of " + ", ".join(str(v) for v in sorted(self.allowed)))


class Rules:
    def __init__(self, rules):
        self.rules = rules

    def check(self, data):
        return self._run(data)

    def _run(self, data):
        return {key: self.rules[key](value) for key, value in data.items()}

    def walk(self):
        yield from self.rules
'''
TESTS = """import unittest

import pytest
from suite_helpers import Rules, skip_slow

from rules import OneOf, RuleError


class RulesTest(unittest.TestCase):
    names = ["a", "b"]
    other = 3

    def setUp(self):
        self.rules = Rules({"a": str})

    def helper(self):
        return 1

    def test_walk(self):
        self.assertEqual(list(self.rules.walk()), ["a"])
        self.assertEqual(self.helper(), 1)
        found = self.rules
        assert list(found.walk()) == self.names[:1]
        with self.assertRaises(RuleError):
            Rules({"a": OneOf(["x"])}).check({"a": "q"})


@pytest.mark.parametrize("key, allowed", [("a", ["x", "y"]), ("b", ["z"])])
def test_one_of(key, allowed):
    rules = Rules({key: OneOf(allowed)})
    assert rules.check({key: allowed[0]})
    with pytest.raises(RuleError):
        rules.check({"a": "wrong"})
"""
FILES = {"rules/__init__.py": MODULE, "tests/test_rules.py": TESTS}
REPORT = """# A wrong value ends in a TypeError and not in `RuleError`

```
Traceback (most recent call last):
  File "/opt/hearth/loader.py", line 8, in check
    return OPTIONS.check(options)
  File "/x/site-packages/rules/__init__.py", line 24, in check
    return self._run(data)
  File "/x/site-packages/rules/__init__.py", line 27, in _run
    return {key: self.rules[key](value) for key, value in data.items()}
  File "/x/site-packages/rules/__init__.py", line 27, in <dictcomp>
    return {key: self.rules[key](value) for key, value in data.items()}
  File "/x/site-packages/rules/__init__.py", line 16, in __call__
    raise RuleError("must be one of " + ", ".join(str(v) for v in sorted(self.allowed)))
TypeError: '<' not supported between instances of 'str' and 'int'
```

The values are a mix of numbers and words.
"""
LINE_REPORT = """# 'generator' object is not reversible

```
Traceback (most recent call last):
  File "/opt/mill/reader.py", line 8, in read
    fix(tree)
  File "/opt/mill/cleanup.py", line 7, in fix
    for name in reversed(node.parent.walk()):
TypeError: 'generator' object is not reversible
```
"""


def test_a_test_is_taken_apart_without_its_suite(bench: Callable[..., Bench]) -> None:
    made = bench(FILES, REPORT)
    workshop = Workshop(made.situation)
    texts = {test.name: inlined(test, workshop) for test in made.situation.index.tests}
    walk = texts["test_walk"]
    assert made.run(walk).exit == 0
    assert "suite_helpers" not in walk
    assert "from rules import" in walk
    assert "helper" not in walk
    assert "self.names = ['a', 'b']" in walk
    assert "self.other" not in walk
    one_of = texts["test_one_of"]
    assert made.run(one_of).exit == 0
    assert "pytest" not in one_of
    assert "except RuleError:" in one_of


def test_the_failing_line_of_the_reporter_runs_on_the_object_of_a_test(bench: Callable[..., Bench]) -> None:
    made = bench(FILES, LINE_REPORT)
    programs = list(examples_with_line(Workshop(made.situation)))
    assert any(made.run(p).last == "TypeError: 'generator' object is not reversible" for p in programs)
    first = next(iter(NeighbourTests().propose(made.situation)))
    assert "the reporter's own line" in first.hypothesis.claim


def test_tests_that_name_what_the_stack_names_come_first(bench: Callable[..., Bench]) -> None:
    made = bench(FILES, REPORT)
    assert "OneOf(" in uses_through(Workshop(made.situation))[0]


def test_an_input_that_crashes_instead_of_being_refused_is_found(bench: Callable[..., Bench]) -> None:
    made = bench(FILES, REPORT)
    probes = [c for c in DataProbe().propose(made.situation) if "existing test" in c.hypothesis.claim]
    trial = made.trial(replace(probes[0], id="1", round=1), made.run(probes[0].script))
    found = DataProbe().propose(replace(made.situation, round=2, trials=(trial,)))
    first = next(c for c in found if c.role is Role.ATTEMPT)
    assert made.run(first.script).last == "TypeError: '<' not supported between instances of 'str' and 'int'"
    (made.root / "rules/__init__.py").write_text(MODULE.replace("sorted(self.allowed)", "self.allowed"))
    assert made.run(first.script).exit == 0


def test_the_subjects_own_error_is_no_crash(bench: Callable[..., Bench]) -> None:
    made = bench(FILES, REPORT)
    errors = own_errors(made.situation)
    assert [e.name for e in errors] == ["RuleError"]
    script = tolerant("from rules import OneOf\nOneOf([1])(2)\n", 2, errors)
    assert made.run(script).exit == 0
    ast.parse(script)
    guarded = "try:\n    f()\nexcept ValueError:\n    pass\n"
    assert tolerant(guarded, 2, errors) == guarded
    assert tolerant("f()\n", 1, []) == "f()\n"
    own = bench(FILES, REPORT.replace("TypeError: '<' not", "rules.RuleError: not"))
    assert own_errors(own.situation) == []
