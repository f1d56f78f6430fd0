"""Identifiers of the subject that a report names, most telling first."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Iterator, Sequence

from rebug.intake.classify import parse_python
from rebug.intake.failures import frame_in
from rebug.intake.prose import Sentence, spans
from rebug.model import BlockKind, Failure, Report

MAX_SUSPECTS = 30

_IDENTIFIER = re.compile(r"^@?(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*){0,6})(?:\(.{0,200}\)?)?$")
_CALLED = re.compile(r"(?<![\w.`])(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*){0,6})\(\)")
_CAMEL = re.compile(r"(?<![\w.])[A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+(?!\w)")
_NOT_SUSPECTS = (
    frozenset(dir(builtins))
    | frozenset(keyword.kwlist)
    | frozenset({"self", "cls", "main", "test", "pip", "foo", "bar", "baz"})
)
_SPECIAL = frozenset({"<module>", "<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", ""})


def suspects_of(
    report: Report, sentences: Sequence[Sentence], modules: Sequence[str], failure: Failure | None
) -> tuple[str, ...]:
    """At most `MAX_SUSPECTS` identifiers: of the title, of the subject's frames from the innermost outwards, of code
    spans and dotted names in the prose, and of what the report's code imports from the subject."""
    found: dict[str, None] = {}
    title = [s for s in sentences[:1] if s.text == report.title]
    for name in (
        *(name for s in title for name in _named(s.text, modules)),
        *_of_frames(failure, modules),
        *_of_shown_code(failure, modules),
        *(name for s in sentences for name in _named(s.text, modules)),
        *_of_code(report, modules),
        *(name for other in report.failures for name in _of_frames(other, modules)),
    ):
        bare = name.rpartition(".")[2]
        if bare and bare not in _NOT_SUSPECTS and bare not in modules and len(name) > 1:
            found.setdefault(name, None)
    return tuple(found)[:MAX_SUSPECTS]


def _named(text: str, modules: Sequence[str]) -> Iterator[str]:
    """Identifiers in a sentence: code spans, calls, dotted names of the subject, names in camel case."""
    for span in spans(text):
        match = _IDENTIFIER.match(span)
        if match and not _is_file(match["name"]) and not match["name"].isupper():
            yield match["name"]
        elif "(" in span:
            yield from (m["name"] for m in re.finditer(r"(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*){0,6})\(", span[:400]))
    for found in _CALLED.finditer(text):
        yield found["name"]
    for module in modules:
        yield from re.findall(rf"(?<![\w./-]){re.escape(module)}(?:\.[A-Za-z_]\w*){{1,6}}(?![\w/])", text)
    for camel in _CAMEL.finditer(text):
        if not re.search(
            r"(?:GitHub|JavaScript|PyPI|MacOS|StackOverflow|ChatGPT|FreeBSD|WezTerm|OpenAI)|^.iB$", camel[0]
        ):
            yield camel[0]


def _is_file(name: str) -> bool:
    return bool(re.search(r"\.(?:py|toml|ini|cfg|ya?ml|json|md|rst|txt|html?|csv|log|env|com|org|io)$", name))


def _of_frames(failure: Failure | None, modules: Sequence[str]) -> Iterator[str]:
    current, depth = failure, 0
    while current is not None and depth < 20:
        for frame in reversed(current.frames):
            if frame_in(frame.file, modules):
                name = frame.function.rpartition("<locals>.")[2]
                if name and name not in _SPECIAL and "<" not in name:
                    yield name
        for member in current.members[:5]:
            yield from _of_frames(member, modules) if depth < 3 else ()
        current, depth = current.cause, depth + 1


def _of_shown_code(failure: Failure | None, modules: Sequence[str]) -> Iterator[str]:
    """Attributes used on the source lines of the innermost frames, for a failure outside the subject: what it was
    handed may come from there."""
    if failure is None or not failure.frames or frame_in(failure.frames[-1].file, modules):
        return
    for frame in reversed(failure.frames[-3:]):
        yield from re.findall(r"\.([A-Za-z_]\w*)", frame.code[:400])


def _of_code(report: Report, modules: Sequence[str]) -> Iterator[str]:
    """What the report's code imports from the subject and calls of it."""
    for block in report.blocks:
        if block.kind not in (BlockKind.PYTHON, BlockKind.REPL) or block.attachment:
            continue
        text = block.text
        if block.kind is BlockKind.REPL:
            text = "\n".join(
                re.sub(r"^\s*(?:>>> ?|In ?\[\d+\]: ?)", "", x)
                for x in text.split("\n")
                if re.match(r"\s*(?:>>>|In ?\[)", x)
            )
        tree = parse_python(text)
        if tree is not None:
            yield from _imported(tree, modules)
        else:
            for module in modules:
                yield from (
                    f"{m}" for m in re.findall(rf"\b{re.escape(module)}(?:\.[A-Za-z_]\w*){{1,6}}", text[:100_000])
                )


def _imported(tree: ast.Module, modules: Sequence[str]) -> Iterator[str]:
    aliases: dict[str, str] = {}
    objects: set[str] = set()
    foreign: set[str] = set()
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in modules:
            for alias in node.names:
                aliases[alias.asname or alias.name] = alias.name
                yield alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                foreign.add((alias.asname or alias.name).split(".")[0])
                if alias.name.split(".")[0] in modules:
                    aliases[alias.asname or alias.name.split(".")[0]] = (
                        alias.name if alias.asname else alias.name.split(".")[0]
                    )
    for node in nodes:
        if isinstance(node, ast.Attribute):
            path = _dotted(node)
            root = path.split(".")[0] if path else ""
            if root in aliases:
                yield aliases[root] + path[len(root) :]
                objects.add(path)
    for node in nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and _dotted(node.func) not in objects
            and aliases
        ):
            yield node.func.attr


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""
