"""Races that a stack shows: one object of the class in which it broke, used from many threads or tasks at once, with
values that are new each time."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from rebug.model import Candidate, Failure, Hypothesis
from rebug.ports import Parameter, Situation, Symbol
from rebug.propose.code import import_line_for_symbol
from rebug.propose.entry_points import owner_class, stated_requirements
from rebug.propose.frames import chain, entries, places, subject_places
from rebug.propose.needles import pieces_of
from rebug.propose.sequences import members
from rebug.propose.synthesis import Made, kind_by_name, required
from rebug.propose.threads import SECONDS, changers, is_race, state_names
from rebug.propose.workshop import Workshop

_STEPS = 6
_LONGEST = 200  # characters of what makes the object; longer ones are made of parts of which nothing is known
_CLASSES, _INSTANCES = 2, 2
_THREADS, _TASKS = 6, 40
_CALLED = {
    "__call__": "it({args})", "__getitem__": "it[{args}]", "__contains__": "{args} in it", "__iter__": "list(it)",
    "__len__": "len(it)", "__missing__": "it[{args}]", "__repr__": "repr(it)", "__str__": "str(it)",
}  # fmt: skip
_FRESH = "type('T%d' % next(numbers), (), {})()"
_TEXT, _NUMBER = "'a%d' % next(numbers)", "next(numbers) % 97"


class Schedule:
    """Programs that use what broke from many threads or tasks at once."""

    name = "schedule"
    reactive = False

    def propose(self, situation: Situation) -> Iterator[Candidate]:
        failure = situation.symptom.failure
        if situation.round > 1 or failure is None or not _comes_and_goes(situation):
            return
        for script, claim in dict.fromkeys(_scripts(Workshop(situation))):
            yield Candidate(
                script=script,
                proposer=self.name,
                requirements=stated_requirements(situation),
                hypothesis=Hypothesis(
                    claim=claim,
                    conditions=f"used from many threads or tasks at once, for at most {SECONDS} seconds",
                    prediction=f"one of them ends with {failure.type}",
                ),
            )


def _comes_and_goes(situation: Situation) -> bool:
    failure = situation.symptom.failure
    return is_race(situation) or (failure is not None and failure.where == "task")


def _scripts(workshop: Workshop) -> Iterator[tuple[str, str]]:
    for failure in chain(workshop.situation.symptom):
        steps = places(failure, workshop.situation.index)
        inner = [place.symbol for place in subject_places(steps) if place.symbol is not None]
        called = [entry.symbol for _, entry in entries(steps)]
        names = state_names(steps[-1].frame.code)
        for owner in _owners(workshop, inner):
            for own in _mixtures(workshop, owner, inner, called, names):
                calls = list(islice(dict.fromkeys(text for symbol in own for text in _calls(symbol)), _STEPS))
                waits = any(text.startswith("await ") for text in calls)
                for made in islice(_instances(workshop, owner), _INSTANCES if calls else 0):
                    lines = _tasks(calls, made, failure) if waits else _threads(calls, made, failure)
                    if script := workshop.program(lines, [replace(made, expression="")]):
                        yield (
                            script,
                            f"A {owner.name} breaks when many {'tasks' if waits else 'threads'} use it at once.",
                        )


def _mixtures(
    workshop: Workshop, owner: Symbol, inner: Sequence[Symbol], called: Sequence[Symbol | None], names: Sequence[str]
) -> Iterator[list[Symbol]]:
    """Methods to call at the same time: what was called from outside; that and what changes what the failing line
    looks at; where nothing was called from outside, as in a task of the object's own, all that is public.

    What stands on the stack further inside is never called: a lock may be held around it, as it should.
    """
    inside = f"{owner.qualname}."
    own = [s for s in workshop.situation.index.symbols if s.module == owner.module and s.qualname.startswith(inside)]
    own = [s for s in own if not any("property" in d or "abstract" in d for d in s.decorators)]
    entered = [s for s in own if s in called and (s.public or s.name in _CALLED)]
    usable = members(workshop, owner)
    others = [s for s in own if s.name in usable and s not in inner]
    changing = [s for s in changers(workshop.situation.index, inner[-1], names) if s in others]
    if entered:
        yield entered
        yield [*entered, *changing]
    else:
        yield [*changing, *(s for s in others if s not in changing)]


def _owners(workshop: Workshop, symbols: Sequence[Symbol]) -> list[Symbol]:
    """The classes whose methods stand on the stack, the innermost first."""
    index = workshop.situation.index
    found = [owner for symbol in reversed(symbols) if (owner := owner_class(index, symbol)) is not None]
    return list(dict.fromkeys(found))[:_CLASSES]


def _instances(workshop: Workshop, owner: Symbol) -> Iterator[Made]:
    """Ways to make the object; a function that it is to be given takes one value, as most do."""
    line = import_line_for_symbol(owner)
    parameters = required(workshop.constructor(owner))
    if parameters and kind_by_name(parameters[0].name) == "function" and len(parameters) == 1:
        yield Made(
            expression=f"{owner.name}(given)",
            setup=("def given(value: object):", "    return value"),
            imports=(line,),
        )
    for made in workshop.instances(owner):
        if not made.setup and len(made.expression) <= _LONGEST:
            yield made


# --------------------------------------------------------------------------------------------------------------- steps


def _calls(symbol: Symbol) -> Iterator[str]:
    given = required(symbol.parameters[1:])
    more = not given and any(p.kind == "var_positional" for p in symbol.parameters)
    choices = [_values(p) for p in given] or ([[_FRESH]] if more else [])
    pattern = _CALLED.get(symbol.name, "it." + symbol.name + "({args})")
    wait = "await " if symbol.is_async else ""
    for turn in range(2 if any(len(c) > 1 for c in choices) else 1):
        picked = [c[min(turn, len(c) - 1)] for c in choices]
        named = [f"{p.name}={v}" if p.kind == "keyword_only" else v for p, v in zip(given, picked, strict=bool(given))]
        yield wait + pattern.format(args=", ".join(named if given else picked))


def _values(parameter: Parameter) -> list[str]:
    """Expressions for a parameter that give another value each time."""
    words = set(re.findall(r"\w+", parameter.annotation))
    kind = "int" if words & {"int", "float"} else "text" if "str" in words else kind_by_name(parameter.name)
    match kind:
        case "int" | "float":
            return [_NUMBER]
        case "bytes":
            return [f"({_TEXT}).encode()"]
        case "function":
            return ["lambda *args, **kwargs: None"]
        case "list":
            return [f"[{_TEXT}]"]
        case "dict":
            return [f"{{{_TEXT}: 1}}"]
        case "text" if not words:
            return [_TEXT, _FRESH]
    return [_TEXT]


# ------------------------------------------------------------------------------------------------------------ programs


def _told(failure: Failure) -> str:
    """The condition under which an exception is the reported one."""
    pieces = list(pieces_of(failure.message.splitlines()[0])) if failure.message else []
    kind = f"type(error).__name__ == {failure.name!r}"
    return f"{kind} and all(piece in str(error) for piece in {pieces!r})" if pieces else kind


_HEAD = """import contextlib
import gc
import itertools
import random
import sys
import threading
import time
sys.setswitchinterval(1e-6)
numbers = itertools.count()
until = time.monotonic() + {seconds}
failures = []
def note(error):
    if {told}:
        failures.append(error)
"""


def _threads(steps: Sequence[str], made: Made, failure: Failure) -> list[str]:
    """Threads that begin together and take steps at random until one of them fails as reported. A new object every
    half second, since some things break only while they are new."""
    body = f"""
def act(it, seed, begin):
    rng = random.Random(seed)
    steps = [{", ".join(f"lambda: {step}" for step in steps)}]
    begin.wait()
    enough = time.monotonic() + 0.5
    while time.monotonic() < enough and not failures:
        try:
            rng.choice(steps)()
        except Exception as error:
            note(error)
threading.excepthook = lambda args: note(args.exc_value)
while time.monotonic() < until and not failures:
    it = {made.expression}
    begin = threading.Barrier({_THREADS})
    threads = [threading.Thread(target=act, args=(it, seed, begin)) for seed in range({_THREADS})]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
if failures:
    raise failures[0]
"""
    return (_HEAD.format(seconds=SECONDS, told=_told(failure)) + body).splitlines()


def _tasks(steps: Sequence[str], made: Made, failure: Failure) -> list[str]:
    """Tasks that take steps at random until one of them, or one that the object itself has started, fails as
    reported."""
    calls = textwrap.indent("\n".join(_branches(steps)), " " * 12)
    body = f"""
import asyncio
async def act(it, seed):
    rng = random.Random(seed)
    while time.monotonic() < until and not failures:
        try:
            step = rng.randrange({len(steps)})
{calls}
        except Exception as error:
            note(error)
        await asyncio.sleep(0.001 * rng.random())
async def main():
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: note(context.get("exception")))
    it = {made.expression}
    await asyncio.gather(*(act(it, seed) for seed in range({_TASKS})))
    gc.collect()
asyncio.run(main())
if failures:
    raise failures[0]
"""
    return (_HEAD.format(seconds=SECONDS, told=_told(failure)) + body).splitlines()


def _branches(steps: Sequence[str]) -> Iterator[str]:
    for number, step in enumerate(steps):
        yield f"{'if' if number == 0 else 'elif'} step == {number}:"
        yield f"    {step}"
