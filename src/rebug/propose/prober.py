"""The program inside a probe candidate: a small greybox search for inputs, in one process.

It runs in the subject's interpreter (3.8 and later) without rebug: `data_probe` joins the texts of `probe_values` and
this file, a plan and a call of `main`. A *template* is a program in which literals were replaced by the names `DATA_0`,
`DATA_1`, …; the search mutates the values of these names, keeps those that reach new calls or new failures of the
subject as further seeds, and prints the smallest inputs whose failure looks like the reported one.

Invariant: it never decides that the bug was reproduced. It prints inputs; plain candidates made of them are judged.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from types import CodeType, FrameType, TracebackType
from typing import Any, Callable, NamedTuple  # noqa: UP035 - 3.8

from rebug.propose.probe_values import Mutator, reductions, source, swap

PREFIX = "REBUG-PROBE "
ONE_RUN_SECONDS = 1.0  # a variant that takes longer is dropped
REFUSED_SHARE = 0.12  # of the runs that go to inputs which the subject rightly refuses
NO_HIT = 9
ENOUGH_SECONDS = 1.5  # of further search after the first exact hit


class TooLong(BaseException):
    """A variant ran into ONE_RUN_SECONDS; not an Exception, so that the subject does not catch it."""


class Result(NamedTuple):
    """What one variant showed. `grade` 0 is the reported failure, 3 a failure of the right type, 9 none of interest."""

    grade: int
    signature: tuple[Any, ...]
    message: str
    edges: set[tuple[Any, ...]]
    line: int  # of the template, where it failed

    @property
    def failed(self) -> bool:
        return bool(self.signature)


class Hit(NamedTuple):
    key: tuple[Any, ...]
    values: tuple[Any, ...]
    result: Result


# ----------------------------------------------------------------------------------------------------------- execution


class Runner:
    """Runs the template with values and grades what it shows against the reported failure."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.code: CodeType = compile(plan["template"], "<candidate>", "exec")
        self.modules = set(plan["modules"])
        self.type: str = plan["type"]
        self.message = re.compile(plan["message"], re.DOTALL) if plan["message"] else None
        self.functions: list[str] = list(plan["functions"])
        self.step: set[int] = set(plan["step"])
        self.valid = VALIDATORS.get(plan["format"])
        self.reported: str = plan["reported"]
        self.types: list[str] = list(plan["types"])  # of the values as the program had them
        self.documents: list[int] = list(plan["documents"])  # which values are texts of the format
        self.known: dict[CodeType, bool] = {}
        self.edges: set[tuple[Any, ...]] = set()
        self.runs = 0

    def run(self, values: tuple[Any, ...]) -> Result:
        self.runs += 1
        self.edges = set()
        names: dict[str, Any] = {"__name__": "__main__", "folder": os.getcwd()}  # noqa: PTH109
        for number, value in enumerate(values):
            names[f"DATA_{number}"] = value
        error: BaseException | None = None
        alarm(ONE_RUN_SECONDS)
        sys.settrace(self.trace)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                exec(self.code, names)  # noqa: S102 - running variants is this program's purpose
        except TooLong:
            return Result(NO_HIT, (), "", self.edges, 0)
        except BaseException as caught:  # noqa: BLE001 - whatever the subject raises is what is being observed
            error = caught
        finally:
            sys.settrace(None)
            alarm(0.0)
        return self.graded(error)

    def trace(self, frame: FrameType, event: str, argument: Any) -> None:  # noqa: ARG002 - the interpreter's signature
        """Call events only: which line of the subject called which of its functions."""
        code = frame.f_code
        if self.ours(frame, code):
            back = frame.f_back
            self.edges.add((code, back.f_lineno if back is not None and self.known.get(back.f_code) else 0))

    def ours(self, frame: FrameType, code: CodeType) -> bool:
        found = self.known.get(code)
        if found is None:
            found = str(frame.f_globals.get("__name__", "")).partition(".")[0] in self.modules
            self.known[code] = found
        return found

    def graded(self, error: BaseException | None) -> Result:
        if error is None:
            return Result(NO_HIT, (), "", self.edges, 0)
        frames, line = self.frames(error.__traceback__)
        message = shown(error)
        name = type(error).__name__
        signature = (name, *(frames[-1] if frames else ("", "", 0)))
        functions = [place[1] for place in frames]
        grade = NO_HIT
        if name == self.type and frames:
            same_place = not self.functions or functions[-1] == self.functions[-1]
            same_message = self.message is None or self.message.search(message) is not None
            if same_place and same_message:
                same_steps = functions[-len(self.functions) :] == self.functions or not self.functions
                grade = 0 if same_steps else 1
            else:
                grade = 2 if same_place or same_message else 3
        return Result(grade, signature, message, self.edges, line)

    def frames(self, traceback: TracebackType | None) -> tuple[list[tuple[str, str, int]], int]:
        found, line = [], 0
        while traceback is not None:
            frame = traceback.tb_frame
            if frame.f_code.co_filename == "<candidate>":
                line = traceback.tb_lineno
            elif self.ours(frame, frame.f_code):
                found.append((os.path.basename(frame.f_code.co_filename), frame.f_code.co_name, traceback.tb_lineno))  # noqa: PTH119
            traceback = traceback.tb_next
        return found, line

    def accepted(self, values: tuple[Any, ...]) -> bool:
        """Whether a reference reader takes the documents among the values (True where there is no such reader)."""
        if self.valid is None:
            return True
        return all(accepts(self.valid, values[at]) for at in self.documents if isinstance(values[at], (str, bytes)))

    def order(self, values: tuple[Any, ...], result: Result) -> tuple[Any, ...]:
        """Smaller is better: the reported failure, on a valid input, in the reported step, with values of the usual
        types, with the very words of the report, short."""
        invalid = not self.accepted(values)
        elsewhere = bool(self.step) and result.line not in self.step
        changed = sum(type(v).__name__ != name for v, name in zip(values, self.types))  # noqa: B905 - 3.8
        other_words = result.message.strip().partition("\n")[0][:300] != self.reported
        return (result.grade, invalid, elsewhere, changed, other_words, len(repr(values)))


def alarm(seconds: float) -> None:
    """Raise TooLong in `seconds` (0: no more); does nothing where the platform has no interval timer."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def too_long(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a signal handler's signature
    raise TooLong


def shown(error: BaseException) -> str:
    """The exception's message, also when its own __str__ fails."""
    try:
        return str(error)[:2000]
    except Exception:  # noqa: BLE001 - the subject's own code
        return ""


# ---------------------------------------------------------------------------------------- reference readers of formats


def read_toml(text: str) -> None:
    import tomllib  # noqa: PLC0415 - only since 3.11

    tomllib.loads(text)


def read_ini(text: str) -> None:
    import configparser  # noqa: PLC0415

    configparser.ConfigParser(interpolation=None).read_string(text)


def read_xml(text: str) -> None:
    from xml.dom import minidom  # noqa: PLC0415

    minidom.parseString(text)  # noqa: S318 - the input was made here


def read_json(text: str) -> None:
    json.loads(text)


def read_python(text: str) -> None:
    ast.parse(text)


VALIDATORS: dict[str, Callable[[str], None]] = {
    "toml": read_toml,
    "json": read_json,
    "ini": read_ini,
    "xml": read_xml,
    "python": read_python,
}


def accepts(reader: Callable[[str], None], value: Any) -> bool:
    """Whether the standard library's reader of the format takes the text; True where it has none."""
    try:
        reader(value.decode("utf-8", "replace") if isinstance(value, bytes) else value)
    except ImportError:
        return True
    except Exception:  # noqa: BLE001 - every reader has its own errors
        return False
    return True


# -------------------------------------------------------------------------------------------------------------- search


class Search:
    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.rng = random.Random(plan["seed"])  # noqa: S311 - not for secrets
        self.runner = Runner(plan)
        self.mutator = Mutator(plan, self.rng)
        self.corpus: list[tuple[Any, ...]] = []  # inputs that got past the subject's own checks of its input
        self.refused: list[tuple[Any, ...]] = []  # inputs that reached something new but failed elsewhere than reported
        self.edges: set[tuple[Any, ...]] = set()
        self.failures: set[tuple[Any, ...]] = set()
        self.hits: dict[tuple[Any, ...], Hit] = {}
        self.tried: set[str] = set()
        self.found = 0.0  # when the first input failed exactly as reported

    def consider(self, values: tuple[Any, ...], *, seed: bool = False) -> None:
        mark = repr(values)
        if mark in self.tried:
            return
        self.tried.add(mark)
        if not seed and not self.runner.accepted(values) and self.rng.random() > REFUSED_SHARE:
            return
        result = self.runner.run(values)
        fresh = bool(result.edges - self.edges) or (result.failed and result.signature not in self.failures)
        self.edges |= result.edges
        if result.failed:
            self.failures.add(result.signature)
        improved = result.grade < NO_HIT and self.keep(values, result)
        if seed or fresh or improved:
            passed = not result.failed or result.grade < 2 or result.line in self.runner.step
            (self.corpus if seed or passed else self.refused).append(values)

    def keep(self, values: tuple[Any, ...], result: Result) -> bool:
        """Remember a hit; True when it is better than what was known of its kind."""
        key = self.runner.order(values, result)
        bucket = (key[:3], result.signature, len(result.edges) // 8)
        if not any(key[:5]) and not self.found:
            self.found = time.monotonic()
        if bucket in self.hits and key >= self.hits[bucket].key:
            return False
        self.hits[bucket] = Hit(key, values, result)
        return True

    def explore(self, until: float, most: int) -> None:
        for values in self.plan["seeds"]:
            if time.monotonic() > until:
                return
            self.consider(tuple(values), seed=True)
        while time.monotonic() < until and self.runner.runs < most:
            if self.found and time.monotonic() > self.found + ENOUGH_SECONDS:
                return
            pool = self.refused if self.refused and self.rng.random() < REFUSED_SHARE else self.corpus
            recent = pool[-1 - int(len(pool) * self.rng.random() ** 2)]
            self.consider(self.mutator.change(recent, self.corpus))

    def best(self, count: int) -> list[Hit]:
        """The best hits, those of different failures before more of one."""
        chosen: list[Hit] = []
        for hit in sorted(self.hits.values(), key=lambda h: h.key):
            if len(chosen) < count:
                chosen.append(hit)
        return chosen

    def shrink(self, hit: Hit, until: float) -> Hit:
        """Greedy deletion that keeps grade, validity, step and failure."""
        improved = True
        while improved and time.monotonic() < until:
            improved = False
            for smaller in reductions(hit.values):
                if time.monotonic() > until:
                    break
                result = self.runner.run(smaller)
                key = self.runner.order(smaller, result)
                if key < hit.key and key[:3] <= hit.key[:3] and result.signature == hit.result.signature:
                    hit, improved = Hit(key, smaller, result), True
                    break
        return hit

    def renamed(self, hit: Hit) -> Hit:
        """The same with the report's own names, where the message shows which of ours stands for which."""
        pattern, reported = self.runner.message, self.plan["reported"]
        if pattern is None or hit.result.grade > 1:
            return hit
        theirs, ours = pattern.search(reported), pattern.search(hit.result.message)
        if theirs is None or ours is None:
            return hit
        for old, new in ((a, b) for a, b in zip(ours.groups(), theirs.groups()) if a and b and a != b):  # noqa: B905 - 3.8
            values = tuple(swap(v, old, new) for v in hit.values)
            result = self.runner.run(values)
            key = self.runner.order(values, result)
            if key[:3] <= hit.key[:3]:
                hit = Hit(key, values, result)
        return hit


def described(hit: Hit) -> dict[str, Any]:
    grade, invalid, elsewhere = hit.key[:3]
    values = [source(value) for value in hit.values]
    return {
        "grade": grade,
        "invalid": invalid,
        "elsewhere": elsewhere,
        "values": values,
        "line": hit.result.line,
        "message": hit.result.message[:300],
    }


def main(plan: dict[str, Any]) -> None:
    """Search for `plan["seconds"]` seconds and print one line: PREFIX and a JSON object with the hits."""
    started = time.monotonic()
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, too_long)
    directory = tempfile.mkdtemp()
    os.chdir(directory)
    search = Search(plan)
    search.explore(started + plan["seconds"] * 0.75, plan["most"])
    hits = []
    chosen = search.best(6)
    for number, hit in enumerate(chosen):
        share = plan["seconds"] * (0.75 + 0.25 * (number + 1) / len(chosen))
        hits.append(search.shrink(search.renamed(hit), started + share))
    found = sorted({repr(hit.values): hit for hit in hits}.values(), key=lambda h: h.key)
    lines = [described(hit) for hit in found]
    record = {"plan": plan["name"], "runs": search.runner.runs, "corpus": len(search.corpus), "hits": lines}
    sys.__stdout__.write(PREFIX + json.dumps(record) + "\n")  # type: ignore[union-attr]
    sys.__stdout__.flush()  # type: ignore[union-attr]
