"""The report's own code, repaired and completed until it runs by itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from rebug.model import Basis, Block, BlockKind, Candidate, Hypothesis, Symptom, SymptomKind
from rebug.ports import Situation
from rebug.propose.code import bound_names, fingerprint, imported_modules, is_print, parse, undefined_names, used_names
from rebug.propose.complete import Surroundings, complete
from rebug.propose.files import files_for, with_files
from rebug.propose.repair import programs
from rebug.propose.transcript import SHOW, is_session, shown

_RUNNABLE = {BlockKind.PYTHON, BlockKind.REPL, BlockKind.TEST}
_MAYBE = {BlockKind.OTHER, BlockKind.OUTPUT, BlockKind.SHELL}
_REMEDY = re.compile(
    r"work-?around|\bfix(?:ed|es)?\b|solution|patch|instead|proposed|suggest|works\b|the following works|no error",
    re.IGNORECASE,
)
_REPRODUCE = re.compile(
    r"reproduc|minimal|example|snippet|\bMWE\b|\bMCVE\b|script|steps|code|demo|try|run", re.IGNORECASE
)
_MAX_CANDIDATES = 14


class Snippet:
    """Proposes each block of code of the report, alone and joined with the blocks it needs."""

    name = "snippet"
    reactive = False

    def propose(self, situation: Situation) -> Iterator[Candidate]:
        if situation.round != 1:
            return
        seen: set[str] = set()
        for candidate in _candidates(situation):
            mark = fingerprint(candidate.script)
            if mark not in seen:
                seen.add(mark)
                yield candidate
            if len(seen) >= _MAX_CANDIDATES:
                return


def _candidates(situation: Situation) -> Iterator[Candidate]:
    wanted = situation.symptom.failure.name if situation.symptom.failure else ""
    blocks = ranked(situation)
    meant = [(block, list(programs(block.text, wanted))) for block in blocks]
    readable = [(block, found) for block, found in meant if found]
    texts = {block.line: found[0][0] for block, found in readable}
    for block, found in readable:
        linked = link(found[0][0], [texts[b.line] for b, _ in readable if b is not block])
        yield from _finished(situation, block, linked, found[0][1])
    in_order = [texts[b.line] for b, _ in sorted(readable, key=lambda pair: pair[0].line)]
    if len(in_order) > 1:
        yield from _finished(situation, readable[0][0], "\n".join(in_order), "all blocks in order")
    for block, found in readable:
        for program, repaired in found[1:]:
            yield from _finished(situation, block, program, repaired)


def ranked(situation: Situation) -> list[Block]:
    """The blocks that may be programs, most promising first: those that use the subject and are said to reproduce."""
    blocks = [b for b in situation.report.blocks if b.kind in _RUNNABLE or _is_code_after_all(b, situation)]
    subject = set(situation.index.modules) | set(situation.environment.modules)

    def rank(block: Block) -> tuple[int, int]:
        around = f"{block.lead}\n{block.section}"
        points = 3 * bool(_REPRODUCE.search(around)) - 4 * bool(_REMEDY.search(block.lead.rpartition(". ")[2]))
        points += 3 * any(re.search(rf"\b{re.escape(m)}\b", block.text) for m in subject)
        points -= 3 * bool(
            re.search(r"^\s*def \w+\(self|^\s*self\.", block.text, re.MULTILINE) and "class " not in block.text
        )
        points -= 2 * (block.kind in _MAYBE)
        points += min(len(block.text.splitlines()), 12) // 4
        return (-points, block.line)

    return sorted(blocks, key=rank)


def _is_code_after_all(block: Block, situation: Situation) -> bool:
    """A block that intake took for something else but that imports the subject."""
    if block.kind not in _MAYBE or len(block.text) > 20_000:
        return False
    if is_session(block.text):
        return True
    modules = "|".join(re.escape(m) for m in situation.index.modules)
    return bool(modules and re.search(rf"^\s*(?:from|import) +(?:{modules})\b", block.text, re.MULTILINE))


def link(program: str, others: Sequence[str]) -> str:
    """The program after the other programs that bind its undefined names, and what those need in turn."""
    needed: list[str] = []
    text = program
    for _ in range(4):
        tree = parse(text)
        missing = set(undefined_names(tree)) if tree else set()
        found = next((o for o in others if o not in needed and missing & _bound(o)), None)
        if found is None:
            break
        needed.append(found)
        text = f"{found.rstrip()}\n\n\n{text}"
    return text


def _bound(program: str) -> set[str]:
    tree = parse(program)
    return bound_names(tree.body) if tree else set()


def _finished(situation: Situation, block: Block, program: str, repaired: str) -> Iterator[Candidate]:
    """The candidate made of one program, none when it does not use the subject."""
    around = Surroundings(index=situation.index, environment=situation.environment, blocks=situation.report.blocks)
    files = files_for(program, situation.report.blocks)
    if situation.symptom.kind is not SymptomKind.EXCEPTION:
        program = displayed(program)
    done = complete(program, around)
    script = with_files(done.script, files)
    if not _touches_subject(script, situation):
        return
    where = f"line {block.line} of the report" if block.line else "the report"
    yield Candidate(
        script=script,
        hypothesis=Hypothesis(
            claim=f"The code at {where} shows the reported behaviour by itself.",
            conditions=_conditions(repaired, done.undefined, files),
            prediction=prediction(situation.symptom),
        ),
        proposer=Snippet.name,
        basis=Basis.SCRIPT if _asserts(program, situation.symptom) else Basis.NONE,
        requirements=done.requirements,
    )


def _asserts(program: str, symptom: Symptom) -> bool:
    """Whether the reporter's own code asserts what is wrong, rather than that an exception shows it."""
    reported = symptom.failure.name if symptom.failure else ""
    if symptom.kind is SymptomKind.EXCEPTION and reported not in {"", "AssertionError"}:
        return False
    tree = parse(program)
    return tree is not None and any(isinstance(node, ast.Assert) for node in ast.walk(tree))


def _touches_subject(script: str, situation: Situation) -> bool:
    """Whether the subject is imported or one of its names used (an application need not be imported by name)."""
    tree = parse(script)
    modules = {*situation.index.modules, *situation.environment.modules}
    return tree is not None and (not modules or bool(modules & (imported_modules(tree) | used_names(tree))))


def displayed(program: str) -> str:
    """A program that prints nothing, with its bare expressions shown, for reports about values."""
    tree = parse(program)
    if tree is None or any(is_print(node) for node in ast.walk(tree)) or "_show(" in program:
        return program
    text = shown(program)
    return f"{SHOW}\n\n{text}" if "_show(" in text else text


def _conditions(repaired: str, guessed: Iterable[str], files: Iterable[str]) -> str:
    parts = [repaired] if repaired else []
    parts += [f"{name} is made up" for name in guessed]
    parts += [f"{name} holds what the report shows" for name in files]
    return "; ".join(parts)


def prediction(symptom: Symptom) -> str:
    """What should be observed if the candidate shows the bug, in words."""
    if symptom.failure is not None and symptom.failure.type:
        return f"{symptom.failure.type}: {symptom.failure.message}".rstrip(": ")
    if symptom.actual:
        return f"the output is {symptom.actual[0].text}"
    return symptom.quote or symptom.kind.value
