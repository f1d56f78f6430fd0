"""Calls of what a report names, as functions of a size: inputs that grow, and calls repeated on one object."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from rebug.ports import Parameter, Symbol
from rebug.propose import growth_shapes as shapes
from rebug.propose.code import import_line_for_symbol, parse
from rebug.propose.entry_points import owner_class
from rebug.propose.synthesis import Made, annotation_parts, kind_by_name, last_name, merged, required
from rebug.propose.turns import in_turn
from rebug.propose.workshop import Workshop

_TARGETS = 8
_METHODS = 8  # of a class that the report names
_PER_TARGET = 900
_TEXTS = {"str", "Text", "AnyStr"}
_BYTES = {"bytes", "bytearray", "memoryview", "Buffer", "ReadableBuffer"}
_LISTS = {"list", "List", "Sequence", "Iterable", "Collection", "Iterator", "tuple", "Tuple", "set", "Set"}
_DICTS = {"dict", "Dict", "Mapping", "MutableMapping"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """The body of `act(n)`, what has to stand before it, and what it does, in words."""

    body: str
    setup: str
    claim: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Something callable that the report names: a symbol, or a name that a module of the subject binds."""

    name: str
    symbol: Symbol | None = None
    owner: Symbol | None = None  # the class, for a method


def targets(workshop: Workshop) -> list[Target]:
    """What the report names, most telling first; of a class its methods, those that the report names first."""
    situation = workshop.situation
    told = f"{situation.report.title}\n{situation.report.body[:50_000]}"
    words = re.findall(r"[A-Za-z]\w*_\w+|[A-Z]\w+[A-Z]\w*", told)
    names = [*situation.symptom.suspects, *workshop.known.names, *words]
    found: list[Target] = []
    for name in dict.fromkeys(names[:60]):
        found += _named(workshop, name)
    ordered = list(dict.fromkeys(found))
    own = [target for target in ordered if target.symbol is None or target.symbol.kind != "class"]
    classes = [t.symbol for t in ordered if t.symbol is not None and t.symbol.kind == "class"]
    for cls in classes[:3]:
        own += _methods(workshop, cls, told)
    return list(dict.fromkeys(own))[:_TARGETS]


def _named(workshop: Workshop, name: str) -> Iterator[Target]:
    index = workshop.situation.index
    last = name.rpartition(".")[2]
    if last in index.modules:
        return
    symbols = [s for s in index.find(name) or index.find(last) if s.kind in {"function", "method", "class"}]
    usable = [s for s in symbols if not re.search(r"(^|/)(tests?|docs?|examples?|benchmarks?)/", s.file)]
    for symbol in usable[:2]:
        if symbol.kind == "class":
            yield Target(name=symbol.name, symbol=symbol)
        elif symbol.kind == "method":
            owner = owner_class(index, symbol)
            if owner is not None:
                yield Target(name=symbol.name, symbol=symbol, owner=owner)
        elif "." not in symbol.qualname:
            yield Target(name=symbol.name, symbol=symbol)
    if not usable and last.isidentifier() and workshop.exported(last):
        yield Target(name=last)


def _methods(workshop: Workshop, cls: Symbol, told: str) -> list[Target]:
    """The class itself, and its methods that take something, or give something of what the class was made with."""
    inside = f"{cls.qualname}."
    found = [
        s
        for s in workshop.situation.index.symbols
        if s.module == cls.module
        and s.qualname.startswith(inside)
        and s.kind == "method"
        and not s.name.startswith("_")
    ]
    special = [s for s in found if any("property" in d for d in s.decorators)]
    plain = [s for s in found if s not in special]
    plain.sort(key=lambda s: (not re.search(rf"\b{re.escape(s.name)}\b", told), not required(s.parameters[1:])))
    return [*(Target(name=s.name, symbol=s, owner=cls) for s in plain[:_METHODS]), Target(name=cls.name, symbol=cls)]


# ----------------------------------------------------------------------------------------------------------------- acts


def acts(workshop: Workshop) -> Iterator[Act]:
    """Acts for all targets; the first target's are begun before the second's, and so on, but all get their turn."""
    sources = [(target, islice(_acts_of(workshop, target), _PER_TARGET)) for target in targets(workshop)]
    share = 12
    while sources:
        for position, (target, source) in enumerate(list(sources)):
            taken = list(islice(source, max(2, share - position)))
            if not taken:
                sources.remove((target, source))
            yield from taken


def _acts_of(workshop: Workshop, target: Target) -> Iterator[Act]:
    if target.symbol is None:
        line = workshop.exported(target.name)
        shown = Parameter(name="text")
        for expression in _grown(workshop, target, shown):
            yield Act(body=f"{target.name}({expression})", setup=line, claim=_claim(target, expression))
        return
    if target.owner is not None:
        yield from _of_method(workshop, target, target.symbol, target.owner)
        return
    line = import_line_for_symbol(target.symbol)
    if not line:
        return
    parameters = workshop.constructor(target.symbol) if target.symbol.kind == "class" else target.symbol.parameters
    parameters = [p for p in parameters if p.name not in {"self", "cls"}]
    for arguments, made, expression in _calls(workshop, target, parameters):
        body = _used(f"{target.name}({arguments})", workshop, target.symbol)
        yield Act(
            body=body, setup=_setup([*made, Made(expression="", imports=(line,))]), claim=_claim(target, expression)
        )


def _of_method(workshop: Workshop, target: Target, method: Symbol, owner: Symbol) -> Iterator[Act]:
    static = any(d.endswith(("staticmethod", "classmethod")) for d in method.decorators)
    parameters = method.parameters if static else method.parameters[1:]
    made = [m for m in islice(workshop.instances(owner), 2) if m.expression]
    for number, instance in enumerate(made):
        head = f"subject = {instance.expression}"
        repeated = _repeated(workshop, target, parameters, head, instance)
        grown = _with_growing(workshop, target, parameters, head, instance)
        yield from in_turn(*([repeated, grown] if number == 0 else [grown]), at_once=3)
    if not required(parameters):
        yield from _of_constructed(workshop, target, owner)


def _with_growing(
    workshop: Workshop, target: Target, parameters: Sequence[Parameter], head: str, instance: Made
) -> Iterator[Act]:
    """One call on a new object, with an input that grows."""
    for arguments, others, expression in _calls(workshop, target, parameters):
        call = _used(f"subject.{target.name}({arguments})", workshop, target.symbol)
        yield Act(body=f"{head}\n{call}", setup=_setup([instance, *others]), claim=_claim(target, expression))


def _repeated(
    workshop: Workshop, target: Target, parameters: Sequence[Parameter], head: str, instance: Made
) -> Iterator[Act]:
    """Many calls on one object, each with an input that stays small."""
    for arguments, others in islice(workshop.arguments(parameters), 4):
        varied = arguments.replace("'a'", "'a%d' % i", 1) if "'a'" in arguments else ""
        for text in dict.fromkeys(filter(None, (arguments or " ", varied))):
            call = _used(f"subject.{target.name}({text.strip()})", workshop, target.symbol)
            body = f"{head}\nfor i in range(n):\n" + "\n".join(f"    {line}" for line in call.splitlines())
            claim = f"Every further call of {target.name} on the same object takes longer."
            yield Act(body=body, setup=_setup([instance, *others]), claim=claim)
    names = [p for p in required(parameters) or parameters[:1] if _kinds(p) & {"text", "bytes"}]
    for piece in ("a", "a\n", "\n", ",", "a,", '"') if len(names) == 1 else ():
        literal = repr(piece.encode() if "bytes" in _kinds(names[0]) else piece)
        body = f"{head}\nfor i in range(n):\n    subject.{target.name}({literal})"
        claim = f"Many small pieces, fed one by one to {target.name}, take ever longer."
        yield Act(body=body, setup=_setup([instance]), claim=claim)


def _of_constructed(workshop: Workshop, target: Target, owner: Symbol) -> Iterator[Act]:
    """A method without arguments, on an object that was made of an input that grows."""
    line = import_line_for_symbol(owner)
    parameters = [p for p in workshop.constructor(owner) if p.name not in {"self", "cls"}]
    static = Target(name=owner.name, symbol=owner)
    for arguments, others, expression in _calls(workshop, static, parameters) if line else ():
        call = _used(f"subject.{target.name}()", workshop, target.symbol)
        body = f"subject = {owner.name}({arguments})\n{call}"
        setup = _setup([*others, Made(expression="", imports=(line,))])
        yield Act(body=body, setup=setup, claim=_claim(target, expression))


def _claim(target: Target, expression: str) -> str:
    return f"{target.name} takes ever longer for {expression[:120]}."


# ------------------------------------------------------------------------------------------------------------ arguments


def _calls(
    workshop: Workshop, target: Target, parameters: Sequence[Parameter]
) -> Iterator[tuple[str, list[Made], str]]:
    """(arguments, what the others need, the growing expression): each parameter that can hold much is grown in turn."""
    needed = required(parameters)
    optional = [p for p in parameters if p not in needed and "var_" not in p.kind and _kinds(p) - {"int"}]
    growing = [p for p in needed if _kinds(p)] or [p for p in parameters if p.kind == "var_positional"]
    sources = []
    for parameter in [*growing[:3], *optional[:2]]:
        others = {p.name: next(workshop.choices(p)) for p in needed if p is not parameter}
        sources.append(_filled(workshop, target, parameter, needed, others))
    yield from in_turn(*sources, at_once=6)


def _filled(
    workshop: Workshop, target: Target, parameter: Parameter, needed: Sequence[Parameter], others: dict[str, Made]
) -> Iterator[tuple[str, list[Made], str]]:
    for expression in _grown(workshop, target, parameter):
        written = []
        for other in needed:
            value = expression if other is parameter else others[other.name].expression
            written.append(f"{other.name}={value}" if other.kind == "keyword_only" else value)
        if parameter not in needed:
            written.append(expression if parameter.kind.startswith("var_") else f"{parameter.name}={expression}")
        yield ", ".join(written), list(others.values()), expression


def _kinds(parameter: Parameter) -> set[str]:
    """What can be put into a parameter and grow; empty for flags, functions and objects of the subject's own."""
    heads = {last_name(part) for part in annotation_parts(parameter.annotation)} - {"None"}
    found = {
        kind
        for kind, names in (("text", _TEXTS), ("bytes", _BYTES), ("list", _LISTS), ("dict", _DICTS), ("int", {"int"}))
        if heads & names
    }
    if heads & {"IO", "TextIO", "BinaryIO", "StringIO", "BytesIO"}:
        found.add("stream")
    if heads:
        return found
    default = _default(parameter)
    if isinstance(default, bool | float) or default is ...:
        return set()
    kind = kind_by_name(parameter.name)
    known = {"text": {"text", "bytes"}, "bytes": {"bytes"}, "list": {"list", "text"}, "dict": {"dict"}, "int": {"int"},
             "stream": {"stream"}, "pattern": {"text"}, "url": {"text"}, "float": set(), "bool": set()}  # fmt: skip
    return known.get(kind, set())


def _default(parameter: Parameter) -> object:
    """The default's value; None where there is none, `...` where it is not a literal."""
    if parameter.default is None:
        return None
    try:
        value: object = ast.literal_eval(parameter.default)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return ...
    return value


def _grown(workshop: Workshop, target: Target, parameter: Parameter) -> Iterator[str]:
    """Expressions for a parameter, of all kinds that it can hold."""
    report = workshop.situation.report
    told = f"{report.title}\n{report.body[:50_000]}"
    words = f"{target.name} {parameter.name} {target.owner.name if target.owner else ''} {told[:4000]}"
    given = shapes.samples(words, _examples(workshop, target))
    kinds = _kinds(parameter)
    sources: list[Iterator[str]] = []
    if "text" in kinds:
        sources.append(shapes.texts(told, given))
    if "bytes" in kinds:
        made = (_as_bytes(expression) for expression in shapes.texts(told, given))
        sources.append(expression for expression in made if expression)
    if "stream" in kinds:
        sources.append(f"__import__('io').StringIO({e})" for e in shapes.texts(told, given))
        sources.append(f"__import__('io').BytesIO(({e}).encode())" for e in shapes.texts(told, given))
    if "list" in kinds:
        sources.append(shapes.lists(given))
    if "dict" in kinds:
        sources.append(shapes.mappings())
    if "int" in kinds:
        sources.append(shapes.numbers())
    yield from in_turn(*sources, at_once=4)


def _as_bytes(expression: str) -> str:
    """The same with bytes for texts; "" where it has other letters than those of ASCII."""
    tree = parse(expression)
    if tree is None or not expression.isascii():
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = node.value.encode("ascii", "replace")
    return ast.unparse(tree)


def _examples(workshop: Workshop, target: Target) -> list[str]:
    """Texts that the report's data, docstrings and tests put into such a call."""
    found = [text for text in workshop.known.data if len(text) <= 200]
    for call in workshop.examples(target.name)[:8]:
        tree = parse(call)
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and len(node.value) > 1:
                found += [node.value if isinstance(node.value, str) else node.value.decode("latin-1")]
    return list(dict.fromkeys(found))[:5]


def _used(call: str, workshop: Workshop, symbol: Symbol | None) -> str:
    """The call as statements that use up what it gives: a generator works only when it is run, a coroutine likewise."""
    if symbol is None:
        return call
    if symbol.is_async:
        return f"async def work():\n    await {call}\n__import__('asyncio').run(work())"
    lines = workshop.situation.index.text(symbol.file).splitlines()[symbol.line - 1 : symbol.end_line]
    yields = symbol.kind != "class" and any(re.search(r"\byield\b", line) for line in lines)
    return f"list({call})" if yields or symbol.name in {"__iter__", "finditer"} else call


def _setup(made: Sequence[Made]) -> str:
    joined = merged(made)
    return "\n".join([*dict.fromkeys(joined.imports), *joined.setup])
