"""uv as a subprocess: found, started with an environment that leaks no secret, and its complaints put into words.

uv's own configuration (files, `UV_*` variables, certificates, proxies) stays in force, so private indexes and mirrors
work; no index is named here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import uv as uv_wheel

from rebug.errors import EnvironmentFailed
from rebug.subject.cache import held

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|PRIVATE", re.IGNORECASE)
_KEPT = ("UV_", "PIP_")  # index configuration, which may carry credentials that uv needs
_DROPPED = frozenset(
    {"VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONSAFEPATH", "PYTHONWARNINGS"}
    | {"UV_PYTHON", "UV_PROJECT_ENVIRONMENT", "UV_SYSTEM_PYTHON", "UV_EXCLUDE_NEWER", "PYTHONDONTWRITEBYTECODE"}
)
_ANSI = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_NETWORK = re.compile(
    r"error sending request|dns error|client error \(Connect\)|tcp connect error|Network connectivity is disabled"
    r"|network was disabled|Could not connect|operation timed out|certificate verify|invalid peer certificate"
)
_BUILD = re.compile(
    r"Failed to build|build backend returned an error|Call to `\S{1,200}` failed|Failed to download and build"
)
_UNKNOWN = re.compile(
    r"was not found in the (?:package registry|provided)|there (?:is|are) no version|no versions? of "
)
_DETAIL_LINES = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run of a tool ended."""

    exit: int
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        return self.exit == 0

    @property
    def network(self) -> bool:
        """True when the index could not be reached, whatever was asked of it."""
        return bool(_NETWORK.search(self.stderr))

    @property
    def build(self) -> bool:
        """True when a source distribution failed to build."""
        return bool(_BUILD.search(self.stderr))

    @property
    def unknown(self) -> bool:
        """True when the index has no such package or version."""
        return bool(_UNKNOWN.search(" ".join(self.stderr.split())))

    @property
    def detail(self) -> str:
        """The last meaningful lines."""
        return meaningful(self.stderr or self.stdout)


def meaningful(output: str, count: int = _DETAIL_LINES) -> str:
    """The last `count` lines of a tool's output that say something, without colours."""
    lines = [line.rstrip() for line in _ANSI.sub("", output).splitlines()]
    # A pyenv shim of a version that is not active makes uv warn at length about an interpreter nobody asked for.
    kept = [line for line in lines if line.strip() and "Failed to inspect Python interpreter" not in line]
    return "\n".join(line[:400] for line in kept[-count:])


def find_uv() -> Path:
    """uv's executable: the wheel's own, else the one on PATH.

    Raises EnvironmentFailed when there is none.
    """
    try:
        return Path(uv_wheel.find_uv_bin())
    except FileNotFoundError:
        found = shutil.which("uv")
    if found:
        return Path(found)
    raise EnvironmentFailed("uv was not found; install it (`pip install uv`) or put it on PATH")


def clean_environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without secrets and without what points at another Python; `variables` win."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in _DROPPED and (name.startswith(_KEPT) or not _SECRET.search(name))
    }
    return kept | {"GIT_TERMINAL_PROMPT": "0"} | dict(variables or {})


def run(argv: Sequence[str | Path], *, cwd: Path, variables: Mapping[str, str] | None = None, seconds: int) -> Outcome:
    """Run a tool to its end with no standard input. A run over `seconds` is ended and counts as failed.

    Raises EnvironmentFailed when it cannot be started.
    """
    command = [str(part) for part in argv]
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=clean_environment(variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            pass_fds=held.get(),
        )
    except subprocess.TimeoutExpired:
        return Outcome(exit=-1, stdout="", stderr=f"{Path(command[0]).name} was ended after {seconds} s")
    except OSError as error:
        raise EnvironmentFailed(f"{command[0]} could not be started: {error.strerror}") from error
    return Outcome(exit=done.returncode, stdout=done.stdout, stderr=done.stderr)


def uv(*arguments: str | Path, cwd: Path, variables: Mapping[str, str] | None = None, seconds: int = 900) -> Outcome:
    """Run uv with `arguments`."""
    return run(
        [find_uv(), "--color", "never", "--no-progress", *arguments], cwd=cwd, variables=variables, seconds=seconds
    )
