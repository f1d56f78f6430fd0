"""From a traceback to the call that led there: the reporter's own line, or a call of the entry, arguments made up."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from rebug.model import BlockKind, Candidate, Hypothesis
from rebug.ports import Index, Situation, Symbol
from rebug.propose.code import import_line_for_symbol
from rebug.propose.frames import Place, chain, entries, free_of_self, places, statement, subject_places
from rebug.propose.known import distribution_for
from rebug.propose.synthesis import Made, merged
from rebug.propose.workshop import Workshop

_MOST = 16
_PER_SYMBOL, _PER_PRIVATE = 6, 2
_MOST_BESIDE_CODE = 6  # when the report has code of its own, which says more
_DUNDER = {
    "__init__": "{cls}({args})",
    "__new__": "{cls}({args})",
    "__call__": "{obj}({args})",
    "__getitem__": "{obj}[{args}]",
    "__contains__": "{args} in {obj}",
    "__iter__": "list({obj})",
    "__next__": "next({obj})",
    "__len__": "len({obj})",
    "__str__": "str({obj})",
    "__repr__": "repr({obj})",
    "__hash__": "hash({obj})",
    "__bool__": "bool({obj})",
    "__int__": "int({obj})",
    "__float__": "float({obj})",
    "__bytes__": "bytes({obj})",
    "__format__": "format({obj}, {args})",
    "__eq__": "{obj} == {args}",
    "__lt__": "{obj} < {args}",
    "__add__": "{obj} + {args}",
    "__sub__": "{obj} - {args}",
    "__mul__": "{obj} * {args}",
    "__truediv__": "{obj} / {args}",
    "__or__": "{obj} | {args}",
    "__and__": "{obj} & {args}",
    "__delitem__": "del {obj}[{args}]",
    "__enter__": "with {obj}:\n    pass",
    "__exit__": "with {obj}:\n    pass",
    "__aenter__": "async with {obj}:\n    pass",
    "__aexit__": "async with {obj}:\n    pass",
    "__reduce__": "pickle.loads(pickle.dumps({obj}))",
    "__getstate__": "pickle.loads(pickle.dumps({obj}))",
    "__setstate__": "pickle.loads(pickle.dumps({obj}))",
    "__copy__": "copy.copy({obj})",
    "__deepcopy__": "copy.deepcopy({obj})",
    "__del__": "del {obj}",
    "__setitem__": "{obj}[{first}] = {rest}",
}
"""How a special method is called in public."""


class EntryPoints:
    """Rebuilds the call at the border of the subject; without a stack, calls what the report names."""

    name = "entry-points"
    reactive = False

    def propose(self, situation: Situation) -> Iterable[Candidate]:
        if situation.round > 1:
            return
        workshop = Workshop(situation)
        has_code = any(block.kind in {BlockKind.PYTHON, BlockKind.REPL} for block in situation.report.blocks)
        most = _MOST_BESIDE_CODE if has_code else _MOST
        seen: set[str] = set()
        for script, claim in _scripts(workshop):
            if script and script not in seen and len(seen) < most:
                seen.add(script)
                yield Candidate(script=script, hypothesis=_hypothesis(situation, claim), proposer=self.name,
                                requirements=stated_requirements(situation))  # fmt: skip


def stated_requirements(situation: Situation) -> tuple[str, ...]:
    """Distributions beside the subject that the failure speaks of, at the versions that the report states.

    Those of the stack and the message count; one that is not installed is wanted also where no version is given.
    """
    environment, failure = situation.environment, situation.symptom.failure
    own = _normal(environment.package)
    stated = {_normal(v.name): v.version for v in situation.report.versions if v.role == "used"}
    frames = [frame_module(f.file) for one in chain(situation.symptom) for f in one.frames]
    spoken = re.findall(r"[Mm]odule (?:named )?['\"]([A-Za-z_]\w{0,60})", failure.message[:2000] if failure else "")
    words = re.findall(r"[A-Za-z_]\w{0,60}", failure.message[:2000] if failure else "")
    found: dict[str, str] = {}
    for module in dict.fromkeys([*spoken, *frames, *(w for w in words if _normal(w) in stated)]):
        name = _normal(distribution_for(module)) if module not in situation.index.modules else ""
        version = stated.get(name) or (version_near(module, situation.report.body) if module in spoken else "")
        if name and name != own and version != environment.packages.get(name, ""):
            found[name] = f"{name}=={version}" if version else name
        elif name and name != own and module in spoken and name not in environment.packages:
            found[name] = name
    return tuple(found.values())[:4]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def version_near(name: str, text: str) -> str:
    """The version that a sentence gives for a name, as in `name 1.2` or `name is installed too (1.2.3)`."""
    found = re.search(
        rf"\b{re.escape(name)}\b[^\n\d]{{0,40}}?[v(= ](\d{{1,4}}(?:\.\d{{1,4}}){{1,3}})\b",
        text[:200_000],
        re.IGNORECASE,
    )
    return found[1] if found else ""


def frame_module(file: str) -> str:
    """The distribution-like name of a frame's file: the folder under site-packages."""
    found = re.search(r"(?:site|dist)-packages/([A-Za-z0-9_]+)", file.replace("\\", "/"))
    return found[1] if found else ""


def _hypothesis(situation: Situation, claim: str) -> Hypothesis:
    failure = situation.symptom.failure
    shows = f"{failure.type}: {failure.message}".strip(": ")[:200] if failure else "what the report describes"
    return Hypothesis(claim=claim, conditions="the subject as installed", prediction=f"it ends with {shows}")


def _scripts(workshop: Workshop) -> Iterator[tuple[str, str]]:
    index = workshop.situation.index
    for failure in chain(workshop.situation.symptom):
        steps = places(failure, index)
        ways = list(entries(steps))
        for caller, entry in reversed(ways):
            yield from from_line(workshop, caller, entry)
        for _, entry in ways:
            yield from direct(workshop, entry)
        yield from (pair for place in subject_places(steps)[1:4] for pair in direct(workshop, place))
    yield from named_calls(workshop)


def from_line(workshop: Workshop, caller: Place | None, entry: Place) -> Iterator[tuple[str, str]]:
    """The reporter's own calling line with everything it needs around it."""
    code = caller.frame.code if caller else ""
    if code.startswith(("import ", "from ")):
        lines = [*arguments_given(workshop.situation, caller.frame.file if caller else ""), code]
        yield workshop.program(lines), f"Importing as the reporter does (`{code}`) fails."
    line = free_of_self(statement(code))
    if not line or entry.symbol is None:
        return
    for objects in receivers(workshop, line, entry.symbol):
        yield workshop.program([line], objects=objects), f"The reporter's own line `{line.splitlines()[0]}` is enough."


def arguments_given(situation: Situation, file: str) -> list[str]:
    """The command line that the report shows for a program, as a statement; none when it shows none."""
    program = file.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")
    for block in situation.report.blocks:
        for line in block.text.splitlines()[:40] if program else ():
            words = line.strip().lstrip("$%> ").split("#")[0]
            if words.startswith(f"{program} "):
                try:
                    return [f"sys.argv = {shlex.split(words)!r}"]
                except ValueError:
                    return []
    return []


def receivers(workshop: Workshop, line: str, symbol: Symbol) -> Iterator[dict[str, Symbol]]:
    """Which object the entry is a method of: the names in the line that may stand for an instance of its class."""
    owner = owner_class(workshop.situation.index, symbol)
    if owner is not None:
        method = re.escape(symbol.name)
        names = re.findall(rf"\b([a-z_]\w*)\.{method}\b", line) or re.findall(r"(?<![\w.])([a-z_]\w*)(?![\w(])", line)
        for name in list(dict.fromkeys(names))[:3]:
            yield {name: owner}
    yield {}


def owner_class(index: Index, symbol: Symbol) -> Symbol | None:
    """The class a method is defined in."""
    if "." not in symbol.qualname:
        return None
    owner = symbol.qualname.rpartition(".")[0]
    return next((s for s in index.find(owner) if s.kind == "class" and s.module == symbol.module), None)


def direct(workshop: Workshop, place: Place) -> Iterator[tuple[str, str]]:
    """Calls of a symbol: as docstrings and tests call it, then with made-up arguments."""
    symbol = place.symbol
    if symbol is None:
        return
    if symbol.kind == "module" or place.frame.function == "<module>":
        yield workshop.program([f"import {symbol.module}"]), f"Importing {symbol.module} fails."
        return
    for public in (*callers(workshop, symbol), symbol):
        yield from islice(call(workshop, public), _PER_SYMBOL if public.public else _PER_PRIVATE)


def callers(workshop: Workshop, symbol: Symbol) -> list[Symbol]:
    """Public functions whose text calls a private one by name (at most three)."""
    if symbol.public:
        return []
    found = []
    pattern = re.compile(rf"\b{re.escape(symbol.name)}\(")
    index = workshop.situation.index
    for passage in index.retrieve(symbol.name, 12):
        if pattern.search(passage.text):
            found += [
                s
                for s in index.find(passage.symbol)[:1]
                if s.public and s.kind in {"function", "method"} and s != symbol
            ]
    return list(dict.fromkeys(found))[:3]


def call(workshop: Workshop, symbol: Symbol) -> Iterator[tuple[str, str]]:
    claim = f"Calling {symbol.exported_as or symbol.qualname} is enough."
    if symbol.kind == "class":
        for made in workshop.instances(symbol):
            yield workshop.program([f"subject = {made.expression}"], [made]), claim
        return
    owner = owner_class(workshop.situation.index, symbol)
    if owner is None:
        yield from _function(workshop, symbol, claim)
        return
    if symbol.name in {"__init__", "__new__"}:
        yield from call(workshop, owner)
        return
    for number, made in enumerate(workshop.instances(owner)):
        if number > 1:
            return
        for lines, parts in _method_lines(workshop, symbol, owner):
            head = [made, *parts]
            yield workshop.program([f"subject = {made.expression}", *lines], head), claim


def _function(workshop: Workshop, symbol: Symbol, claim: str) -> Iterator[tuple[str, str]]:
    line = import_line_for_symbol(symbol)
    if not line:
        return
    wait = "await " if symbol.is_async else ""
    base = Made(expression="", imports=(line,))
    for example in workshop.examples(symbol.name)[:4]:
        yield workshop.program([f"{wait}{example}"], [base]), f"{claim} The call is one of the project's own examples."
    for arguments, parts in workshop.arguments(symbol.parameters):
        yield workshop.program([f"{wait}{symbol.name}({arguments})"], [*parts, base]), claim


def _method_lines(workshop: Workshop, symbol: Symbol, owner: Symbol) -> Iterator[tuple[list[str], Sequence[Made]]]:
    if any("property" in d for d in symbol.decorators):
        yield [f"subject.{symbol.name}"], ()
        return
    static = any(d.endswith(("staticmethod", "classmethod")) for d in symbol.decorators)
    for arguments, parts in workshop.arguments(symbol.parameters if static else symbol.parameters[1:] or ()):
        pattern = _DUNDER.get(symbol.name)
        if pattern is None:
            text = f"subject.{symbol.name}({arguments})"
            yield [f"await {text}" if symbol.is_async else text], parts
            continue
        expressions = [m.expression for m in parts]
        first, rest = (expressions[0], ", ".join(expressions[1:])) if len(expressions) > 1 else (arguments, "None")
        text = pattern.format(obj="subject", cls=owner.name, args=arguments, first=first, rest=rest)
        yield [line for line in text.splitlines() if line], [*parts, merged([])]


def named_calls(workshop: Workshop) -> Iterator[tuple[str, str]]:
    """Without a stack: calls written as inline code, then calls of what the report names."""
    symptom, index = workshop.situation.symptom, workshop.situation.index
    for span in workshop.known.calls:
        yield workshop.program([span.removeprefix(">>> ")]), f"The call that the report mentions (`{span}`) is enough."
    if symptom.failure and symptom.failure.frames:
        return
    names = [*symptom.suspects, *workshop.known.names]
    chosen: list[Symbol] = []
    for name in dict.fromkeys(names[:30]):
        chosen += [s for s in index.find(name)[:1] if s.kind in {"function", "method", "class"} and s.public]
    for symbol in list(dict.fromkeys(chosen))[:6]:
        yield from call(workshop, symbol)
