"""Races: the reporter's line in some threads while others change, in a random order, what that line looks at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from rebug.model import Candidate, Hypothesis, SymptomKind
from rebug.ports import Index, Situation, Symbol
from rebug.propose.entry_points import owner_class, receivers, stated_requirements
from rebug.propose.frames import chain, entries, free_of_self, places, statement, subject_places
from rebug.propose.sequences import mined
from rebug.propose.synthesis import FOLDER, FOLDER_IMPORTS, Made, required
from rebug.propose.workshop import Workshop

SECONDS = 6
"""How long a script tries at most; it ends at the first failure."""

_MOST = 4
_STEPS = 6
_OTHER = ("TypeError", "ValueError", "AttributeError", "KeyError", "IndexError", "OSError")  # what odd values lead to
_HINT = re.compile(r"(changed size|changed|mutated) during iteration|\bdeadlock", re.IGNORECASE)
_WORDS = re.compile(r"\bthread(s|ing)?\b|\brace\b|concurren|\bparallel|\block(ed|ing)?\b", re.IGNORECASE)
_METHODS = "pop|popitem|append|add|remove|discard|update|clear|setdefault|insert|extend"
_CHANGE = rf"\b{{name}}\b\s*(?:=(?!=)|\[[^\]\n]{{{{0,80}}}}\]\s*=|\.(?:{_METHODS})\()"
_NOT_STATE = frozenset(
    [
        "self",
        "cls",
        "for",
        "in",
        "if",
        "not",
        "and",
        "or",
        "is",
        "None",
        "True",
        "False",
        "return",
        "with",
        "items",
        "values",
        "keys",
        "list",
        "dict",
        "len",
        "yield",
        "from",
        "await",
        "lambda",
        "else",
        "get",
    ]
)


class Threads:
    """Programs that bring a reported race about."""

    name = "threads"
    reactive = False

    def propose(self, situation: Situation) -> Iterable[Candidate]:
        if situation.round > 1 or not is_race(situation):
            return
        workshop = Workshop(situation)
        failure = situation.symptom.failure
        for script, claim in islice(dict.fromkeys(_scripts(workshop)), _MOST):
            yield Candidate(
                script=script,
                proposer=self.name,
                requirements=stated_requirements(situation),
                hypothesis=Hypothesis(
                    claim=claim,
                    conditions=f"several threads for at most {SECONDS} seconds",
                    prediction=f"one thread ends with {failure.type if failure else 'the reported failure'}",
                ),
            )


def is_race(situation: Situation) -> bool:
    """Whether the report speaks of threads that get into each other's way."""
    symptom = situation.symptom
    failure = symptom.failure
    if failure is None or not failure.frames:
        return False
    threaded = failure.where == "thread" or any(f.file.endswith("threading.py") for f in failure.frames)
    spoken = _WORDS.search(f"{situation.report.title}\n{situation.report.body[:50_000]}") is not None
    return symptom.kind is SymptomKind.RACE or threaded or (bool(_HINT.search(failure.message[:2000])) and spoken)


def _scripts(workshop: Workshop) -> Iterator[tuple[str, str]]:
    index = workshop.situation.index
    for failure in chain(workshop.situation.symptom):
        steps = places(failure, index)
        inner = subject_places(steps)
        for caller, entry in entries(steps):
            line = free_of_self(statement(caller.frame.code)) if caller else ""
            if not line or entry.symbol is None or not inner or inner[-1].symbol is None:
                continue
            names = state_names(inner[-1].frame.code)
            changing = changers(index, inner[-1].symbol, names)
            receiver = re.search(rf"\b([A-Za-z_]\w*)\.{re.escape(entry.symbol.name)}\(", line)
            calls = list(_calls(workshop, changing, receiver[1] if receiver else ""))[:_STEPS]
            for objects in receivers(workshop, line, entry.symbol):
                lines = _lines(line, calls, failure.name) if calls else []
                given = [Made(expression="", setup=(*FOLDER, "os.chdir(folder)"), imports=FOLDER_IMPORTS)]
                if script := workshop.program(lines, given, objects):
                    what = ", ".join(sorted({symbol.name for symbol in changing})[:4])
                    yield script, f"`{line.splitlines()[0][:80]}` fails while another thread calls {what}."


def state_names(code: str) -> list[str]:
    """The names in a failing line that may be shared state, the last attribute of a chain first."""
    found = re.findall(r"[A-Za-z_]\w*", re.sub(r"([\"']).*?\1", "", code))
    attributes = re.findall(r"\.([A-Za-z_]\w*)(?!\w|\()", code)
    return [name for name in dict.fromkeys([*attributes, *found]) if name not in _NOT_STATE]


def changers(index: Index, place: Symbol, names: Iterable[str]) -> list[Symbol]:
    """Public functions and methods of the same module whose text changes one of the names; the first name that any
    of them changes decides."""
    lines = index.text(place.file).splitlines()
    here = [s for s in index.symbols if s.file == place.file and s.kind in {"method", "function"}]
    near = [s for s in here if not s.name.startswith("_")]
    for name in names:
        pattern = re.compile(_CHANGE.format(name=re.escape(name)))
        found = [s for s in near if pattern.search("\n".join(lines[s.line - 1 : s.end_line]))]
        if found:
            return found
    return []


def _calls(workshop: Workshop, symbols: Iterable[Symbol], receiver: str) -> Iterator[str]:
    """Calls of the symbols, a few of each: methods on the object of the reporter's line, with arguments made up and as
    tests give them."""
    for symbol in symbols:
        owner = owner_class(workshop.situation.index, symbol)
        target = f"{receiver or 'it'}." if owner else ""
        parameters = symbol.parameters[1:] if owner else symbol.parameters
        if len(required(parameters)) == 1 and not parameters[0].annotation:
            yield f"{target}{symbol.name}(lambda *args, **kwargs: None)"
        for arguments, made in islice(workshop.arguments(parameters), 1):
            if not _around(made):
                yield f"{target}{symbol.name}({arguments})"
        seen = mined(workshop, owner) if owner else []
        yield from (target + text[3:] for text in seen[:3] if text.startswith(f"it.{symbol.name}("))


def _around(made: Iterable[object]) -> bool:
    """Whether any of the values needs set-up or imports of its own."""
    return any(getattr(m, "setup", ()) or getattr(m, "imports", ()) for m in made)


def _lines(line: str, calls: Iterable[str], error: str) -> list[str]:
    """The program: threads that act, threads that change, and the exit status by what the acting ones ended with."""
    others = [name for name in _OTHER if name != error]
    body = [
        f"        with contextlib.suppress({', '.join(others)}):",
        *(f"            {text}" for text in line.splitlines()),
    ]
    changes = [f"    lambda: {call}," for call in dict.fromkeys(calls)]
    return [
        "import contextlib",
        "import random",
        "import sys",
        "import threading",
        "import time",
        "sys.setswitchinterval(1e-6)",
        f"until = time.monotonic() + {SECONDS}",
        "failures = []",
        "def noted(arguments):",
        f"    if arguments.exc_type.__name__ == {error!r}:",
        "        failures.append(arguments)",
        "        threading.__excepthook__(arguments)",
        "threading.excepthook = noted",
        "def act():",
        "    while time.monotonic() < until and not failures:",
        *body,
        "changes = [",
        *changes,
        "]",
        "def change(seed):",
        "    rng = random.Random(seed)",
        "    while time.monotonic() < until and not failures:",
        "        try:",
        "            rng.choice(changes)()",
        "        except (ValueError, TypeError, LookupError):",
        "            pass  # not every call is possible at every moment",
        "threads = [threading.Thread(target=act) for _ in range(3)]",
        "threads += [threading.Thread(target=change, args=(0,))]",
        "for thread in threads:",
        "    thread.start()",
        "for thread in threads:",
        "    thread.join()",
        "sys.exit(1 if failures else 0)",
    ]
