"""Which candidates are the same, before anything is run. Pure."""

from __future__ import annotations

import ast
import hashlib

from rebug.model import Candidate


def fingerprint(candidate: Candidate) -> str:
    """Equal for candidates that would run the same: normalised syntax tree (comments, layout and docstrings dropped),
    environment variation, role and what its assertion rests on. A script that does not parse is its own text."""
    try:
        tree = ast.parse(candidate.script)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        code = candidate.script
    else:
        _drop_docstrings(tree)
        code = ast.dump(tree)
    key = "\x00".join(
        [
            code,
            repr(candidate.variation),
            repr(sorted(candidate.requirements)),
            candidate.role.value,
            candidate.basis.value,
        ]
    )
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()


def _drop_docstrings(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(node.body) > 1:
                node.body.pop(0)
