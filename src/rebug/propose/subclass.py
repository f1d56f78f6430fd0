"""The reporter's own class, rebuilt: the traceback shows its name, the failing code is one it inherits."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rebug.model import Candidate, Failure, Hypothesis
from rebug.ports import Index, Parameter, Situation, Symbol
from rebug.propose.code import import_line_for_symbol, parse
from rebug.propose.entry_points import owner_class, stated_requirements
from rebug.propose.frames import chain, entries, free_of_self, places, statement
from rebug.propose.known import MEMBERS
from rebug.propose.synthesis import Made, required
from rebug.propose.workshop import Workshop

_MOST = 16
_BASES = 3
_IN_MESSAGE = (
    re.compile(r"\b([A-Z]\w{1,80})\.\w{1,80}\(\)"),
    re.compile(r"['\"]([A-Z]\w{1,80})['\"] object"),
    re.compile(r"type object ['\"]([A-Z]\w{1,80})['\"]"),
    re.compile(r"class ['\"]?([A-Z]\w{1,80})['\"]?"),
)


@dataclass(frozen=True, slots=True)
class _Use:
    """How the reporter's class is made and used."""

    name: str
    call: ast.Call | None  # the call shown, None when only the name is known
    line: str  # the statement shown, "" when there is none


class CallerSubclass:
    """Minimal subclasses of the subject's classes under the name that the report shows, used as it shows them."""

    name = "caller-subclass"
    reactive = False

    def propose(self, situation: Situation) -> Iterable[Candidate]:
        if situation.round > 1:
            return
        workshop = Workshop(situation)
        seen: set[str] = set()
        for use, method in _uses(situation):
            for base in _bases(workshop, method)[:_BASES]:
                for body, words in _variants(workshop, use, base):
                    script = _script(workshop, use, base, body)
                    if script and script not in seen and len(seen) < _MOST:
                        seen.add(script)
                        yield _candidate(situation, script, use, base, words)


def _candidate(situation: Situation, script: str, use: _Use, base: Symbol, words: str) -> Candidate:
    failure = situation.symptom.failure
    return Candidate(
        script=script,
        proposer=CallerSubclass.name,
        hypothesis=Hypothesis(
            claim=f"{use.name} is the reporter's subclass of {base.exported_as or base.qualname}, {words}.",
            conditions=f"a subclass {words}",
            prediction=f"making or using it ends with {failure.type if failure else 'the reported failure'}",
        ),
        requirements=stated_requirements(situation),
    )


def _uses(situation: Situation) -> Iterator[tuple[_Use, Symbol]]:
    """(use, first method of the subject) for every class in the stack or message that the subject does not have."""
    for failure in chain(situation.symptom):
        for caller, entry in entries(places(failure, situation.index)):
            if entry.symbol is None:
                continue
            line = free_of_self(statement(caller.frame.code)) if caller else ""
            names = dict.fromkeys([*_called(line), *_mentioned(failure)])
            for name in names:
                if _foreign(name, situation.index):
                    call = next((c for c in _calls(line) if _callee(c) == name), None)
                    yield _Use(name, call, line if call else ""), entry.symbol


def _mentioned(failure: Failure) -> list[str]:
    return [name for pattern in _IN_MESSAGE for name in pattern.findall(failure.message[:2000])]


def _calls(line: str) -> list[ast.Call]:
    tree = parse(line) if line else None
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree else []


def _callee(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _called(line: str) -> list[str]:
    return [name for name in map(_callee, _calls(line)) if name[:1].isupper() and not name.isupper()]


def _foreign(name: str, index: Index) -> bool:
    """Whether a class is neither the subject's nor Python's."""
    return not (hasattr(builtins, name) or name in MEMBERS or any(s.kind == "class" for s in index.find(name)))


# --------------------------------------------------------------------------------------------------------------- bases


def _bases(workshop: Workshop, method: Symbol) -> list[Symbol]:
    """Importable classes that define or inherit a method, also through a metaclass; concrete and public ones first."""
    owner = owner_class(workshop.situation.index, method)
    if owner is None:
        return []
    below = _descendants(workshop, owner.name)
    usable = [s for s in below if import_line_for_symbol(s) and not _is_metaclass(workshop, s)]
    abstract = {s.qualname for s in usable if _abstract(workshop, s)}
    depth = {s.qualname: n for n, s in enumerate(below)}
    used = {s.qualname: _mentions(workshop, s) for s in usable}
    order = {s.qualname: (s.qualname in abstract, _elsewhere(s), -used[s.qualname], not s.public, -depth[s.qualname])
             for s in usable}  # fmt: skip
    return sorted(usable, key=lambda s: order[s.qualname])


def _mentions(workshop: Workshop, symbol: Symbol) -> int:
    """In how many tests and report lines a class occurs under the name it is imported by: the usual one comes first."""
    name = re.compile(rf"\b{re.escape(import_line_for_symbol(symbol).split()[-1])}\b")
    report = workshop.situation.report
    tests = workshop.situation.index.tests[:2000]
    return 100 * len(name.findall(report.body[:100_000])) + sum(bool(name.search(t.source)) for t in tests)


def _elsewhere(symbol: Symbol) -> bool:
    """Whether a class is made for another operating system than the one candidates run on (Linux)."""
    return bool(
        re.search(
            r"windows|win32|win(?=[A-Z_])|_nt\b|darwin|macos|cygwin", f"{symbol.module}.{symbol.name}", re.IGNORECASE
        )
    )


def _descendants(workshop: Workshop, root: str) -> list[Symbol]:
    """The classes that have `root` among their bases or as metaclass, nearest first, itself included."""
    parents: dict[str, list[Symbol]] = {}
    for found in workshop.classes().values():
        for symbol in found:
            for base in (*symbol.bases, *_metaclass(workshop, symbol)):
                parents.setdefault(base.rpartition("=")[2].partition("[")[0].rpartition(".")[2], []).append(symbol)
    order: dict[str, Symbol] = {s.qualname: s for s in workshop.classes().get(root, [])[:1]}
    waiting = [root]
    while waiting and len(order) < 60:
        for symbol in parents.get(waiting.pop(0), []):
            if symbol.qualname not in order:
                order[symbol.qualname] = symbol
                waiting.append(symbol.name)
    return list(order.values())


def _header(workshop: Workshop, symbol: Symbol) -> str:
    lines = workshop.situation.index.text(symbol.file).splitlines()[symbol.line - 1 : symbol.line + 12]
    text = "\n".join(lines)
    start = text.find(f"class {symbol.name}")
    return text[start : text.find(":\n", start) + 1] if start >= 0 else ""


def _metaclass(workshop: Workshop, symbol: Symbol) -> list[str]:
    return re.findall(r"metaclass\s*=\s*([\w.]+)", _header(workshop, symbol))


def _is_metaclass(workshop: Workshop, symbol: Symbol) -> bool:
    return bool({"type", "ABCMeta", "EnumMeta", "EnumType"} & set(_ancestors(workshop, symbol)))


def _abstract(workshop: Workshop, symbol: Symbol) -> bool:
    """Whether a class leaves abstract methods to its subclasses, as far as its own text and its bases' show."""
    own = _methods(workshop, symbol, abstract=False)
    missing: set[str] = set()
    for name in _ancestors(workshop, symbol):
        for base in workshop.classes().get(name, [])[:1]:
            missing |= _methods(workshop, base, abstract=True)
    return bool(missing - own)


def _methods(workshop: Workshop, owner: Symbol, *, abstract: bool) -> set[str]:
    """Names of a class's own methods: the abstract ones, or the others."""
    members = [s for s in workshop.situation.index.symbols if s.module == owner.module and s.kind == "method"]
    own = [s for s in members if s.qualname.rpartition(".")[0] == owner.qualname]
    return {s.name for s in own if any("abstract" in d for d in s.decorators) == abstract}


def _ancestors(workshop: Workshop, symbol: Symbol) -> list[str]:
    order = [symbol.name]
    for name in order:
        for found in workshop.classes().get(name, [])[:1]:
            order += [b.rpartition(".")[2] for b in found.bases if b.rpartition(".")[2] not in order][
                : max(0, 20 - len(order))
            ]
    return order


# ------------------------------------------------------------------------------------------------------------ variants


def _variants(workshop: Workshop, use: _Use, base: Symbol) -> Iterator[tuple[list[str], str]]:
    """Bodies of the subclass with what is special about each, the commonest way to write one first."""
    parameters = workshop.constructor(base)
    needed = required(parameters)
    own = _own_names(use, needed, parameters)
    passed = ", ".join(own[: max(1, len(needed))]) if own else ""
    signature = ", ".join(["self", *own])
    yield (
        [f"    def __init__({signature}):", f"        super().__init__({passed})"],
        "whose __init__ has parameters of its own",
    )
    yield ["    pass"], "without an __init__ of its own"
    yield (
        ["    def __init__(self, *args, **kwargs):", "        super().__init__(*args, **kwargs)"],
        "whose __init__ passes everything on",
    )
    if needed and own:
        pairs = ", ".join(f"{p.name}={name}" for p, name in zip(needed, own, strict=False))
        yield (
            [f"    def __init__({signature}):", f"        super().__init__({pairs})"],
            "that names the base's parameters",
        )
    extra = ", ".join(["self", *own, "extra=None"])
    yield (
        [f"    def __init__({extra}):", f"        super().__init__({passed})", "        self.extra = extra"],
        "with one parameter more",
    )
    starred = ", ".join(["self", *own, "**kwargs"])
    yield (
        [f"    def __init__({starred}):", f"        super().__init__({', '.join(filter(None, [passed, '**kwargs']))})"],
        "that takes further keywords",
    )


def _own_names(use: _Use, needed: list[Parameter], parameters: object) -> list[str]:
    """Parameter names for the subclass: the keywords shown, and for positions names that the base does not use."""
    taken = {p.name for p in parameters if isinstance(p, Parameter)} if isinstance(parameters, (tuple, list)) else set()
    if use.call is None:
        return [f"own_{p.name}" for p in needed]
    names = []
    for number, argument in enumerate(use.call.args):
        hint = argument.id if isinstance(argument, ast.Name) else f"value_{number + 1}"
        names.append(hint if hint not in taken else f"own_{hint}")
    return [*names, *(k.arg for k in use.call.keywords if k.arg)]


def _script(workshop: Workshop, use: _Use, base: Symbol, body: list[str]) -> str:
    line, imported = use.line, import_line_for_symbol(base)
    parts: list[Made] = [Made(expression="", imports=(imported,))]
    if not line:
        arguments, made = next(workshop.arguments(workshop.constructor(base)))
        parts += made
        line = f"made = {use.name}({arguments})"
    return workshop.program([f"class {use.name}({imported.split()[-1]}):", *body, "", *line.splitlines()], parts)
