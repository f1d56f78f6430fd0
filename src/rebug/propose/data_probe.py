"""Searches for the input that the report describes but does not give.

A probe candidate runs thousands of inputs through the reporter's own lines in one process (`prober`) and prints those
that fail like the report; as soon as its trial is there, plain candidates are made of them.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from rebug.model import BlockKind, Candidate, Hypothesis, Role, SymptomKind, Trial
from rebug.ports import Situation
from rebug.propose import probe_values, prober
from rebug.propose.code import fingerprint, parse
from rebug.propose.entry_points import EntryPoints, stated_requirements
from rebug.propose.examples import entered_classes, examples_with_line, uses_through
from rebug.propose.formats import SEEDS, guess
from rebug.propose.frames import chain, is_stdlib, places, subject_places
from rebug.propose.literals import message_pattern
from rebug.propose.repair import programs
from rebug.propose.sequences import MARK, sequence_programs, unrolled
from rebug.propose.templates import Template, filled, literal, template_of
from rebug.propose.tolerance import own_errors, tolerant
from rebug.propose.turns import in_turn
from rebug.propose.workshop import Workshop

SECONDS = 8.0
"""Wall time of one probe; the limit of a run is about twice that."""

_PER_ROUND = 3
_BASES = 24  # programs that are kept for later rounds
_MOST_RUNS = 60_000
_HITS = 6  # of one probe that become candidates
_SEEDS = 80
_IMPORT = "from rebug.propose.probe_values import Mutator, reductions, source, swap\n"
_FUTURE = "from __future__ import annotations\n"
_SOURCE = inspect.getsource(probe_values) + inspect.getsource(prober).replace(_IMPORT, "").partition(_FUTURE)[2]
_KINDS = {SymptomKind.EXCEPTION, SymptomKind.UNKNOWN, SymptomKind.LOG, SymptomKind.EXIT}


class DataProbe:
    """Probes in each round, and attempts made of what earlier probes found."""

    name = "data-probe"
    reactive = True

    def __init__(self) -> None:
        self._known: tuple[object, list[tuple[str, str]]] = (None, [])

    def _programs(self, workshop: Workshop) -> Iterator[tuple[str, str]]:
        """The report's code, then the parents, then the rest. What depends on the report alone is made once."""
        situation = workshop.situation
        if self._known[0] is not situation.report:
            self._known = (situation.report, list(islice(_bases(workshop), _BASES)))
        own = "the report's own code"
        yield from (pair for pair in self._known[1] if pair[1] == own)
        attempts = [t.candidate.script for t in situation.parents if t.candidate.role is Role.ATTEMPT]
        yield from ((script, "an earlier attempt") for script in attempts)
        yield from (pair for pair in self._known[1] if pair[1] != own)

    def propose(self, situation: Situation) -> Iterable[Candidate]:
        yield from _found(situation)
        symptom = situation.symptom
        if symptom.failure is None or not symptom.failure.type or symptom.kind not in _KINDS:
            return
        here = [t for t in situation.trials if t.candidate.role is Role.PROBE and t.candidate.round == situation.round]
        plans = [plan_of(t.candidate.script) for t in situation.trials if t.candidate.role is Role.PROBE]
        done = {fingerprint(str(plan["template"])) for plan in plans if plan is not None}
        room = _PER_ROUND - len(here)
        if room <= 0:
            return
        workshop = Workshop(situation)
        for script, words in self._programs(workshop):
            template = template_of(script) if room > 0 else None
            if template is not None and fingerprint(template.text) not in done:
                done.add(fingerprint(template.text))
                room -= 1
                yield _probe(workshop, template, words)


# -------------------------------------------------------------------------------------------------------------- harvest


def _found(situation: Situation) -> Iterator[Candidate]:
    tried = {fingerprint(t.candidate.script) for t in situation.trials}
    for trial in situation.trials:
        if trial.candidate.role is Role.PROBE and (plan := plan_of(trial.candidate.script)) is not None:
            for hit in hits_of(trial.observation.stdout)[:_HITS]:
                script = unrolled(filled(_lenient(situation, plan, hit), _safe(hit.get("values"))))
                if script and fingerprint(script) not in tried:
                    tried.add(fingerprint(script))
                    yield _attempt(trial, script, hit)


def _lenient(situation: Situation, plan: Mapping[str, object], hit: Mapping[str, object]) -> str:
    """The template, its failing statement allowed to end in a clean refusal by the subject."""
    template, line = str(plan["template"]), hit.get("line")
    if not isinstance(line, int) or MARK in template:
        return template
    return tolerant(template, line, own_errors(situation))


def _attempt(probe: Trial, script: str, hit: Mapping[str, object]) -> Candidate:
    near = {0: "the same failure", 1: "the same failure in other steps", 2: "the same place or message"}
    grade = hit.get("grade")
    words = near.get(grade, "the same type of failure") if isinstance(grade, int) else "a failure"
    refused = " A reference reader refuses this input." if hit.get("invalid") else ""
    return Candidate(
        script=script,
        proposer=DataProbe.name,
        parents=(probe.candidate.id,) if probe.candidate.id else (),
        hypothesis=Hypothesis(
            claim=f"This input, found by search, leads to {words}.{refused}",
            conditions="the input given in the script",
            prediction=str(hit.get("message", ""))[:200],
        ),
        requirements=probe.candidate.requirements,
        variation=probe.candidate.variation,
    )


def plan_of(script: str) -> dict[str, object] | None:
    """The plan of a probe's script, None when it is not one."""
    last = script.rstrip("\n").rpartition("\n")[2]
    if not last.startswith("main(") or prober.PREFIX not in script:
        return None
    try:
        plan = ast.literal_eval(last[5:-1])
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return plan if isinstance(plan, dict) and isinstance(plan.get("template"), str) else None


def hits_of(stdout: str) -> list[Mapping[str, object]]:
    """The hits that a probe printed, best first; empty when it printed none or something else."""
    for line in reversed(stdout.splitlines()):
        if line.startswith(prober.PREFIX):
            try:
                record = json.loads(line.removeprefix(prober.PREFIX))
            except (ValueError, RecursionError):
                return []
            hits = record.get("hits") if isinstance(record, dict) else None
            return [hit for hit in hits if isinstance(hit, dict)] if isinstance(hits, list) else []
    return []


def _safe(values: object) -> list[str]:
    """The values of a hit as Python text, none when any is not a literal: a run's output is not to be trusted."""
    if not isinstance(values, list) or not all(isinstance(v, str) and len(v) < 20_000 for v in values):
        return []
    trees = [parse(value) for value in values]
    for tree in trees:
        body = tree.body if tree else []
        if len(body) != 1 or not isinstance(body[0], ast.Expr) or not literal(body[0].value):
            return []
    return list(values)


# ---------------------------------------------------------------------------------------------------------------- bases


def _bases(workshop: Workshop) -> Iterator[tuple[str, str]]:
    """(program, what it is) to search inputs for: the report's code, examples ended as reported, rebuilt calls."""
    situation = workshop.situation
    for block in situation.report.blocks:
        if block.kind in {BlockKind.PYTHON, BlockKind.REPL, BlockKind.OTHER}:
            for text, _ in list(programs(block.text))[:1]:
                if script := workshop.program(text.splitlines()):
                    yield script, "the report's own code"
    yield from in_turn(_sequences(workshop), _through(workshop), _ended(workshop))
    rebuilt = islice(EntryPoints().propose(replace(situation, round=1)), 4)
    yield from ((c.script, "the call rebuilt from the traceback") for c in rebuilt)


def _sequences(workshop: Workshop) -> Iterator[tuple[str, str]]:
    for owner, use in entered_classes(workshop):
        yield from (
            (text, f"some sequence of calls on {owner.name}") for text in sequence_programs(workshop, owner, use)
        )


def _through(workshop: Workshop) -> Iterator[tuple[str, str]]:
    yield from ((text, "what an existing test does") for text in uses_through(workshop))


def _ended(workshop: Workshop) -> Iterator[tuple[str, str]]:
    examples = islice(examples_with_line(workshop), 6)
    yield from ((text, "an example ended by the reporter's own line") for text in examples)


# ----------------------------------------------------------------------------------------------------------------- plan


def _probe(workshop: Workshop, template: Template, words: str) -> Candidate:
    situation = workshop.situation
    plan = plan_for(workshop, template)
    failure = situation.symptom.failure
    return Candidate(
        script=f"{_SOURCE}\n\nmain({plan!r})\n",
        proposer=DataProbe.name,
        role=Role.PROBE,
        hypothesis=Hypothesis(
            claim=f"Some input makes {words} fail as reported.",
            conditions=f"about {SECONDS:.0f} seconds of search over {len(template.values)} value(s)",
            prediction=f"inputs that lead to {failure.type if failure else 'the failure'}",
        ),
        requirements=stated_requirements(situation),
    )


def plan_for(workshop: Workshop, template: Template) -> dict[str, object]:
    """All that a probe needs, as literals."""
    situation, known = workshop.situation, workshop.known
    failure = next(iter(chain(situation.symptom)), None) or situation.symptom.failure
    reached = subject_places(places(failure, situation.index)) if failure else ()
    message = situation.symptom.failure.message if situation.symptom.failure else ""
    kind = _format(workshop, template)
    documents = _documents(template)
    return {
        "name": fingerprint(template.text)[:8],
        "template": template.text,
        "modules": list(situation.index.modules),
        "type": situation.symptom.failure.name if situation.symptom.failure else "",
        "message": message_pattern(message),
        "reported": message.strip().partition("\n")[0][:300],
        "functions": [p.frame.function.rpartition(".")[2] for p in reached],
        "step": _step(workshop, template.text),
        "format": kind,
        "words": _words(workshop),
        "documents": documents,
        "weights": [_weight(template, n, n in documents) for n in range(len(template.values))],
        "lines": _lines(workshop, kind),
        "numbers": [ast.literal_eval(n) for n in known.numbers if not re.match(r"-?0\d", n)][:12],
        "constants": [*_constants(known.spans), *_of_types(message)],
        "typed": bool(any(template.files)) or bool(kind in prober.VALIDATORS),
        "seeds": _seeds(workshop, template, kind),
        "types": [type(_value(text)).__name__ for text in template.values],
        "seconds": SECONDS,
        "most": _MOST_RUNS,
        "seed": situation.rng.getrandbits(32),
    }


def _weight(template: Template, number: int, document: bool) -> float:
    """How often a value is the one to be changed: documents and orders of steps more often than single words."""
    return 12.0 if document else 3.0 if f"{MARK}DATA_{number}:" in template.text else 1.0


def _words(workshop: Workshop) -> list[str]:
    """Names that inputs may hold: those the message quotes, then those of code spans that are no calls."""
    index, known = workshop.situation.index, workshop.known
    spans = [span for span in known.spans if span not in known.calls and not re.fullmatch(r"[\w.]+(\(\))?", span)]
    found = [word for text in (*known.quoted[:12], *spans) for word in re.findall(r"[A-Za-z_]\w{0,40}", text)]
    failure = workshop.situation.symptom.failure
    own = {failure.name if failure else "", *index.modules}
    return [word for word in dict.fromkeys(found) if word not in own and not index.find(word)][:16]


_SAMPLES: dict[str, object] = {
    "str": "a", "int": 1, "float": 1.5, "bool": True, "NoneType": None, "list": [1], "tuple": (1,), "dict": {"a": 1},
    "bytes": b"a",
}  # fmt: skip


def _of_types(message: str) -> list[object]:
    """A value of each type that the message quotes, as in `unsupported operand: 'str' and 'int'`."""
    return [_SAMPLES[name] for name in dict.fromkeys(re.findall(r"'(\w+)'", message[:2000])) if name in _SAMPLES]


def _constants(spans: Sequence[str]) -> list[object]:
    """Values other than texts that the report writes as inline code, such as `None`, `0` or `[]`."""
    found = []
    for span in spans:
        try:
            value = ast.literal_eval(span)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
        if not isinstance(value, (str, complex)) and value is not Ellipsis:
            found.append(value)
    return found[:8]


def _format(workshop: Workshop, template: Template) -> str:
    situation = workshop.situation
    frames = [f for failure in chain(situation.symptom) for f in failure.frames if not is_stdlib(f.file)]
    names = " ".join(f.function for f in frames[-6:])
    return guess(
        " ".join(template.files), situation.report.title, " ".join(situation.index.modules), names, template.text
    )


def _lines(workshop: Workshop, kind: str) -> list[str]:
    """Lines to put into texts: code spans that are no Python of their own, and lines of the report's data."""
    spans = [span for span in workshop.known.spans if len(span) < 120 and not _is_code(span)]
    data = [line for block in workshop.known.data for line in block.splitlines()[:30] if line.strip()]
    return [*spans, *data][:60] if kind or data else []


def _is_code(span: str) -> bool:
    """Whether inline code is a name, an attribute or a call: Python rather than what the program reads."""
    return bool(re.fullmatch(r"[A-Za-z_][\w.]*(\(.*\))?", span))


def _documents(template: Template) -> list[int]:
    """The values that are whole texts: contents of files, else those of several lines, else the only text."""
    of_files = [n for n, name in enumerate(template.files) if name]
    texts = [n for n, value in enumerate(template.values) if isinstance(_value(value), (str, bytes))]
    return of_files or [n for n in texts if "\\n" in template.values[n]] or (texts if len(template.values) == 1 else [])


def _step(workshop: Workshop, text: str) -> list[int]:
    """1-based lines of the template where the report says that it fails; empty when it does not say."""
    shown = [f.code for failure in chain(workshop.situation.symptom) for f in failure.frames if f.code]
    calls = [re.sub(r"\s", "", s) for s in (*shown, *workshop.known.calls)]
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = re.sub(r"\s", "", _HOLES.sub("…", line.partition("  #")[0]))
        if any(len(c) > 5 and _same(c, bare) for c in calls):
            found.append(number)
    return found


_HOLES = re.compile(r"\bDATA_\d+\b")


def _same(call: str, line: str) -> bool:
    """Whether a line with holes (`…`) can be the line shown, or contain the call shown."""
    if "…" not in line:
        return call in line
    first, _, rest = line.partition("…")
    start = re.search(r"[\w.]+\($", first)
    head = start[0] if start else first
    return len(head) > 3 and head in call and (not rest.strip(")…,:") or rest.rpartition("…")[2].strip("):,") in call)


def _seeds(workshop: Workshop, template: Template, kind: str) -> list[tuple[object, ...]]:
    """Tuples of values to start from: the program's own, then each text replaced by what is known of its format."""
    originals = tuple(_value(text) for text in template.values)
    lines = "".join(f"{line}\n" for line in _lines(workshop, kind)[:12])
    texts = [*workshop.known.data, *([lines] if lines else []), *SEEDS.get(kind, ()), *_literals_of_tests(workshop)]
    seeds = [originals]
    if MARK in template.text:  # orders of the steps: each alone, each pair
        count = template.text.count(" step == ")
        orders = [[n] for n in range(count)] + [[m, n] for m in range(count) for n in range(count) if m != n]
        seeds += [([*order], *originals[1:]) for order in orders if isinstance(originals[0], list)]
    chosen = _documents(template) or [n for n, value in enumerate(originals) if isinstance(value, str)][:3]
    others = dict.fromkeys([*texts, *(span for span in workshop.known.spans if len(span) < 200 and not _is_code(span))])
    for position in chosen:
        made = [other.encode() if isinstance(originals[position], bytes) else other for other in others]
        seeds += [(*originals[:position], other, *originals[position + 1 :]) for other in made]
    return seeds[:_SEEDS]


def _value(text: str) -> object:
    try:
        value: object = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return ""
    return value


def _literals_of_tests(workshop: Workshop) -> list[str]:
    """Texts that the nearest tests feed to the subject: those of several lines first."""
    found = [text for test in workshop.situation.index.nearest_tests(workshop.query(), 12) for text in test.literals]
    usable = dict.fromkeys(text for text in found if 1 < len(text) < 1500)
    return sorted(usable, key=lambda text: "\n" not in text)[:24]
