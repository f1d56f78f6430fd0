"""From a winning trial to the stand-alone script of the contract: header, guard, body. Pure.

The script keeps the candidate's statements as they are; see `rebug.confirm.guard` for what makes its exit status mean
what the contract says.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from rebug.confirm.guard import REACHED, guard
from rebug.confirm.header import ScriptSource, header
from rebug.model import Candidate, Environment, Symptom, Trial, Variation


def standalone(
    trial: Trial,
    symptom: Symptom,
    source: ScriptSource,
    environment: Environment,
    *,
    modules: Sequence[str],
    cut: bool,
) -> str:
    """The contract script for a trial; `modules` are the subject's import names.

    `cut` drops the statements that never ran because of the failure.
    """
    candidate = trial.candidate
    failed_at = failing_statement(candidate.script, trial.observation.script_line)
    hook = guard(trial, symptom, modules, armed=failed_at is not None)
    body = candidate.script
    if failed_at is not None:
        body = arranged(body, failed_at, cut=cut, mark=REACHED in hook)
    future, rest = split_future(body)
    needs = requirements(candidate, source, environment)
    top = header(candidate.hypothesis.claim, source, needs, candidate.variation.python or environment.python_version)
    parts = [
        future,
        surroundings(candidate.variation),
        hook,
        scratch(rest),
        importable(source.paths, known=bool(hook)),
        rest,
    ]
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


def failing_statement(script: str, line: int | None) -> tuple[int, int] | None:
    """First and last line of the top-level statement at `line`, None when there is no such statement."""
    try:
        tree = ast.parse(script)
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in tree.body:
        if line is not None and node.lineno <= line <= (node.end_lineno or node.lineno):
            return node.lineno, node.end_lineno or node.lineno
    return None


def arranged(script: str, failed_at: tuple[int, int], *, cut: bool, mark: bool) -> str:
    """The script with `cut`: without the statements after the failing one; with `mark`: telling the guard when the
    failing statement begins."""
    first, last = failed_at
    lines = script.splitlines(keepends=True)
    tail = [] if cut else lines[last:]
    return "".join([*lines[: first - 1], f"{REACHED} = True\n" if mark else "", *lines[first - 1 : last], *tail])


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


_LEAVES_FILES = re.compile(r"\bmk[ds]temp\(|\bdelete=False\b|\bdelete_on_close=False\b")


def scratch(script: str) -> str:
    """Code that has all temporary files made in one directory, which goes when the script ends; "" where the script
    leaves none behind."""
    if not _LEAVES_FILES.search(script):
        return ""
    return (
        "import atexit\nimport shutil\nimport tempfile\n\n"
        "tempfile.tempdir = tempfile.mkdtemp()  # whatever is temporary goes here, and away with it\n"
        "atexit.register(shutil.rmtree, tempfile.tempdir, ignore_errors=True)\n"
    )


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
