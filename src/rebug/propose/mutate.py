"""Small changes of an earlier program: its literals, arguments, statements. The rest of its text stays as it was."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rebug.model import Basis, Candidate, Hypothesis, Role, Trial
from rebug.ports import Situation
from rebug.propose.code import fingerprint, parse, statement_lines
from rebug.propose.literals import Literals
from rebug.propose.templates import filled, template_of
from rebug.propose.workshop import Workshop

_PER_PARENT = 6
_TRIES = 24
_BOUNDARY = {
    "text": ("''", "' '", "'é'", "'\\n'", "'a' * 10000", "'0'", "None"),
    "number": ("0", "-1", "1", "2**31", "2**63", "1e308", "float('nan')", "None"),
    "other": ("None", "[]", "{}", "()"),
}
_HEAD = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
Change = tuple[str, str]
"""(the changed program, what was changed and why); the program is "" when the change was not possible."""


class Mutate:
    """Variants of the parents, a few of each, drawn with the situation's random state."""

    name = "mutate"
    reactive = False

    def propose(self, situation: Situation) -> Iterable[Candidate]:
        if situation.round < 2:
            return
        workshop = Workshop(situation)
        seen = {fingerprint(t.candidate.script) for t in situation.trials}
        for parent in (p for p in situation.parents if changeable(p.candidate)):
            given = 0
            for _ in range(_TRIES):
                script, words = mutated(parent.candidate.script, workshop, situation.rng)
                if script and fingerprint(script) not in seen and given < _PER_PARENT:
                    seen.add(fingerprint(script))
                    given += 1
                    yield child(parent, script, words, self.name)


def changeable(candidate: Candidate) -> bool:
    """Whether blind changes may lead somewhere: of a script that measures they would only spoil what is measured."""
    return candidate.role is Role.ATTEMPT and candidate.basis is not Basis.MEASURED


def child(parent: Trial, script: str, words: str, proposer: str, also: Sequence[str] = ()) -> Candidate:
    """A candidate made of a trial's, which keeps its environment; an asserted value is no longer the report's."""
    base = parent.candidate
    return replace(
        base,
        id="",
        round=0,
        script=script,
        proposer=proposer,
        parents=tuple(filter(None, (base.id, *also))),
        basis=base.basis if base.basis in {Basis.NONE, Basis.REPORT} else Basis.NONE,
        hypothesis=Hypothesis(claim=f"It shows when {words}.", conditions=words, prediction=base.hypothesis.prediction),
    )


def mutated(script: str, workshop: Workshop, rng: random.Random) -> Change:
    """One change of a program, drawn at random."""
    tree = parse(script)
    if tree is None or not tree.body:
        return "", ""
    draw = rng.random()
    if draw < 0.5:
        return change_literal(script, workshop.known, rng)
    if draw < 0.7:
        return change_arguments(script, tree, workshop, rng)
    return change_statements(script, tree, rng)


def change_literal(script: str, known: Literals, rng: random.Random) -> Change:
    template = template_of(script)
    if template is None:
        return "", ""
    position = rng.randrange(len(template.values))
    old = template.values[position]
    choices = _replacements(old, known)
    new = rng.choice(choices)
    changed = filled(template.text, [*template.values[:position], new, *template.values[position + 1 :]])
    return changed, f"{old[:60]} is {new[:60]} instead"


def _replacements(old: str, known: Literals) -> list[str]:
    """Literals to put in the place of one: the report's of its type, then boundary values."""
    if re.fullmatch(r"-?\d[\d_.e+]*", old):
        return [*known.numbers[:6], *_BOUNDARY["number"]]
    if re.match(r"[rbRB]{0,2}[\"']", old):
        texts = [repr(text) for text in (*known.data[:2], *known.quoted[:4], *known.spans[:4])]
        prefix = "b" if old[:1] in "bB" else ""
        return (
            [*texts, *_BOUNDARY["text"]]
            if not prefix
            else [f"b{t}" for t in texts if t.isascii()] + ["b''", "b'\\xff'"]
        )
    return list(_BOUNDARY["other"])


def change_arguments(script: str, tree: ast.Module, workshop: Workshop, rng: random.Random) -> Change:
    """An argument of a call of the subject left out, or a keyword of its signature added."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and workshop.situation.index.find(_name(n.func))]
    if not calls:
        return "", ""
    call = rng.choice(calls)
    name = _name(call.func)
    if (call.args or call.keywords) and rng.random() < 0.4:
        kept = ast.Call(func=call.func, args=list(call.args), keywords=list(call.keywords))
        (kept.keywords or kept.args).pop()
        return _replaced(script, call, ast.unparse(kept)), f"{name} is called with one argument fewer"
    symbol = workshop.situation.index.find(name)[0]
    parameters = workshop.constructor(symbol) if symbol.kind == "class" else symbol.parameters
    given = {k.arg for k in call.keywords}
    free = [p for p in parameters[len(call.args) :] if p.default is not None and p.name not in given]
    if not free:
        return "", ""
    parameter = rng.choice(free)
    made = [
        m for m in workshop.choices(parameter) if not m.setup and not m.imports and m.expression != parameter.default
    ]
    if not made:
        return "", ""
    value = rng.choice(made[:4]).expression
    added = ast.keyword(arg=parameter.name, value=ast.parse(value, mode="eval").body)
    changed = ast.Call(func=call.func, args=call.args, keywords=[*call.keywords, added])
    return _replaced(script, call, ast.unparse(changed)), f"{name} is called with {parameter.name}={value}"


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _replaced(script: str, node: ast.expr, text: str) -> str:
    """The script with a node's text replaced; "" when it no longer parses."""
    old = ast.get_source_segment(script, node)
    lines = script.split("\n")
    if old is None or node.end_lineno is None or node.end_col_offset is None:
        return ""
    first, last = lines[node.lineno - 1].encode(), lines[node.end_lineno - 1].encode()
    middle = first[: node.col_offset].decode() + text + last[node.end_col_offset :].decode()
    changed = "\n".join([*lines[: node.lineno - 1], middle, *lines[node.end_lineno :]])
    return changed if parse(changed) is not None else ""


def change_statements(script: str, tree: ast.Module, rng: random.Random) -> Change:
    """A top-level statement done twice, left out, swapped with the next, or repeated in a loop or in threads."""
    acting = [n for n in tree.body if not isinstance(n, _HEAD)]
    if not acting:
        return "", ""
    at = rng.randrange(len(acting))
    node = acting[at]
    first, last = statement_lines(node)
    lines = script.splitlines()
    text = lines[first - 1 : last]
    shown = text[0].strip()[:60]
    before, after = lines[: first - 1], lines[last:]
    indented = [f"    {line}" for line in text]
    kind = rng.randrange(5)
    if kind == 0:
        return _whole([*before, *text, *text, *after]), f"`{shown}` is done twice"
    if kind == 1 and len(acting) > 1:
        return _whole([*before, *after]), f"`{shown}` is left out"
    if kind == 2 and at + 1 < len(acting):
        other = statement_lines(acting[at + 1])
        second = lines[other[0] - 1 : other[1]]
        between = lines[last : other[0] - 1]
        return _whole([*before, *second, *between, *text, *lines[other[1] :]]), f"`{shown}` is done later"
    if kind == 3:
        return _whole([*before, "for _ in range(100):", *indented, *after]), f"`{shown}` is done a hundred times"
    threads = ["def work():", *indented, "threads = [threading.Thread(target=work) for _ in range(8)]"]
    threads += ["for thread in threads:", "    thread.start()", "for thread in threads:", "    thread.join()"]
    return _whole([*before, "import threading", *threads, *after]), f"`{shown}` is done by eight threads"


def _whole(lines: Sequence[str]) -> str:
    text = "\n".join(lines) + "\n"
    return text if parse(text) is not None else ""
