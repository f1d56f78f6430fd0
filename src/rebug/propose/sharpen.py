"""A run that shows the symptom although its script exits 0, made to fail because of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from rebug.instruments import inline
from rebug.model import Basis, Candidate, Ended, Failure, Role, SymptomKind, Trial
from rebug.ports import Situation
from rebug.propose.assertions import asserting
from rebug.propose.code import add_imports, bound_names, parse
from rebug.propose.files import put_first
from rebug.propose.needles import pieces_of, reported_texts
from rebug.propose.rewrite import with_all_output_check

HANG_SECONDS = 8
"""Wall seconds after which a script that should end at once is said to hang."""

PATIENCE = 3
"""Seconds to which the time limits that a script sets itself are lowered."""

_LIMIT = re.compile(r"(\b(?:\w*timeout|total|deadline)\s*=\s*)(?:[4-9]|[1-9]\d{1,3})(?:\.\d+)?(?![\w.])")
_THREADS = """_errors = []


def _record(args):
    _errors.append(args.exc_value)
    threading.__excepthook__(args)


threading.excepthook = _record
"""
_JOIN = """for _thread in threading.enumerate():
    if _thread is not threading.main_thread() and not _thread.daemon:
        _thread.join(10)
"""
_UNRAISABLE = """_errors = []


def _record(args):
    _errors.append(args.exc_value)
    sys.__unraisablehook__(args)


sys.unraisablehook = _record
"""
_WARNINGS = """_caught = []


def _record(message, category, *place, **more):
    _caught.append((category.__name__, str(message)))


warnings.simplefilter("always")
warnings.showwarning = _record
"""


class Sharpen:
    """Variants of runs that showed the symptom and exited 0 (or never ended) that end non-zero."""

    name = "sharpen"
    reactive = True

    def propose(self, situation: Situation) -> Iterator[Candidate]:
        done = {parent for t in situation.trials if t.candidate.proposer == self.name for parent in t.candidate.parents}
        for trial in situation.trials:
            if trial.candidate.id not in done and trial.candidate.role is Role.ATTEMPT:
                yield from _sharpened(trial, situation)


def _sharpened(trial: Trial, situation: Situation) -> Iterator[Candidate]:
    script, observation = trial.candidate.script, trial.observation
    hasty = impatient(script) if observation.ended is Ended.TIMED_OUT and times_out(situation) else ""
    if hasty:
        yield replace(
            trial.candidate, id="", round=0, script=hasty, proposer=Sharpen.name, parents=(trial.candidate.id,)
        )
    if observation.ended is Ended.TIMED_OUT and situation.symptom.kind in {SymptomKind.HANG, SymptomKind.UNKNOWN}:
        if "dump_traceback_later" not in script and "_Watch(" not in script:
            yield asserting(
                trial, with_watchdog(script), Sharpen.name, Basis.REPORT, expected="it ends", actual="it hangs"
            )
        return
    if observation.ended is not Ended.EXITED or observation.exit != 0 or trial.candidate.basis is not Basis.NONE:
        return
    for text, expected, actual in [
        *_of_failures(trial, situation),
        *_of_warnings(trial, situation),
        *_of_logs(trial, situation),
    ]:
        if parse(text) is not None:
            yield asserting(trial, text, Sharpen.name, Basis.REPORT, expected=expected, actual=actual)


def with_watchdog(script: str, seconds: int = HANG_SECONDS) -> str:
    """The script ended with status 1 and all stacks shown when it is still running after some seconds; by the plain
    means of the interpreter where the script gives names of the instrument another meaning."""
    tree, instrument = parse(script), parse(inline("watchdog"))
    plain = {f"import {name}" for name in ("asyncio", "atexit", "faulthandler", "os", "sys", "threading", "time")}
    own = [node for node in tree.body if ast.unparse(node) not in plain] if tree else []
    if tree and instrument and not bound_names(own) & bound_names(instrument.body):
        return put_first(script, f"{inline('watchdog')}\n\nwatch({seconds})")
    return add_imports(
        put_first(script, f"faulthandler.dump_traceback_later({seconds}, exit=True)"), ["import faulthandler"]
    )


def times_out(situation: Situation) -> bool:
    """Whether what is reported ends in a time-out's exception."""
    reported = situation.symptom.failure
    return reported is not None and "Timeout" in reported.name


def impatient(script: str) -> str:
    """The script with its own time limits lowered, "" when it has none: what never ends does not end sooner, and what
    ends does so long before."""
    text = _LIMIT.sub(lambda m: f"{m[1]}{PATIENCE}", script)
    return text if text != script and parse(text) is not None else ""


def _wanted(failure: Failure, situation: Situation) -> bool:
    """Whether a failure is the reported one; where the report claims something else, no failure is."""
    reported = situation.symptom.failure
    if situation.symptom.kind in {SymptomKind.WRONG_OUTPUT, SymptomKind.SLOW, SymptomKind.LEAK}:
        return False
    return reported is not None and bool(reported.type) and failure.name == reported.name


def _of_failures(trial: Trial, situation: Situation) -> Iterator[tuple[str, str, str]]:
    """Failures that did not end the script: of threads, finalizers, tasks; printed or logged."""
    for failure in trial.observation.failures[:4]:
        if not _wanted(failure, situation):
            continue
        shown = f"{failure.name}: {failure.message}".strip(": ")[:300]
        condition = _error_condition(failure)
        if failure.where == "thread":
            body = put_first(trial.candidate.script, _THREADS).rstrip()
            text = f"{body}\n\n{_JOIN}{_none_of(condition, shown)}"
            yield add_imports(text, ["import threading"]), "no exception in a thread", shown
        elif failure.where == "unraisable":
            body = put_first(trial.candidate.script, _UNRAISABLE).rstrip()
            yield (
                add_imports(f"{body}\n\ngc.collect()\n{_none_of(condition, shown)}", ["import gc", "import sys"]),
                ("no exception in a finalizer"),
                shown,
            )
        else:
            pieces = list(pieces_of(shown.splitlines()[0])) or [failure.name]
            check = f"assert not all(piece in _shown for piece in {pieces!r}), {f'the output has {shown}'!r}"
            yield with_all_output_check(trial.candidate.script, check), "output without a traceback", shown


def _error_condition(failure: Failure) -> str:
    pieces = list(pieces_of(failure.message.splitlines()[0])) if failure.message else []
    kind = f"type(e).__name__ == {failure.name!r}"
    return f"{kind} and all(piece in str(e) for piece in {pieces!r})" if pieces else kind


def _none_of(condition: str, shown: str) -> str:
    return f"assert not any({condition} for e in _errors), {f'got {shown}'!r}\n"


def _of_warnings(trial: Trial, situation: Situation) -> Iterator[tuple[str, str, str]]:
    symptom = situation.symptom
    if symptom.kind is not SymptomKind.WARNING:
        return
    texts = [v.text for v in symptom.messages] or ([symptom.failure.message] if symptom.failure else [])
    for seen in trial.observation.warnings[:50]:
        category = seen.category.rpartition(".")[2]
        alike = not texts or any(
            all(p in seen.message for p in pieces_of(text.splitlines()[0])) for text in texts if text
        )
        if symptom.warning.rpartition(".")[2] in {"", category} and alike:
            pieces = list(pieces_of(seen.message.splitlines()[0] if seen.message else "")) or [seen.message[:80]]
            check = (
                f"_reported = [w for w in _caught if w[0] == {category!r} and all(p in w[1] for p in {pieces!r})]\n"
                "assert not _reported, f'got the warning {_reported[0]}'\n"
            )
            body = put_first(trial.candidate.script, _WARNINGS).rstrip()
            yield (
                add_imports(f"{body}\n\n{check}", ["import warnings"]),
                "no such warning",
                f"{category}: {seen.message}",
            )
            return


def _of_logs(trial: Trial, situation: Situation) -> Iterator[tuple[str, str, str]]:
    if situation.symptom.kind not in {SymptomKind.LOG, SymptomKind.UNKNOWN}:
        return
    lines = [(trial.observation.stdout + "\n" + trial.observation.stderr), *(e.message for e in trial.observation.logs)]
    for text in reported_texts(situation.symptom):
        pieces = list(pieces_of(text.splitlines()[0]))
        if pieces and any(all(piece in line for piece in pieces) for line in lines):
            check = f"assert not all(piece in _shown for piece in {pieces!r}), {f'the output has {text[:200]}'!r}"
            yield with_all_output_check(trial.candidate.script, check), "output without it", text
            return
