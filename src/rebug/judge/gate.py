"""The right-reason gate: a script that fails for another reason than the reported one is no reproduction.

Everything here is decided from the script's text and the observation, before and whatever a model says.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from rebug.judge.traces import chain, subject_frames
from rebug.model import Ended, Failure, Frame, Observation, Symptom
from rebug.ports import Index

SCRIPT = "repro.py"
"""The file name under which a candidate runs."""

_MISSING = {"ModuleNotFoundError", "ImportError"}
_SURROUNDINGS = {
    "ConnectionRefusedError",
    "ConnectionError",
    "ConnectError",
    "ClientConnectorError",
    "ClientConnectorDNSError",
    "NewConnectionError",
    "MaxRetryError",
    "gaierror",
    "URLError",
    "PermissionError",
    "NoBackendError",
}
_OWN_MISTAKES = {"NameError", "UnboundLocalError", "SyntaxError", "IndentationError", "TabError"}
_PATCHERS = {"patch", "setattr", "patch.object", "mock.patch", "mock.patch.object", "monkeypatch.setattr"}


def parse(script: str) -> ast.Module | None:
    """The script's syntax tree, None when it does not parse."""
    try:
        return ast.parse(script)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def in_script(frame: Frame) -> bool:
    return frame.file.rpartition("/")[2] in {SCRIPT, "<string>", "__main__.py"}


def surroundings(observation: Observation, symptom: Symptom) -> str:
    """Why a run died of what surrounds the candidate rather than of the subject; "" when it did not.

    An error of the reported type is never explained away here.
    """
    if observation.ended is Ended.REFUSED:
        return observation.limit or "it never ran"
    if observation.exit == 125:
        return "the script says it cannot tell (exit 125)"
    if not observation.failures:
        return ""
    failure = observation.failures[0]
    if symptom.failure is not None and any(link.name == symptom.failure.name for link in chain(failure)):
        return ""
    if failure.where not in {"raised", "child"}:
        return ""
    return _explain(failure)


def _explain(failure: Failure) -> str:
    shown = f"{failure.name}: {failure.message}".split("\n", 1)[0][:160]
    if failure.name in _MISSING:
        return f"missing dependency: {shown}"
    if failure.name in _SURROUNDINGS:
        return f"the surroundings refused it: {shown}"
    if failure.name == "OSError" and "in use" in failure.message:
        return f"a port was taken: {shown}"
    own = not failure.frames or in_script(failure.frames[-1])
    if failure.name in _OWN_MISTAKES and own:
        return f"the script's own mistake: {shown}"
    if failure.name == "FileNotFoundError" and own:
        return f"a file it needs does not exist: {shown}"
    return ""


def forbidden(tree: ast.Module, index: Index) -> str:
    """Why a script may not count at all: it patches a function of the subject. "" when it may."""
    for node in ast.walk(tree):
        name = _patched(node, index.modules)
        if name and any(symbol.kind in {"function", "method"} for symbol in index.find(name)):
            return f"it replaces `{name}` of the software under test"
    return ""


def _patched(node: ast.AST, modules: Sequence[str]) -> str:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Attribute) and _root(target) in modules:
                return target.attr
    if isinstance(node, ast.Call) and ast.unparse(node.func) in _PATCHERS and node.args:
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            return first.value.rpartition(".")[2] if first.value.partition(".")[0] in modules else ""
        second = node.args[1] if len(node.args) > 1 else None
        if isinstance(second, ast.Constant) and isinstance(second.value, str) and _root(first) in modules:
            return second.value
    return ""


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def raised_by_script(failure: Failure, tree: ast.Module, modules: Sequence[str]) -> bool:
    """Whether the failure comes from a `raise` of the script's own, without the subject having been on the way."""
    if not failure.frames or not in_script(failure.frames[-1]) or subject_frames(failure, modules):
        return False
    line = failure.frames[-1].line
    return any(
        isinstance(node, ast.Raise) and node.lineno <= (line or 0) <= (node.end_lineno or node.lineno)
        for node in ast.walk(tree)
    )


def asserted_by_script(failure: Failure) -> bool:
    """Whether the failure is an assertion that the script itself makes."""
    return failure.name == "AssertionError" and (not failure.frames or in_script(failure.frames[-1]))


def touches_subject(failure: Failure, tree: ast.Module, modules: Sequence[str]) -> bool:
    """Whether the subject had a hand in the failure: one of its frames is on the stack, or (compiled code leaves no
    frame, and a call that does not bind fails in its caller) the script's failing line uses a name that came from it.
    """
    if subject_frames(failure, modules):
        return True
    frames = [frame for frame in failure.frames if in_script(frame)]
    if not frames or not in_script(failure.frames[-1]):
        return False
    line = frames[-1].line or 0
    names = names_of_subject(tree, modules)
    statement = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt)
        and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return any(isinstance(leaf, ast.Name) and leaf.id in names for node in statement for leaf in ast.walk(node))


def uses_subject(tree: ast.Module, modules: Sequence[str]) -> bool:
    """Whether the script imports the subject, or names it in a string, as a command or an import by name does."""
    if names_of_subject(tree, modules):
        return True
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    words = {word for text in texts for word in re.findall(r"[A-Za-z_]\w*", text)}
    return bool(words & set(modules))


def names_of_subject(tree: ast.Module, modules: Sequence[str]) -> set[str]:
    """Names bound to imports of the subject, and, transitively, to what is assigned from expressions that use them."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {(a.asname or a.name).partition(".")[0] for a in node.names if a.name.partition(".")[0] in modules}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in modules:
            names |= {a.asname or a.name for a in node.names}
    for _ in range(8):
        before = len(names)
        for node in ast.walk(tree):
            names |= _bound_by(node, names)
        if len(names) == before:
            break
    return names


def _bound_by(node: ast.AST, names: set[str]) -> set[str]:
    if isinstance(node, ast.ClassDef):
        uses = any(isinstance(leaf, ast.Name) and leaf.id in names for leaf in ast.walk(node))
        return {node.name} if uses else set()
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        uses = any(isinstance(leaf, ast.Name) and leaf.id in names for leaf in ast.walk(node))
        return {node.name} if uses else set()
    source: ast.AST | None = None
    targets: list[ast.AST] = []
    if isinstance(node, ast.Assign):
        source, targets = node.value, list(node.targets)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
        source, targets = node.value, [node.target]
    elif isinstance(node, ast.For | ast.AsyncFor):
        source, targets = node.iter, [node.target]
    elif isinstance(node, ast.withitem):
        source, targets = node.context_expr, [node.optional_vars] if node.optional_vars else []
    if source is None or not any(isinstance(leaf, ast.Name) and leaf.id in names for leaf in ast.walk(source)):
        return set()
    return {leaf.id for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)}
