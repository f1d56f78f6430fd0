"""From a job to the command that runs it: pure, but for following the interpreter's symbolic links."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from rebug.execute.supervise import STACK_SIGNAL
from rebug.model import Environment
from rebug.ports import Command, Job

SCRIPT = "repro.py"
HARNESS = Path(__file__).with_name("harness.py")
MAX_LINKS = 40


def command_for(job: Job) -> Command:
    """The command that runs the job's script, in the harness unless the job says otherwise."""
    environment, variation = job.environment, job.candidate.variation
    argv = [str(environment.python), *variation.flags]
    if job.harness:
        argv += [str(HARNESS), str(int(STACK_SIGNAL)), os.pathsep.join(map(str, environment.roots))]
    readable = [environment.prefix, *environment.base_prefixes, *environment.roots, *environment.paths]
    readable += interpreter_directories(environment.python)
    if job.harness:
        readable.append(HARNESS)
    return Command(
        argv=[*argv, SCRIPT],
        files={SCRIPT: job.candidate.script.encode("utf-8", "surrogatepass")},
        variables=variables_for(environment) | dict(variation.variables),
        readable=readable,
        limits=job.limits,
        record=job.harness,
    )


def variables_for(environment: Environment) -> dict[str, str]:
    """The whole environment of a run before its variation: nothing of the host's own gets in."""
    variables = {
        "PATH": f"{environment.python.parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": "/home/u",
        "USER": "u",
        "LOGNAME": "u",
        "TMPDIR": "/tmp",  # noqa: S108 - the sandbox's own
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "VIRTUAL_ENV": str(environment.prefix),
    }
    if environment.paths:
        variables["PYTHONPATH"] = os.pathsep.join(map(str, environment.paths))
    return variables | dict(environment.variables)


def interpreter_directories(python: Path) -> Iterator[Path]:
    """The installation directory of each interpreter that `python` is a link to, link by link."""
    for _ in range(MAX_LINKS):
        if not python.is_symlink():
            return
        python = Path(os.path.normpath(python.parent / python.readlink()))
        home = python.parent.parent
        if python.parent.name == "bin" and home != Path("/") and not Path.home().is_relative_to(home):
            yield home
