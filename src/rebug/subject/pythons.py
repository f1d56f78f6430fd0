"""Interpreters: which are installed, which one a wish means, and where the real one lives."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from rebug.errors import EnvironmentFailed
from rebug.ports import Narrator
from rebug.subject import uv

_WISH = re.compile(r"(?:c?python[ -]?)?(\d{1,2}(?:\.\d{1,3}){0,2})\Z", re.IGNORECASE)
_OLDEST = Version("3.7")  # what uv still makes environments for

_PROBE = """
import json, os, sys, sysconfig
names = [sys.base_prefix, sys.base_exec_prefix, sysconfig.get_paths()["stdlib"], sysconfig.get_config_var("LIBDIR")]
names.append(os.path.dirname(os.path.realpath(sys.executable)))
print(json.dumps({"version": "%d.%d.%d" % sys.version_info[:3], "executable": sys.executable, "prefixes": names}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Python:
    """An installed interpreter. `executable` is the real one, not a shim; `prefixes` is what it needs to run."""

    version: str
    executable: Path
    prefixes: tuple[Path, ...]

    @property
    def minor(self) -> str:
        return ".".join(self.version.split(".")[:2])


@cache
def installed() -> tuple[Python, ...]:
    """The interpreters that uv or pyenv know, oldest first, one per version."""
    paths = [Path(sys.executable).resolve(), *_uv_paths(), *_pyenv_paths()]
    found: dict[str, Python] = {}
    seen: set[Path] = set()
    for path in paths:
        real = path.resolve()
        if real in seen:
            continue
        seen.add(real)
        python = probe(path)
        if python is not None and Version(python.version) >= _OLDEST:
            seen.add(python.executable.resolve())
            found.setdefault(python.version, python)
    return tuple(sorted(found.values(), key=lambda python: Version(python.version)))


def probe(path: Path) -> Python | None:
    """Ask an interpreter what it is; None when it does not answer (a shim of a version that is not active)."""
    if not path.exists():
        return None
    # Every answer is taken from the interpreter itself: a shim's path says nothing of where the real one lives.
    done = uv.run([path, "-I", "-S", "-c", _PROBE], cwd=Path("/"), seconds=20)
    if not done.ok:
        return None
    try:
        told = json.loads(done.stdout)
        prefixes = tuple(
            dict.fromkeys(Path(name).resolve() for name in told["prefixes"] if name and Path(name).exists())
        )
        executable = Path(told["executable"])
        return Python(version=told["version"], executable=executable, prefixes=_outermost(prefixes))
    except (ValueError, KeyError, TypeError):
        return None


def choose(wish: str, *, required: bool, requires_python: str, narrate: Narrator) -> Python:
    """The interpreter for `wish` ("3.11", "3.11.4", a path, "" for no wish).

    A wish that is not `required` (the report's) gives way to the nearest installed interpreter that `requires_python`
    allows; so does none. Raises EnvironmentFailed when a required one, or any, is not to be had.
    """
    if "/" in wish:
        python = probe(Path(wish).expanduser().absolute())
        if python is None:
            raise EnvironmentFailed(f"{wish} is not a Python interpreter")
        return python
    version = _wished(wish)
    found = _quickly(version, requires_python) or _alike(version, narrate) or (_install(version) if version else None)
    if found is not None:
        return found
    if version and required:
        raise EnvironmentFailed(
            f"Python {version} is not installed (there is {_listing()}); install it, for instance "
            f"`uv python install {version}`, or choose another with --python"
        )
    chosen = nearest(version, requires_python, installed())
    if chosen is None:
        raise EnvironmentFailed(
            f"no installed Python satisfies {requires_python or 'the subject'} (there is {_listing()}); install one"
        )
    if version:
        narrate(f"Python {version} of the report is not installed; using {chosen.version}, the nearest")
    return chosen


def _wished(wish: str) -> str:
    matched = _WISH.match(wish.strip())
    if wish.strip() and matched is None:
        raise EnvironmentFailed(f"{wish!r} is not a Python version; give one such as 3.11, or an interpreter's path")
    return matched.group(1) if matched else ""


def _alike(version: str, narrate: Narrator) -> Python | None:
    """An installed interpreter of that version, else of the same minor version."""
    if not version:
        return None
    exact = [python for python in installed() if _same(python.version, version)]
    if exact:
        return exact[-1]
    minor = ".".join(version.split(".")[:2])
    alike = [python for python in installed() if python.minor == minor]
    if alike:
        narrate(f"Python {version} is not installed; using {alike[-1].version}")
    return alike[-1] if alike else None


def _quickly(version: str, requires_python: str) -> Python | None:
    """The running interpreter where it will do, else pyenv's of that name: the search for all takes seconds."""
    own = "{}.{}.{}".format(*sys.version_info[:3])
    if _same(own, version) if version else _allows(requires_python, own):
        return probe(Path(sys.executable).resolve())
    matching = [path for path in _pyenv_paths() if version and _same(path.parent.parent.name, version)]
    matching.sort(key=lambda path: Version(path.parent.parent.name))
    return probe(matching[-1]) if matching else None


def nearest(version: str, requires_python: str, pythons: Sequence[Python]) -> Python | None:
    """The allowed interpreter nearest to `version`, else to the one that runs rebug. Newer wins a tie."""
    allowed = [python for python in pythons if _allows(requires_python, python.version)]
    wanted = _minor_number(version or "{}.{}".format(*sys.version_info[:2]))
    return min(allowed, key=lambda p: (abs(_minor_number(p.version) - wanted), -_minor_number(p.version)), default=None)


def _allows(requires_python: str, version: str) -> bool:
    try:
        return SpecifierSet(requires_python).contains(version, prereleases=True)
    except InvalidSpecifier:
        return True


def _minor_number(version: str) -> int:
    numbers = [int(part) for part in version.split(".")[:2]]
    return numbers[0] * 1000 + (numbers[1] if len(numbers) > 1 else 0)


def _same(version: str, wish: str) -> bool:
    wanted = wish.split(".")
    return version.split(".")[: len(wanted)] == wanted


def _listing() -> str:
    return ", ".join(python.version for python in installed()) or "none"


def _install(version: str) -> Python | None:
    """Let uv bring the version, where its configuration and the network allow it."""
    if os.environ.get("UV_PYTHON_DOWNLOADS") == "never" or os.environ.get("UV_OFFLINE"):
        return None
    # One try: without a network every further one only makes the user wait.
    done = uv.uv(
        "python", "install", "--no-bin", version, cwd=Path("/"), variables={"UV_HTTP_RETRIES": "0"}, seconds=300
    )
    if not done.ok:
        return None
    installed.cache_clear()
    return next((python for python in reversed(installed()) if _same(python.version, version)), None)


def _uv_paths() -> list[Path]:
    # pyenv's shims answer slowly or not at all, and what they lead to is found in its own directories.
    path = os.pathsep.join(part for part in os.environ.get("PATH", os.defpath).split(os.pathsep) if not _is_shims(part))
    done = uv.uv(
        "python",
        "list",
        "--only-installed",
        "--no-python-downloads",
        "--output-format",
        "json",
        cwd=Path("/"),
        variables={"PATH": path},
        seconds=60,
    )
    try:
        listed = json.loads(done.stdout) if done.ok else []
        return [
            Path(entry["path"]) for entry in listed if entry.get("path") and entry.get("implementation") == "cpython"
        ]
    except (ValueError, KeyError, TypeError):
        return []


def _pyenv_paths() -> list[Path]:
    """pyenv's interpreters that no active shim leads to, which uv therefore does not find."""
    return sorted(
        path for path in (_pyenv_root() / "versions").glob("3.*/bin/python") if _is_version(path.parent.parent.name)
    )


def _pyenv_root() -> Path:
    return Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")


def _is_shims(part: str) -> bool:
    return Path(part) == _pyenv_root() / "shims"


def _is_version(text: str) -> bool:
    try:
        return Version(text) >= _OLDEST
    except InvalidVersion:
        return False


def _outermost(paths: Sequence[Path]) -> tuple[Path, ...]:
    """`paths` without those inside another of them."""
    return tuple(path for path in paths if not any(other != path and path.is_relative_to(other) for other in paths))
