"""Native crashes without a program that shows them: many calls of the subject, each in a process that may die.

A probe (`native_probe`) finds which calls die; each becomes a short program of its own as soon as the probe's trial is
there. Which families of inputs are tried, and in which order, follows from what the crash reached for.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping

from rebug.model import Candidate, Hypothesis, Report, Role, Symptom, SymptomKind, Trial, Variation
from rebug.ports import Situation
from rebug.propose import native_cases, native_probe
from rebug.propose.code import fingerprint, parse

SECONDS = 9.0
"""Wall time of one probe; the limit of a run is about half as much again."""

_HITS = 4  # of one probe that become candidates
_FUTURE = "from __future__ import annotations\n"
_SOURCE = inspect.getsource(native_cases) + inspect.getsource(native_probe).partition(_FUTURE)[2]
_PROBED = Variation(variables=(("MALLOC_MMAP_THRESHOLD_", "65536"),))
"""Small data gets a mapping of its own too (glibc), so that a probe can try thousands of sizes."""

_PAGES = "256"
"""Pages of the data in a program made of a hit. 1 MiB has a mapping of its own in nearly every process: glibc's
threshold starts at 128 KiB and rises to the largest mapping freed so far; from 2 MiB on, the kernel may align it."""

_RAW = re.compile(r"__new__|uninitiali[sz]ed|without (?:calling )?`?__init__", re.IGNORECASE)
_QUOTED = re.compile(
    r"(?:\b(?P<key>[A-Za-z_]\w{0,30})[=:] ?)"
    r"(?P<value>b?'(?:[^'\\\n]|\\.){0,300}'|b?\"(?:[^\"\\\n]|\\.){0,300}\"|None|True|False|\[\]|\{\}|\(\)|-?\d{1,20}(?:\.\d{1,20})?)(?![\w.])"
)
"""A value that a log gives with its name."""

_MOST_QUOTED = 10
_CLAIMS = {
    "page": "Data whose memory ends just before a page that is not mapped makes this call read past its end.",
    "deep": "Deeply nested data makes this call run out of stack.",
    "wild": "This call does not survive a value that it should refuse.",
    "reported": "This call does not survive the values that the report quotes.",
    "life": "This call does not survive that its object has ended, or is changed, meanwhile.",
}


class NativeProbe:
    """One probe after the other, and programs made of what they found."""

    name = "native-probe"
    reactive = True

    def propose(self, situation: Situation) -> Iterable[Candidate]:
        if situation.symptom.kind is not SymptomKind.CRASH or not situation.trials:
            return
        yield from _found(situation)
        plans = [plan_of(t.candidate.script) for t in situation.trials]
        done = {plan["family"] for plan in plans if plan is not None}
        waiting = [family for family in families(situation.symptom) if family not in done]
        if waiting:
            yield _probe(situation, waiting[0])


def families(symptom: Symptom) -> tuple[str, ...]:
    """The families of inputs worth a probe, the likeliest first."""
    native = symptom.native
    address = native.address if native else ""
    if address == "page":
        return ("page", "reported")
    if address == "stack":
        return ("reported", "deep", "wild")
    return (
        ("reported", "wild", "life", "deep")
        if address or (native and native.corruption)
        else ("reported", "wild", "deep", "life", "page")
    )


def quoted_values(report: Report) -> list[tuple[str, str]]:
    """(name, literal) of the values that the report's text and logs give with their names, the last ones first."""
    texts = [report.body[:200_000], *(a.text[-200_000:] for a in report.attachments)]
    found = [(m["key"], m["value"]) for text in texts for m in _QUOTED.finditer(text)]
    return [pair for pair in dict.fromkeys(reversed(found)) if parse(pair[1]) is not None][:_MOST_QUOTED]


def _probe(situation: Situation, family: str) -> Candidate:
    names = [name.rpartition(".")[2].rstrip("()") for name in situation.symptom.suspects]
    plan = {
        "family": family,
        "modules": list(situation.index.modules),
        "names": names,
        "documents": [],
        "quoted": quoted_values(situation.report),
        "raw": bool(_RAW.search(situation.report.body[:50_000])),
        "seconds": SECONDS,
    }
    return Candidate(
        script=f"{_SOURCE}\n\nmain({plan!r})\n",
        proposer=NativeProbe.name,
        role=Role.PROBE,
        hypothesis=Hypothesis(
            claim=f"Some call of the software under test dies. {_CLAIMS[family]}",
            conditions=f"about {SECONDS:.0f} seconds of search",
            prediction=f"calls that end with {situation.symptom.signal}",
        ),
        variation=_PROBED,
    )


def plan_of(script: str) -> dict[str, object] | None:
    """The plan of a probe's script, None when it is not one."""
    last = script.rstrip("\n").rpartition("\n")[2]
    if not last.startswith("main(") or native_probe.PREFIX not in script:
        return None
    try:
        plan = ast.literal_eval(last[5:-1])
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return plan if isinstance(plan, dict) and isinstance(plan.get("family"), str) else None


# -------------------------------------------------------------------------------------------------------------- harvest


def _found(situation: Situation) -> Iterator[Candidate]:
    tried = {fingerprint(t.candidate.script) for t in situation.trials}
    for trial in situation.trials:
        plan = plan_of(trial.candidate.script) if trial.candidate.role is Role.PROBE else None
        if plan is None:
            continue
        for hit in ranked(hits_of(trial.observation.stdout), situation.symptom)[:_HITS]:
            script = program(hit, situation.index.modules)
            if script and fingerprint(script) not in tried:
                tried.add(fingerprint(script))
                yield _attempt(trial, script, hit, str(plan["family"]))


def _attempt(probe: Trial, script: str, hit: Mapping[str, str], family: str) -> Candidate:
    return Candidate(
        script=script,
        proposer=NativeProbe.name,
        parents=(probe.candidate.id,) if probe.candidate.id else (),
        hypothesis=Hypothesis(
            claim=_CLAIMS[family],
            conditions="the input made in the script",
            prediction=f"it is killed by {hit['signal']}",
        ),
        requirements=probe.candidate.requirements,
    )


def hits_of(stdout: str) -> list[dict[str, str]]:
    """The deaths that a probe told, in order; what does not read as one is left out."""
    found = []
    for line in stdout.splitlines()[:2000]:
        if line.startswith(native_probe.PREFIX):
            try:
                record = json.loads(line.removeprefix(native_probe.PREFIX))
            except (ValueError, RecursionError):
                continue
            wanted = ("signal", "import", "target", "helper", "body")
            if isinstance(record, dict) and all(isinstance(record.get(name), str) for name in wanted):
                found.append({name: record[name] for name in wanted})
    return found


def ranked(hits: Iterable[dict[str, str]], symptom: Symptom) -> list[dict[str, str]]:
    """What died of the reported signal in what the report names first, then the shortest; one hit of each target."""
    names = {name.rpartition(".")[2].rstrip("()") for name in symptom.suspects}

    def place(hit: dict[str, str]) -> tuple[bool, bool, int]:
        named = bool(names & set(re.findall(r"\w+", hit["target"])))
        return hit["signal"] != symptom.signal, not named, len(hit["body"])

    first: dict[str, dict[str, str]] = {}
    for hit in sorted(hits, key=place):
        first.setdefault(hit["target"], hit)
    return list(first.values())


def program(hit: Mapping[str, str], modules: Iterable[str]) -> str:
    """The program of a hit; "" for one that holds anything but calls of the subject with plain values, since a run's
    output is not to be trusted."""
    helper = native_cases.HELPERS.get(hit["helper"], "")
    imported = re.fullmatch(r"import ([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*){0,6})", hit["import"])
    if not imported or imported[1] not in set(modules) or len(hit["body"]) > 4000:
        return ""
    tree = parse(hit["body"])
    known = _BUILTINS | {imported[1]} | {n.name for n in _functions(helper)}
    if tree is None or not all(_harmless(node, known) for node in ast.walk(tree)):
        return ""
    lines = [line for line in helper.splitlines() if line.startswith(("import ", "from "))]
    rest = (helper.partition("\n\n\n")[2] if lines else helper).strip("\n").replace("MAPPED", _PAGES)
    head = "\n".join([*lines, *([""] if lines else []), hit["import"]])
    return f"{head}\n\n\n{rest}\n\n\n{hit['body']}\n" if rest else f"{head}\n\n{hit['body']}\n"


def _functions(text: str) -> list[ast.FunctionDef | ast.ClassDef]:
    tree = parse(text)
    return [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)] if tree else []


_PLAIN = (
    *(ast.Module, ast.Expr, ast.Call, ast.keyword, ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.For),
    *(ast.Try, ast.ExceptHandler, ast.Pass, ast.Assign, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop),
    *(ast.expr_context, ast.Starred, ast.Subscript, ast.Slice),
)


_BUILTINS = {
    *("data", "Exception", "bytearray", "memoryview", "float", "object", "type", "len", "iter", "range", "set", "repr"),
    *("hash", "list", "dict", "tuple"),
}


def _harmless(node: ast.AST, known: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in known
    if isinstance(node, ast.Attribute):
        return not node.attr.startswith("_") or node.attr == "__new__"
    return isinstance(node, _PLAIN)
