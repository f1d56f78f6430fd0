"""Hangs that a report shows by a stack or tells in words: the lines it quotes, and conversations of both ends of a
connection, each run under the watchdog."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from rebug.instruments import inline
from rebug.model import Basis, BlockKind, Candidate, Hypothesis, SymptomKind
from rebug.ports import Situation, Symbol
from rebug.propose.code import parse, undefined_names
from rebug.propose.entry_points import stated_requirements
from rebug.propose.frames import chain, free_of_self, statement
from rebug.propose.pairs import pairs
from rebug.propose.talks import Talk, program, talks
from rebug.propose.workshop import Workshop

_PAIRS, _TALKS = 2, 6
_LINES = 12
_NET = re.compile(r"\b(?:connect\w*|client|server|socket|handshake|peer|remote end|message)s?\b", re.IGNORECASE)
_ENDS = re.compile(r"\.(?:stop|join|close|shutdown|terminate|aclose|disconnect|wait)\(")
_BLOCKS = (BlockKind.PYTHON, BlockKind.OTHER, BlockKind.REPL)


class Hangs:
    """Programs in which what is reported to hang may hang, told by the watchdog."""

    name = "hangs"
    reactive = False

    def propose(self, situation: Situation) -> Iterator[Candidate]:
        if situation.round > 1 or situation.symptom.kind is not SymptomKind.HANG:
            return
        workshop = Workshop(situation)
        for script, claim in dict.fromkeys((*_lines(workshop), *_talks(workshop))):
            yield Candidate(
                script=f"{inline('watchdog')}\n\n{script}",
                proposer=self.name,
                basis=Basis.MEASURED,
                requirements=stated_requirements(situation),
                hypothesis=Hypothesis(
                    claim=claim,
                    conditions="time limits of the calls lowered where they have any",
                    prediction="it does not come back, or threads keep the process from ending",
                ),
            )


# ----------------------------------------------------------------------------------------------------------- own lines


def _lines(workshop: Workshop) -> Iterator[tuple[str, str]]:
    """The lines that the report quotes, on objects made for the names they leave open."""
    for lines in islice(dict.fromkeys(map(tuple, _quoted(workshop.situation))), _LINES):
        text = "\n".join(lines)
        tree = parse(text)
        open_names = undefined_names(tree) if tree else []
        for objects in _objects(workshop, text, open_names):
            begun = [
                f"{name}.start()"
                for name, owner in objects.items()
                if _ENDS.search(text) and f"{name}.start(" not in text and _has(workshop, owner, "start")
            ]
            begun += ["time.sleep(0.2)"] if begun else []  # what is stopped before it runs is another matter
            body = [f"    {line}" for line in "\n".join([*begun, text]).splitlines()]
            made = workshop.program(["def act():", *body], objects=objects)
            if made and any(module in made for module in workshop.situation.index.modules):
                yield f"{made}\n\nhang(act)\n", f"The quoted `{lines[0][:80]}` is enough to hang."


def _quoted(situation: Situation) -> Iterator[list[str]]:
    """Blocks of a few lines that are code but no whole program, and the calling lines of the stacks."""
    for block in situation.report.blocks:
        lines = [line for line in block.text.splitlines() if line.strip()]
        if block.kind in _BLOCKS and 0 < len(lines) <= _LINES and "import " not in block.text:
            tree = parse(block.text)
            if tree is not None and any(isinstance(node, ast.Call) for node in ast.walk(tree)):
                yield ast.unparse(tree).splitlines()
            elif len(lines) == 1 and (alone := statement(lines[0])):
                yield alone.splitlines()
    for failure in chain(situation.symptom):
        for frame in failure.frames:
            if line := free_of_self(statement(frame.code)):
                yield line.splitlines()


def _objects(workshop: Workshop, text: str, names: Iterable[str]) -> Iterator[dict[str, Symbol]]:
    """Classes for the names that methods are called on: a class of the subject that is called alike."""
    suspects = {name.rpartition(".")[2] for name in workshop.situation.symptom.suspects}
    found: dict[str, list[Symbol]] = {}
    for name in names:
        if not re.search(rf"(?<![\w.]){re.escape(name)}\.\w", text):
            continue
        plain = name.replace("_", "").lower()
        alike = [
            symbol
            for label, symbols in workshop.classes().items()
            for symbol in symbols
            if label.lower().endswith(plain) and symbol.public and "test" not in symbol.file
        ]
        if alike:
            found[name] = sorted(alike, key=lambda s: (s.name not in suspects, workshop.abstract(s), len(s.name)))
    for turn in range(3 if found else 0):
        yield {name: symbols[min(turn, len(symbols) - 1)] for name, symbols in found.items()}
    yield {}


def _has(workshop: Workshop, owner: Symbol, name: str) -> bool:
    """Whether a class or a base of it, a thread's also, has the method."""
    waiting, seen = [owner], 0
    while waiting and seen < 12:
        current = waiting.pop(0)
        seen += 1
        bases = [base.rpartition(".")[2] for base in current.bases]
        if workshop.method(current, name) or (name == "start" and {"Thread", "Process", "Timer"} & {*bases}):
            return True
        waiting += [symbol for base in bases for symbol in workshop.classes().get(base, [])[:1]]
    return False


# ------------------------------------------------------------------------------------------------------- conversations


def _talks(workshop: Workshop) -> Iterator[tuple[str, str]]:
    report = workshop.situation.report
    if not _NET.search(f"{report.title}\n{report.body[:50_000]}"):
        return
    for pair in islice(pairs(workshop), _PAIRS):
        for talk in sorted(talks(pair), key=lambda talk: -_told(talk, report.title, report.body[:50_000]))[:_TALKS]:
            yield program(pair, talk), f"It hangs when {talk.words}."


def _told(talk: Talk, title: str, body: str) -> float:
    """How many of a conversation's words the report uses, those of the title counting more."""
    words = {word[:4] for word in re.findall(r"[a-z]{4,}", talk.words)}
    return sum(
        weight * len(words & {word[:4] for word in re.findall(r"[a-z]{4,}", text.lower())})
        for text, weight in ((title, 1.0), (body, 0.5))
    )
