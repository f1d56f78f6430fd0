"""Calls the subject with many inputs, each in a child process that may die, and prints which calls killed it.

This one file is the source of a candidate and runs in the subject's interpreter, Python 3.8 or later, with the standard
library only. What it is to try stands in its plan; what killed a child is printed at once, one JSON object a line.
"""
# ruff: noqa: S102, S110, S112, BLE001 (it runs made-up calls, which may raise anything)

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import pkgutil
import select
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

PREFIX = "native-probe: "
FATAL = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP")
PATIENCE = 2.0  # seconds without a sign of life after which a child is given up
MOST_TARGETS = 160
PER_TARGET = 2  # deaths after which a target is left alone
BATCH = 4000  # items for one child
NAMESPACE = {"__name__": "__main__"}


# ------------------------------------------------------------------------------------------------------------- children


def child(items: Sequence[Any], start: int, work: Callable[[Any], Any], pipe: int) -> None:
    """Works on the items from `start` on, telling before and after each; never returns."""
    faulthandler.disable()
    silent = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(silent, number)
    for position in range(start, min(len(items), start + BATCH)):
        os.write(pipe, b"%d\n" % position)
        result = None
        try:
            result = work(items[position])
        except KeyboardInterrupt:
            pass
        except BaseException:
            pass
        if result is not None:
            os.write(pipe, json.dumps([position, result]).encode() + b"\n")
    os.write(pipe, b"end\n")
    os._exit(0)


def survive(items: Sequence[Any], work: Callable[[Any], Any], until: float) -> Iterator[tuple[Any, Any, str]]:
    """(item, result, signal) for each item that gave a result or killed the child; the result is None for those."""
    start = 0
    while start < len(items) and time.monotonic() < until:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            child(items, start, work, write)
        os.close(write)
        at = start
        finished = False
        for line in spoken(read, until):
            if line == b"end":
                finished = True
            elif line.startswith(b"["):
                position, result = json.loads(line.decode())
                yield items[position], result, ""
            elif line.isdigit():
                at = int(line)
        os.close(read)
        died = ended(pid)
        if died in FATAL:
            yield items[at], None, died
        start = at + 1 if not finished else min(len(items), start + BATCH)


def spoken(pipe: int, until: float) -> Iterator[bytes]:
    """The whole lines that a child writes, until it ends, falls silent or the time is over."""
    rest = b""
    while time.monotonic() < until:
        ready, _, _ = select.select([pipe], [], [], PATIENCE)
        data = os.read(pipe, 1 << 16) if ready else b""
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from lines


def ended(pid: int) -> str:
    """The name of the signal a child died of by itself; one that still runs is ended."""
    for _ in range(20):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.005)
    else:
        os.kill(pid, signal.SIGKILL)
        done, status = os.waitpid(pid, 0)
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else ""


# -------------------------------------------------------------------------------------------------------------- targets


def modules(roots: Sequence[str]) -> Iterator[Any]:
    """The subject's public modules, the top-level ones first."""
    for root in roots:
        try:
            top = importlib.import_module(root)
        except BaseException:
            continue
        yield top
        for found in list(pkgutil.iter_modules(getattr(top, "__path__", ())))[:60]:
            if found.name.startswith("_") or found.name in ("tests", "test", "conftest", "setup"):
                continue
            try:
                yield importlib.import_module(root + "." + found.name)
            except BaseException:
                continue


def compiled(value: Any) -> bool:
    """Whether a callable is compiled code, or a class that is, or has a base that is (object aside)."""
    if isinstance(value, type):
        return not value.__flags__ & (1 << 9) or any(
            not base.__flags__ & (1 << 9) and base.__module__ != "builtins" for base in value.__mro__[:-1]
        )
    return not hasattr(value, "__code__")


def named_callables(plan: dict[str, Any]) -> list[tuple[str, str]]:
    """(import, expression) of what the subject offers: what the report names first, then compiled code."""
    found: dict[int, tuple[tuple[bool, bool, int], str, str]] = {}
    for module in modules(plan["modules"]):
        listed = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
        for name in list(listed)[:200]:
            value = getattr(module, name, None)
            owner = str(getattr(value, "__module__", None) or module.__name__).partition(".")[0].lstrip("_")
            foreign = owner not in [root.lstrip("_") for root in plan["modules"]] and hasattr(value, "__code__")
            if not callable(value) or foreign or (isinstance(value, type) and issubclass(value, BaseException)):
                continue
            key = (name not in plan["names"], not compiled(value), len(found))
            found.setdefault(id(value), (key, "import " + module.__name__, module.__name__ + "." + name))
    return [(line, text) for _, line, text in sorted(found.values())[:MOST_TARGETS]]


PATTERNS = ("{x}", "{x}, {x}", "[{x}]", "{{{x}: {x}}}", "{x}, 1", "{x}, {x}, {x}")
SAMPLES = {"text": "'a'", "bytes": "b'a'"}


def evaluate(line: str, text: str) -> Any:
    namespace = dict(NAMESPACE)
    exec(line, namespace)
    return eval(text, namespace)  # noqa: S307


def screen(item: tuple[str, str, str, str]) -> list[Any] | None:
    """Whether a call takes an argument of a kind: [what it raised or "", the public methods of what it returned]."""
    line, text, pattern, kind = item
    call = text + "(" + pattern.format(x=SAMPLES[kind]) + ")"
    try:
        result = evaluate(line, call)
    except TypeError:
        return None
    except Exception as error:
        return [type(error).__name__, []]
    return ["", methods(result)]


def methods(value: Any) -> list[str]:
    if type(value).__module__.partition(".")[0] in ("builtins", "types", "collections"):
        return []
    return [n for n in dir(type(value)) if not n.startswith("_") and callable(getattr(type(value), n, None))][:24]


def targets(plan: dict[str, Any], until: float) -> tuple[list[dict[str, str]], list[tuple[str, str]]]:
    """(calls with a hole for one value, and which kind of value they take; all that can be called)."""
    items = [
        (line, text, pattern, kind) for line, text in named_callables(plan) for pattern in PATTERNS for kind in SAMPLES
    ]
    found: list[dict[str, str]] = []
    further: list[tuple[str, str]] = []
    makers = [(line, text) for line, text in named_callables(plan)]
    for item, result, _ in survive(items, screen, until):
        if result is not None:
            line, text, pattern, kind = item
            found.append({"import": line, "call": text + "(" + pattern + ")", "kind": kind, "raises": result[0]})
            if pattern == "{x}" or (pattern == "{x}, {x}" and text not in [f[1] for f in further]):
                made = text + "(" + pattern.format(x=SAMPLES[kind]) + ")"
                further += [(line, made + "." + name) for name in result[1]]
    for (line, text), result, _ in survive(makers, lambda item: methods(evaluate(item[0], item[1] + "()")), until):
        further += [(line, text + "()." + name) for name in result or ()]
    unique = list(dict.fromkeys(further))[:MOST_TARGETS]
    items = [(line, text, pattern, kind) for line, text in unique for pattern in PATTERNS[:2] for kind in SAMPLES]
    for item, result, _ in survive(items, screen, until):
        if result is not None:
            line, text, pattern, kind = item
            found.append({"import": line, "call": text + "(" + pattern + ")", "kind": kind, "raises": result[0]})
    return found, makers + unique


# ----------------------------------------------------------------------------------------------------------------- run


def attempt(case: dict[str, str]) -> None:
    namespace: dict[str, Any] = {**NAMESPACE, "MAPPED": 33}  # 132 KiB: the least that has a mapping of its own
    exec(case["import"], namespace)
    if case["helper"]:
        exec(compile_once(HELPERS[case["helper"]]), namespace)  # type: ignore[name-defined]  # noqa: F821
    exec(case["body"], namespace)


CODE: dict[str, Any] = {}


def compile_once(text: str) -> Any:
    if text not in CODE:
        CODE[text] = compile(text, "<helper>", "exec")
    return CODE[text]


def tell(data: dict[str, Any]) -> None:
    sys.__stdout__.write(PREFIX + json.dumps(data) + "\n")  # type: ignore[union-attr]
    sys.__stdout__.flush()  # type: ignore[union-attr]


def main(plan: dict[str, Any]) -> None:
    """Search for `plan["seconds"]` seconds; each call that kills its process is told as it is found."""
    started = time.monotonic()
    until = started + plan["seconds"]
    found, offered = targets(plan, started + plan["seconds"] * 0.4)
    deaths: dict[str, int] = {}
    tried = 0
    for cases in FAMILIES[plan["family"]](plan, found, offered):  # type: ignore[name-defined]  # noqa: F821
        open_cases = [case for case in cases if deaths.get(case["target"], 0) < PER_TARGET]
        tried += len(open_cases)
        for case, _, died in survive(open_cases, attempt, until):
            if died and deaths.get(case["target"], 0) < PER_TARGET:
                deaths[case["target"]] = deaths.get(case["target"], 0) + 1
                tell({"signal": died, **case})
    tell(
        {
            "targets": len(found),
            "offered": len(offered),
            "tried": tried,
            "seconds": round(time.monotonic() - started, 2),
        }
    )
