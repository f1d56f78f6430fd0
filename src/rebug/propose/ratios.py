"""Slower than something else: two ways of one call, as the report's own program has them, measured side by side."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import islice, permutations

from rebug.instruments import inline
from rebug.intake.factors import factor_said
from rebug.model import Basis, Candidate, Hypothesis, SymptomKind
from rebug.ports import Situation
from rebug.propose.acts import without_measuring
from rebug.propose.code import add_imports, parse
from rebug.propose.entry_points import stated_requirements
from rebug.propose.snippet import Snippet

_MOST = 6
_PROGRAMS = 4
_LEAST = 3.0  # how many times as long counts, whatever the report says


class Ratios:
    """Measures one way of a call against another."""

    name = "ratios"
    reactive = False

    def propose(self, situation: Situation) -> Iterator[Candidate]:
        if situation.round > 1 or situation.symptom.kind is not SymptomKind.SLOW:
            return
        least = least_of(f"{situation.report.title}\n{situation.report.body[:50_000]}")
        seen: set[str] = set()
        for candidate in islice(Snippet().propose(situation), _PROGRAMS):
            tree = parse(candidate.script)
            for script in scripts(tree, least) if tree and least else ():
                if script not in seen and len(seen) < _MOST:
                    seen.add(script)
                    yield _candidate(situation, script, least)


def least_of(told: str) -> float:
    """How many times as long counts: half of what the report says in orders of magnitude, since another machine is no
    reason to miss it; 0.0 when the report gives no factor."""
    said = factor_said(told)
    return max(_LEAST, round(said**0.5, 1)) if said >= _LEAST else 0.0


def _candidate(situation: Situation, script: str, least: float) -> Candidate:
    return Candidate(
        script=script,
        proposer=Ratios.name,
        basis=Basis.MEASURED,
        requirements=stated_requirements(situation),
        hypothesis=Hypothesis(
            claim="One way of the report's own call takes many times as long as the other.",
            conditions="both are called in turns, in one run",
            prediction=f"at least {least:g} times as long in every round",
        ),
    )


def scripts(tree: ast.Module, least: float) -> Iterator[str]:
    """Programs that measure one way against another, each of two ways being the slow one in turn."""
    plain = without_measuring(deepcopy(tree))
    for before, ways in (*_over_values(plain), *_side_by_side(plain)):
        for slow, quick in islice(permutations(ways, 2), 4):
            yield _script(before, slow, quick, least)


def _over_values(tree: ast.Module) -> Iterator[tuple[list[ast.stmt], list[list[ast.stmt]]]]:
    """A loop over a few written values: what stands before it, and its body with each value."""
    for position, node in enumerate(tree.body):
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple | ast.List) and 2 <= len(node.iter.elts) <= 4:
            ways = [
                [ast.Assign(targets=[deepcopy(node.target)], value=value), *deepcopy(node.body)]
                for value in node.iter.elts
            ]
            yield tree.body[:position], [_returning(way) for way in ways]


def _returning(body: list[ast.stmt]) -> list[ast.stmt]:
    """The body without what only a loop may hold."""
    return [node for node in body if not isinstance(node, ast.Continue | ast.Break | ast.Pass)]


def _side_by_side(tree: ast.Module) -> Iterator[tuple[list[ast.stmt], list[list[ast.stmt]]]]:
    """The last two calls of a program that do the same work: of the same function, or of two with one input."""
    calls = [position for position, node in enumerate(tree.body) if _call_of(node) is not None]
    if len(calls) >= 2:
        one, other = calls[-2:]
        before = [node for position, node in enumerate(tree.body[:other]) if position != one]
        yield before, [[deepcopy(tree.body[one])], [deepcopy(tree.body[other])]]


def _call_of(node: ast.stmt) -> ast.Call | None:
    value = node.value if isinstance(node, ast.Expr) else None
    shows = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in {"print", "input"}
    return value if isinstance(value, ast.Call) and not shows else None


def _script(before: Sequence[ast.stmt], slow: Sequence[ast.stmt], quick: Sequence[ast.stmt], least: float) -> str:
    imports = [node for node in before if isinstance(node, ast.Import | ast.ImportFrom)]
    others = [node for node in before if node not in imports]
    shared = "\n".join(_text(node) for node in others)
    parts = [shared, inline("ratio"), _function("act", slow), _function("control", quick)]
    script = "\n".join([*(part for part in parts if part), f"ratio(act, control, least={least:g})\n"])
    return add_imports(script, [_text(node) for node in imports])


def _function(name: str, body: Sequence[ast.stmt]) -> str:
    lines = "\n".join(_text(node) for node in body).splitlines()
    return "\n".join([f"\ndef {name}():", *(f"    {line}" for line in lines), ""])


def _text(node: ast.stmt) -> str:
    return ast.unparse(ast.fix_missing_locations(node))
