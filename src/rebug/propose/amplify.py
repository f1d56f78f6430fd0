"""What fails now and then, made to fail almost always: run again and again, switched often, paused at the suspects."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rebug.instruments import inline
from rebug.model import Candidate, Ended, Role, SymptomKind, Trial
from rebug.ports import Situation
from rebug.propose.code import bound_names, parse

_FICKLE = re.compile(r"fails in [1-9]\d* of \d+ runs")
_OWN = {"snippet", "stand-ins", "lacking"}
_MOST = 6  # trials that are amplified
_Definition = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Amplify:
    """Variants of the reporter's own program, and of what confirmation found to come and go, shown more often."""

    name = "amplify"
    reactive = True

    def propose(self, situation: Situation) -> Iterator[Candidate]:
        done = {parent for t in situation.trials if t.candidate.proposer == self.name for parent in t.candidate.parents}
        if len(done) >= _MOST:
            return
        for trial in situation.trials:
            candidate = trial.candidate
            if candidate.id in done or candidate.role is not Role.ATTEMPT or not _worth(trial, situation):
                continue
            for at in dict.fromkeys(((), _suspects(situation))):
                if script := amplified(candidate.script, _error(situation), at):
                    pauses = f", with pauses in {', '.join(at)}" if at else ""
                    often = f"again and again, threads switched often{pauses}"
                    claim = replace(candidate.hypothesis, conditions=often)
                    yield replace(
                        candidate,
                        id="",
                        round=0,
                        script=script,
                        proposer=self.name,
                        parents=(candidate.id,),
                        hypothesis=claim,
                    )


def _worth(trial: Trial, situation: Situation) -> bool:
    if any(_FICKLE.search(reason) for reason in trial.loss.reasons):
        return True
    quiet = trial.observation.ended is Ended.EXITED and trial.observation.exit == 0
    return situation.symptom.kind is SymptomKind.RACE and quiet and trial.candidate.proposer in _OWN


def _error(situation: Situation) -> str:
    failure = situation.symptom.failure
    return failure.name if failure is not None and failure.type else "AssertionError"


def _suspects(situation: Situation) -> tuple[str, ...]:
    """Functions of the subject in which a pause may bring the failure about: those of the stack, else those named."""
    failure, index = situation.symptom.failure, situation.index
    frames = [f.function for f in failure.frames if index.at(f.file, f.line, f.function)] if failure else []
    named = [name.rpartition(".")[2] for name in situation.symptom.suspects]
    known = [name for name in named if any(s.kind in {"function", "method"} for s in index.find(name))]
    return tuple(dict.fromkeys(frames[-3:] or known[:3]))


def amplified(script: str, error: str, at: Sequence[str] = ()) -> str:
    """The program with its main part as a function that is called again and again; "" where it has none.

    Names that the main part binds stay global, since functions of the program may read them.
    """
    tree, instrument = parse(script), parse(inline("rate"))
    if tree is None or instrument is None or bound_names(tree.body) & {"again", "_pausing", "act"}:
        return ""
    body: list[ast.stmt] = []
    for node in tree.body:
        guarded = isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
        body += node.body if isinstance(node, ast.If) and guarded else [node]
    first = next((n for n, node in enumerate(body) if not isinstance(node, _Definition) and not _plain(node)), None)
    main = [] if first is None else [node for node in body[first:] if not isinstance(node, _Definition)]
    if not main or any(
        isinstance(leaf, ast.Await | ast.AsyncWith | ast.AsyncFor) for n in main for leaf in ast.walk(n)
    ):
        return ""
    kept = [node for node in body if node not in main]
    shared = sorted(bound_names(main))
    inner = [f"    global {', '.join(shared)}"] if shared else []
    inner += [f"    {line}" for node in main for line in ast.unparse(node).splitlines()]
    call = f"again(act, {error!r}, at={tuple(at)!r})" if at else f"again(act, {error!r})"
    text = "\n\n".join([*map(ast.unparse, kept), "\n".join(["def act():", *inner]), call]) + "\n"
    whole = f"{inline('rate')}\n\n{text}"
    return whole if parse(whole) is not None else ""


def _plain(node: ast.stmt) -> bool:
    """Whether a statement only names a constant or documents."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
