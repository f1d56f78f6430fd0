"""Which lines of the subject say a message: logging calls, prints, warnings and raises, matched by their fixed words.

A message of a log is the only trace that some failures leave. The statement that gives it is found by reading the
source: the literal parts of its format string stand in the message, in order.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rebug.intake.logs import parse_line
from rebug.model import Report, Symptom, SymptomKind
from rebug.ports import Index

LEAST_WORDS = 2
"""Words of at least two letters in a site's fixed parts: fewer fit too many messages."""
MAX_FILES = 3000
MAX_FILE = 600_000  # characters of a file that is parsed

_CALLS = {
    "debug": "DEBUG", "info": "INFO", "warning": "WARNING", "warn": "WARNING", "error": "ERROR", "critical": "CRITICAL",
    "fatal": "CRITICAL", "exception": "ERROR", "log": "", "print": "", "write": "", "echo": "", "secho": "",
    "success": "INFO", "trace": "DEBUG", "msg": "", "notice": "INFO",
}  # fmt: skip
_PERCENT = re.compile(r"%(?:\(\w{1,60}\))?[#0\- +]{0,5}(?:\d{1,5}|\*)?(?:\.(?:\d{1,5}|\*))?[hlL]?[diouxXeEfFgGcrsa]")
_BRACES = re.compile(r"\{[^{}]{0,200}\}")
_WORD = re.compile(r"[A-Za-z]{2,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSite:
    """A statement that gives a message: `parts` are the words that are always there, in order."""

    file: str
    line: int
    function: str  # qualified name within its module, "" at the module's level
    kind: str  # log | print | warning | raise
    level: str
    parts: tuple[str, ...]
    pattern: str = ""  # regular expression of the first line, a group for each of `named`
    named: tuple[str, ...] = ()  # source text of the expressions whose values the message holds, "" for an unknown one

    @property
    def weight(self) -> int:
        """Letters that are fixed: the more of them, the surer the match."""
        return sum(len(part) for part in self.parts)


def sites_of(index: Index, message: str, limit: int = 5) -> tuple[LogSite, ...]:
    """The statements of the subject that may have given `message`, surest first. Files without any of its longer words
    are not parsed. Pure but for the index's reading of files."""
    words = sorted(set(re.findall(r"[A-Za-z_]{4,}", message[:2000])), key=len, reverse=True)[:12]
    found: list[LogSite] = []
    for file in _files(index):
        text = index.text(file)
        if words and len(text) <= MAX_FILE and sum(word in text for word in words) * 2 >= min(len(words), 4):
            found += [site for site in sites_in(file, text) if said_by(site, message)]
    return tuple(sorted(found, key=lambda site: (-site.weight, site.file, site.line))[:limit])


def _files(index: Index) -> list[str]:
    every = dict.fromkeys(symbol.file for symbol in index.symbols)
    return [
        file for file in every if not re.search(r"(?:^|/)(?:tests?|testing|conftest\.py)(?:/|$)|(?:^|/)test_", file)
    ][:MAX_FILES]


def said_by(site: LogSite, message: str) -> bool:
    """Whether the site's parts stand in the message in order, the first and last where the format has them."""
    at = 0
    first = message.split("\n", 1)[0] if all("\n" not in part for part in site.parts) else message
    for part in site.parts:
        at = first.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def values_of(site: LogSite, message: str) -> Mapping[str, str]:
    """What the message has in the place of each expression of the format, by the expression's source text."""
    found = re.fullmatch(site.pattern, message.split("\n", 1)[0][:2000]) if site.pattern else None
    groups = found.groups() if found else ()
    return {name: value for name, value in zip(site.named, groups, strict=False) if name}


def sites_in(file: str, text: str) -> Iterator[LogSite]:
    """Every statement of one file that gives a message with at least `LEAST_WORDS` fixed words."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    stack: list[tuple[ast.AST, str]] = [(tree, "")]
    while stack:
        node, scope = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            scope = f"{scope}.{node.name}".lstrip(".")
        yield from _site(node, file, scope, constants)
        stack.extend((child, scope) for child in ast.iter_child_nodes(node))


def _site(node: ast.AST, file: str, scope: str, constants: Mapping[str, ast.expr]) -> Iterator[LogSite]:
    kind, level, said = _said(node)
    for expression, arguments in said:
        if isinstance(expression, ast.Name) and expression.id in constants:
            expression = constants[expression.id]  # noqa: PLW2901 - the constant stands for its name
        pieces, named = _pieces(expression, arguments)
        parts = tuple(piece for piece in pieces if piece.strip())
        if len(_WORD.findall(" ".join(parts))) >= LEAST_WORDS:
            yield LogSite(
                file=file,
                line=getattr(node, "lineno", 0),
                function=scope,
                kind=kind,
                level=level,
                parts=parts,
                pattern="(.{0,1000}?)".join(re.escape(piece) for piece in pieces) if len(pieces) <= 8 else "",
                named=tuple(named),
            )


def _said(node: ast.AST) -> tuple[str, str, list[tuple[ast.expr, Sequence[ast.expr]]]]:
    """Kind, level and the expressions (with the arguments of their format) that a node may give as a message."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
        return "raise", "", [(argument, ()) for argument in node.exc.args[:2]]
    if not isinstance(node, ast.Call) or not node.args:
        return "", "", []
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    owner = ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""
    if name == "warn" and (owner in {"warnings", ""}):
        return "warning", "", [(node.args[0], ())]
    if name not in _CALLS:
        return "", "", []
    start = 1 if name == "log" and len(node.args) > 1 else 0
    kind = "print" if name in {"print", "write", "echo", "secho"} else "log"
    return kind, _CALLS[name], [(node.args[start], node.args[start + 1 :])]


def _pieces(expression: ast.expr, arguments: Sequence[ast.expr]) -> tuple[list[str], list[str]]:
    """The fixed pieces of a message, some of them empty, and the source text of what comes between them."""
    named = [ast.unparse(argument)[:120] for argument in arguments]
    match expression:
        case ast.Constant(value=str() as text):
            if "%(" in text or not (arguments or _PERCENT.search(text)):
                return ([piece.replace("%%", "%") for piece in _PERCENT.split(text)] if arguments else [text]), []
            return [piece.replace("%%", "%") for piece in _PERCENT.split(text)], named
        case ast.JoinedStr(values=values):
            pieces, named = [""], []
            for value in values:
                if isinstance(value, ast.Constant):
                    pieces[-1] += str(value.value)
                elif isinstance(value, ast.FormattedValue):
                    named.append(ast.unparse(value.value)[:120])
                    pieces.append("")
            return pieces, named
        case ast.BinOp(left=left, op=ast.Mod(), right=right):
            return _pieces(left, right.elts if isinstance(right, ast.Tuple) else [right])
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            (before, first), (after, second) = _pieces(left, ()), _pieces(right, ())
            return [*before[:-1], before[-1] + after[0], *after[1:]], [*first, *second]
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str() as text), attr="format"), args=given):
            return _BRACES.split(text), [ast.unparse(argument)[:120] for argument in given]
        case ast.Call(args=[inner, *_]):  # gettext and the like
            return _pieces(inner, arguments)
    return ["", ""], [""]


def with_sites(symptom: Symptom, report: Report, index: Index) -> Symptom:
    """The symptom with the functions that give its messages (else the log's last errors) among its suspects: first
    where the symptom is a message, last where the report shows a stack or names other things."""
    told = [value.text for value in (*symptom.messages, *symptom.missing_messages)]
    logged = symptom.kind in {SymptomKind.LOG, SymptomKind.WARNING}
    if not told and not (symptom.failure and symptom.failure.frames) and report.log_digest is not None:
        errors = [moment for moment in report.log_digest.moments if moment.why == "error"]
        told = [record.message for moment in errors[-3:] if (record := parse_line(moment.text)) is not None]
    sites = [site for message in told[:4] for site in sites_of(index, message, 2)]
    names = functions_named(sites)
    if not names:
        return symptom
    suspects = (*names, *symptom.suspects) if logged else (*symptom.suspects, *names)
    return replace(symptom, suspects=tuple(dict.fromkeys(suspects)))


def functions_named(sites: Sequence[LogSite]) -> tuple[str, ...]:
    """Qualified names of the functions that hold the sites, without repetition."""
    return tuple(dict.fromkeys(site.function for site in sites if site.function))
