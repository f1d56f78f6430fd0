"""Looks at the machine: is everything here that a run needs, and if not, what is to be done?"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rebug.app.options import cache_directory
from rebug.errors import RebugError
from rebug.execute import probe
from rebug.subject import find_uv

_INDEX_SECONDS = 20
_FREE_BYTES = 1 << 30  # an environment with a few large wheels


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing looked at. `needed`: without it no run is possible. `advice` is "" when all is well."""

    name: str
    ok: bool
    found: str
    advice: str = ""
    needed: bool = True


def examine() -> list[Check]:
    """All checks, in the order a run needs them. Takes some seconds; raises nothing for what it finds."""
    return [_python(), *_uv_checks(), *_sandboxes(), _cache(cache_directory()), _git()]


def _python() -> Check:
    return Check(
        name="python",
        ok=sys.version_info >= (3, 11) and sys.platform == "linux",
        found=f"{platform.python_implementation()} {platform.python_version()} on {platform.platform(terse=True)}",
        advice="" if sys.platform == "linux" else "rebug runs its candidates on Linux only",
    )


def _uv_checks() -> list[Check]:
    try:
        uv = Path(find_uv())
    except RebugError as error:
        return [Check(name="uv", ok=False, found="not found", advice=str(error))]
    version = _run([str(uv), "--version"], _INDEX_SECONDS)
    found = Check(
        name="uv", ok=version.ok, found=version.output or str(uv), advice="" if version.ok else "reinstall uv"
    )
    return [found, _index(uv)]


def _index(uv: Path) -> Check:
    """Whether the package index that uv is configured for answers; uv's own cache is left out."""
    with tempfile.TemporaryDirectory(prefix="rebug-doctor-") as directory:
        wanted = Path(directory) / "requirements.in"
        wanted.write_text("uv\n", "utf-8")
        command = [str(uv), "pip", "compile", "--quiet", "--no-cache", "--no-header", "--no-deps", str(wanted)]
        answer = _run([*command, "--python", sys.executable], _INDEX_SECONDS)
    if answer.ok:
        return Check(name="package index", ok=True, found="reachable")
    return Check(
        name="package index",
        ok=False,
        found=answer.output.splitlines()[-1] if answer.output else "no answer",
        advice="check the network, or point uv to your mirror (UV_DEFAULT_INDEX, SSL_CERT_FILE, HTTPS_PROXY); "
        "sources on disk without dependencies work without it",
        needed=False,
    )


def _sandboxes() -> list[Check]:
    probes = [one for one in probe() if one.backend != "none"]
    some = any(one.works for one in probes)
    return [
        Check(
            name=f"sandbox {one.backend}",
            ok=one.works,
            found=f"{one.program}: {one.detail}" if one.program and one.program != one.detail else one.detail,
            advice="" if one.works or some else one.advice,
            needed=not some,
        )
        for one in probes
    ]


def _cache(directory: Path) -> Check:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            free = shutil.disk_usage(directory).free
    except OSError as error:
        found = f"{directory}: {error.strerror}"
        return Check(name="cache", ok=False, found=found, advice="set REBUG_CACHE to a directory that can be written")
    enough = free >= _FREE_BYTES
    return Check(
        name="cache",
        ok=enough,
        found=f"{directory} ({free / (1 << 30):.1f} GiB free)",
        advice="" if enough else "free some space, or set REBUG_CACHE to a larger disk",
        needed=False,
    )


def _git() -> Check:
    path = shutil.which("git")
    return Check(
        name="git",
        ok=path is not None,
        found=path or "not found",
        advice="" if path else "install git to give a repository as --source",
        needed=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    ok: bool
    output: str


def _run(command: list[str], seconds: float) -> _Answer:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
            env={**os.environ, "NO_COLOR": "1", "UV_HTTP_RETRIES": "0"},
        )
    except subprocess.TimeoutExpired:
        return _Answer(ok=False, output=f"no answer within {seconds:.0f} seconds")
    except OSError as error:
        return _Answer(ok=False, output=error.strerror or str(error))
    return _Answer(ok=done.returncode == 0, output=done.stdout.decode("utf-8", "replace").strip())
