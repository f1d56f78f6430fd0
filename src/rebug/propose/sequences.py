"""Programs that bring an object into many states: calls seen in tests and documentation, in an order left to a search.

The order is data like any other (`for step in [0, 2]:`), so the search for inputs varies it together with the
arguments; `unrolled` turns what it found into plain statements.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from rebug.ports import Symbol
from rebug.propose.code import import_line_for_symbol, parse
from rebug.propose.templates import literal
from rebug.propose.workshop import Workshop

MARK = "for step in "
_STEPS = 8
_STATEMENT = re.compile(r"^\s*(?:>>>\s?)?([a-z_]\w{0,40})\.([a-z]\w{0,60})((?:\(|\s=\s)[^\n]{0,400})$", re.MULTILINE)
_CHANGES = re.compile(
    r"add|set|append|insert|update|remove|del|pop|clear|register|push|put|open|write|feed|load|sort|extend|config|enable"
    r"|start|close|reset|bind|use|attach|include|parse"
)


def sequence_programs(workshop: Workshop, owner: Symbol, use: str) -> Iterator[str]:
    """A program that makes an object of the class, changes it in steps and ends with `use` (a statement on `it`)."""
    steps = mined(workshop, owner)
    line = import_line_for_symbol(owner)
    if not steps or not line or not use:
        return
    for made in sorted(islice(workshop.instances(owner), 4), key=lambda m: len(m.expression))[:2]:
        chain = [f"    {'if' if n == 0 else 'elif'} step == {n}:\n        {text}" for n, text in enumerate(steps)]
        order = list(range(min(2, len(steps))))
        body = [f"it = {made.expression}", f"{MARK}{order}:", *"\n".join(chain).splitlines(), use]
        if program := workshop.program(body, [made]):
            yield program


def mined(workshop: Workshop, owner: Symbol) -> list[str]:
    """Statements on `it` that call a method or set an attribute of the class with literals, the commonest first."""
    names = members(workshop, owner)
    count: Counter[str] = Counter()
    shortest: dict[str, str] = {}
    for text in _texts(workshop, owner):
        for found in _STATEMENT.finditer(text):
            statement = f"it.{found[2]}{found[3].rstrip()}"
            if found[2] not in names or not _plain(statement):
                continue
            kind = found[2] + found[3].lstrip()[:1]
            count[kind] += 1 + 3 * bool(_CHANGES.search(found[2]))
            shortest[kind] = min(shortest.get(kind, statement), statement, key=lambda s: (s.endswith("()"), len(s)))
    return [shortest[kind] for kind, _ in count.most_common(_STEPS)]


def members(workshop: Workshop, owner: Symbol) -> set[str]:
    """Public methods and properties of a class and of the bases that the subject defines."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting = [owner]
    while waiting and len(seen) < 12:
        current = waiting.pop()
        if current.qualname not in seen:
            seen.add(current.qualname)
            inside = f"{current.qualname}."
            own = [
                s
                for s in workshop.situation.index.symbols
                if s.module == current.module and s.qualname.startswith(inside)
            ]
            found |= {s.name for s in own if not s.name.startswith("_")}
            waiting += [s for base in current.bases for s in workshop.classes().get(base.rpartition(".")[2], [])[:1]]
    return found


def _texts(workshop: Workshop, owner: Symbol) -> Iterator[str]:
    index = workshop.situation.index
    for test in index.tests[:3000]:
        text = f"{test.preamble[:8000]}\n{test.source}"
        if owner.name in text:
            yield text
    near = index.retrieve(f"{owner.name} {workshop.query()}", 60)
    yield from (passage.text for passage in near if passage.file.endswith((".md", ".rst", ".txt")))
    yield owner.doc


def _plain(statement: str) -> bool:
    """Whether a statement is one call with literals only, or one assignment of a literal."""
    tree = parse(statement)
    if tree is None or len(tree.body) != 1:
        return False
    match tree.body[0]:
        case ast.Expr(value=ast.Call(args=arguments, keywords=keywords)):
            return all(literal(a) for a in arguments) and all(k.arg and literal(k.value) for k in keywords)
        case ast.Assign(value=value):
            return literal(value)
    return False


def unrolled(script: str) -> str:
    """The program with its loop over steps written out; other programs as they are."""
    tree = parse(script)
    loop = (
        next((n for n in tree.body if isinstance(n, ast.For) and ast.unparse(n.target) == "step"), None)
        if tree
        else None
    )
    if loop is None or not literal(loop.iter) or not isinstance(loop.body[0], ast.If):
        return script
    branches = dict(_branches(loop.body[0]))
    order = ast.literal_eval(loop.iter)
    lines = script.splitlines()
    plain = [branches[n] for n in order if n in branches] if isinstance(order, Iterable) else []
    whole = [*lines[: loop.lineno - 1], *plain, *lines[loop.end_lineno or loop.lineno :]]
    return "\n".join(whole) + "\n"


def _branches(node: ast.If) -> Iterator[tuple[object, str]]:
    current: ast.stmt | None = node
    while isinstance(current, ast.If):
        if isinstance(current.test, ast.Compare) and isinstance(current.test.comparators[0], ast.Constant):
            yield current.test.comparators[0].value, "\n".join(ast.unparse(inner) for inner in current.body)
        current = current.orelse[0] if current.orelse else None
