"""From a winning trial to the stand-alone script of the contract: header, guard, body. Pure.

The guard makes the exit status mean what the contract says: the reported failure ends the script with 1 as any
uncaught exception does, everything else with 125, "cannot tell", so that a missing dependency or a changed interface is
never taken for the bug.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from rebug.confirm.header import ScriptSource, header
from rebug.judge import fragments
from rebug.model import Basis, Candidate, Environment, Failure, Symptom, Trial, Variation

_INTERNAL = {
    "AttributeError",
    "TypeError",
    "KeyError",
    "IndexError",
    "NameError",
    "UnboundLocalError",
    "RecursionError",
    "AssertionError",
    "ZeroDivisionError",
    "StopIteration",
    "RuntimeError",
    "UnicodeDecodeError",
    "UnicodeEncodeError",
    "OverflowError",
}
"""Exceptions by which a program fails rather than answers: where one of them is reported, an exception class of the
subject's own in its stead means that the input is now rejected properly."""

_VARYING = {"RecursionError", "MemoryError"}
"""Their messages depend on where exhaustion struck."""


def standalone(trial: Trial, symptom: Symptom, source: ScriptSource, environment: Environment, *, cut: bool) -> str:
    """The contract script for a trial. `cut` drops the statements that never ran because of the failure."""
    candidate = trial.candidate
    body = up_to_failure(candidate.script, trial.observation.script_line) if cut else candidate.script
    future, rest = split_future(body)
    needs = requirements(candidate, source, environment)
    top = header(candidate.hypothesis.claim, source, needs, candidate.variation.python or environment.python_version)
    hook = guard(trial, symptom, environment.modules)
    parts = [future, surroundings(candidate.variation), hook, importable(source.paths, known=bool(hook)), rest]
    return top + "".join("\n" + part.strip("\n") + "\n" for part in parts if part.strip())


def requirements(candidate: Candidate, source: ScriptSource, environment: Environment) -> tuple[str, ...]:
    """What the script's environment is built from: the subject, and the other distributions it imports, pinned to the
    versions it was seen with."""
    pinned = []
    for item in (*candidate.requirements, *candidate.variation.requirements):
        version = environment.packages.get(item.lower().replace("_", "-").replace(".", "-"), "")
        pinned.append(f"{item}=={version}" if version else item)
    subject = [source.requirement] if source.requirement else []
    return tuple(dict.fromkeys([*subject, *source.further, *pinned]))


def up_to_failure(script: str, line: int | None) -> str:
    """The script without the top-level statements after the one that failed at `line`."""
    if line is None:
        return script
    try:
        tree = ast.parse(script)
    except (SyntaxError, ValueError):
        return script
    last = next((node for node in tree.body if node.lineno <= line <= (node.end_lineno or node.lineno)), None)
    if last is None or last.end_lineno is None:
        return script
    return "".join(script.splitlines(keepends=True)[: last.end_lineno]).rstrip("\n") + "\n"


def split_future(script: str) -> tuple[str, str]:
    """`from __future__` imports, which have to stand first, and the rest."""
    lines = script.splitlines(keepends=True)
    future = [line for line in lines if line.startswith("from __future__ import")]
    return "".join(future), "".join(line for line in lines if line not in future)


def importable(paths: Sequence[str], *, known: bool) -> str:
    """Code that lets the script import an application that no installer knows, "" for a package. `known`: whether
    sys is imported already."""
    if not paths:
        return ""
    return ("" if known else "import sys\n\n") + f"sys.path[:0] = {list(paths)!r}  # the application's own code\n"


def surroundings(variation: Variation) -> str:
    """Code that makes the environment what the variation says: variables in place, interpreter settings by running
    the script again under them."""
    if variation.plain or not (variation.variables or variation.flags):
        return ""
    variables = dict(variation.variables)
    if not variation.flags and not any(name.startswith("PYTHON") for name in variables):
        lines = ["import os", *(f"os.environ[{name!r}] = {value!r}" for name, value in variables.items())]
        return "\n".join([*lines, "import time", "time.tzset()"] if "TZ" in variables else lines) + "\n"
    settings = {**variables, "REPRO_SETTINGS": "1"}
    return (
        "import os\n"
        "import sys\n\n"
        'if os.environ.get("REPRO_SETTINGS") != "1":  # the bug needs these settings from the interpreter\'s start\n'
        f"    os.environ.update({settings!r})\n"
        f"    os.execv(sys.executable, [sys.executable, *{list(variation.flags)!r}, *sys.argv])\n"
    )


def guard(trial: Trial, symptom: Symptom, modules: Sequence[str]) -> str:
    """The hook that tells the reported failure from any other, "" when the script has one of its own."""
    if "sys.excepthook" in trial.candidate.script:
        return ""
    failure = trial.observation.failures[0] if trial.observation.failures else None
    if trial.candidate.basis is not Basis.NONE or failure is None or failure.where != "raised":
        return _guard_text("kind is not AssertionError", "125")
    message = telling(failure)
    unlike = f"kind.__name__ != {failure.name!r}"
    if message:
        unlike += f" or {message!r} not in str(error)"
    return _guard_text(unlike, _otherwise(failure, symptom, modules))


def telling(failure: Failure) -> str:
    """The part of the message that does not vary, as it stands in it; "" when there is none."""
    if failure.name in _VARYING:
        return ""
    return next((piece[:100] for piece in fragments(failure.message) if piece[:100] in failure.message), "")


def _otherwise(failure: Failure, symptom: Symptom, modules: Sequence[str]) -> str:
    right = symptom.expected_exception.rpartition(".")[2]
    if right and right != failure.name:
        return f"0 if kind.__name__ == {right!r} else 125"
    if failure.name in _INTERNAL and modules:
        return f'0 if kind.__module__.partition(".")[0] in {set(modules)!r} else 125'
    return "125"


def _guard_text(unlike: str, status: str) -> str:
    return (
        "import sys\n\n\n"
        "def _only_the_reported_failure(kind, error, trace):\n"
        '    """Exit 1 for the reported failure; 125, "cannot tell", for an unrelated one."""\n'
        "    sys.__excepthook__(kind, error, trace)\n"
        f"    if {unlike}:\n"
        f"        sys.exit({status})\n\n\n"
        "sys.excepthook = _only_the_reported_failure\n"
    )
