"""What a model's script lacks to be a candidate: the same repairs as a report's snippet gets, and one of its own.
Pure."""

from __future__ import annotations

import ast

from rebug.instruments import inline
from rebug.model import Basis, Candidate, Hypothesis, SymptomKind, Variation
from rebug.ports import Situation
from rebug.propose.code import bound_names, parse, statement_lines
from rebug.propose.complete import Surroundings, complete, requirements_of
from rebug.propose.files import files_for, with_files
from rebug.propose.written.reply import Written
from rebug.propose.written.task import Task

_CATCH_ALL = {"Exception", "BaseException"}


def mended(written: Written, task: Task, situation: Situation) -> Candidate:
    """The candidate made of one hypothesis of a reply."""
    blocks = situation.report.blocks
    around = Surroundings(index=situation.index, environment=situation.environment, blocks=blocks)
    script = without_idle_imports(written.script, around)
    failure = situation.symptom.failure
    if situation.symptom.kind in {SymptomKind.EXCEPTION, SymptomKind.RACE} and failure is not None and failure.type:
        script = uncaught(script, failure.name)
    instrument = called_instrument(script)
    if instrument:
        script = f"{inline(instrument)}\n\n{script}"
    done = complete(script, around)
    script = with_files(done.script, files_for(done.script, blocks))
    return Candidate(
        script=script,
        hypothesis=Hypothesis(claim=written.claim, conditions=written.conditions, prediction=written.prediction),
        proposer=f"model:{task.writer}",
        basis=Basis.MEASURED if instrument else Basis.MODEL if _asserts(script) else Basis.NONE,
        parents=task.parents,
        requirements=done.requirements,
        variation=Variation(variables=written.variables),
    )


_INSTRUMENTS = {
    "growth": "growth",
    "hang": "watchdog",
    "leak": "leak",
    "leak_async": "leak",
    "stall": "stall",
    "stall_async": "stall",
}
"""What a script may call without defining it, and the instrument that it belongs to."""


def called_instrument(script: str) -> str:
    """The instrument that a script counts on being there, "" when it calls none, or means something of its own."""
    tree = parse(script)
    if tree is None:
        return ""
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    wanted = {_INSTRUMENTS[name] for name in called & _INSTRUMENTS.keys()}
    return "" if called & _INSTRUMENTS.keys() & bound_names(tree.body) else min(wanted, default="")


def without_idle_imports(script: str, around: Surroundings) -> str:
    """The script without imports of packages that are not there and that it never uses: models invent some."""
    tree = parse(script)
    if tree is None or not requirements_of(script, around):
        return script
    used = {leaf.id for leaf in ast.walk(tree) if isinstance(leaf, ast.Name)}
    lines = script.splitlines()
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound = {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            if not bound & used and requirements_of(ast.unparse(node), around):
                first, last = statement_lines(node)
                lines[first - 1 : last] = [""] * (last - first + 1)
    return "\n".join(lines).strip("\n") + "\n"


def _asserts(script: str) -> bool:
    try:
        tree = ast.parse(script)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(isinstance(node, ast.Assert) for node in ast.walk(tree))


def uncaught(script: str, reported: str) -> str:
    """The script without `try` statements that catch the exception it is to show: models like to report it by `print`
    and an exit status, which leaves no stack to judge by."""
    try:
        tree = ast.parse(script)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return script
    unwrapper = _Unwrapper(reported)
    changed = unwrapper.visit(tree)
    return ast.unparse(ast.fix_missing_locations(changed)) + "\n" if unwrapper.changed else script


class _Unwrapper(ast.NodeTransformer):
    def __init__(self, reported: str) -> None:
        self.changed = False
        self._reported = reported

    def visit_Try(self, node: ast.Try) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        caught = [name for handler in node.handlers for name in _names(handler)]
        if self._reported not in caught and not _CATCH_ALL & set(caught):
            return node
        self.changed = True
        node.handlers = []
        if node.finalbody:
            node.body += node.orelse
            node.orelse = []
            return node
        return [*node.body, *node.orelse]


def _names(handler: ast.ExceptHandler) -> list[str]:
    if handler.type is None:
        return ["BaseException"]
    parts = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return [ast.unparse(part).rpartition(".")[2] for part in parts]
