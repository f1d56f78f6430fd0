"""Two earlier programs made into one: the set-up of the first with the acting part of the second."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from rebug.model import Candidate
from rebug.ports import Situation
from rebug.propose.code import fingerprint, parse, statement_lines, undefined_names
from rebug.propose.mutate import changeable, child

_MOST = 6
_HEAD = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Crossover:
    """Every ordered pair of parents, joined where the names allow it."""

    name = "crossover"
    reactive = False

    def propose(self, situation: Situation) -> Iterable[Candidate]:
        parents = [p for p in situation.parents if changeable(p.candidate)]
        seen = {fingerprint(t.candidate.script) for t in situation.trials}
        given = 0
        for one in parents if situation.round > 1 else ():
            for other in parents:
                script = joined(one.candidate.script, other.candidate.script) if one is not other else ""
                if script and fingerprint(script) not in seen and given < _MOST:
                    seen.add(fingerprint(script))
                    given += 1
                    words = "the situation of the one program meets the call of the other"
                    yield child(one, script, words, self.name, also=(other.candidate.id,))


def joined(one: str, other: str) -> str:
    """All of `one` but its last acting statement, then the imports, definitions and last statements of `other` that
    can run there: names that only `other` sets up are set up too. "" when the two do not fit together."""
    trees = parse(one), parse(other)
    if trees[0] is None or trees[1] is None:
        return ""
    first, second = _parts(one, trees[0]), _parts(other, trees[1])
    if len(first[1]) < 1 or not second[1]:
        return ""
    body = [*second[1][-1:]]
    setup = first[1][:-1] or first[1]
    for statement in reversed(second[1][:-1]):
        text = "\n".join([*first[0], *second[0], *setup, *body])
        tree = parse(text)
        if tree is not None and not undefined_names(tree):
            break
        body.insert(0, statement)
    text = "\n".join([*dict.fromkeys([*first[0], *second[0]]), *setup, *body]) + "\n"
    tree = parse(text)
    return text if tree is not None and not undefined_names(tree) else ""


def _parts(script: str, tree: ast.Module) -> tuple[list[str], list[str]]:
    """(imports and definitions, acting statements) of a program, each statement's text."""
    lines = script.splitlines()
    head: list[str] = []
    acting: list[str] = []
    for node in tree.body:
        first, last = statement_lines(node)
        text = "\n".join(lines[first - 1 : last])
        (head if isinstance(node, _HEAD) else acting).append(text)
    future = [text for text in head if text.startswith("from __future__")]
    return [*future, *(text for text in head if text not in future)], acting
