"""A directory as a subject: which of its files count, their digest, and what the tree says of itself."""

from __future__ import annotations

import configparser
import hashlib
import os
import re
import stat
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from rebug.errors import EnvironmentFailed, InputError
from rebug.subject import uv

SKIPPED = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        "__pycache__",
        ".venv",
        "venv",
        "node_modules",
        ".tox",
        ".nox",
        ".mypy_cache",
        ".ruff_cache",
    }
    | {".pytest_cache", ".eggs", ".cache", ".idea"}
)
_MOST_FILES = 60_000
_MOST_BYTES = 2 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a tree says of itself, as far as it can be read without running it."""

    name: str = ""  # normalised
    version: str = ""
    requires_python: str = ""
    installable: bool = False
    declared: bool = (
        False  # it says how it is built; else it may as well be an application that only lists dependencies
    )


def files(root: Path) -> list[str]:
    """The files of a tree that count, sorted, relative to it: what git tracks or would, else all but caches.

    Raises InputError over 60,000 files.
    """
    listed = _listed_by_git(root) if (root / ".git").exists() else None
    names = sorted(listed if listed is not None else _walked(root))
    if len(names) > _MOST_FILES:
        raise InputError(f"{root} holds more than {_MOST_FILES} files; give the subject's own directory")
    return names


def digest(root: Path, names: Iterable[str]) -> str:
    """The SHA-256 over names, kinds and contents. Raises InputError over 2 GiB."""
    hasher = hashlib.sha256()
    total = 0
    for name in names:
        path = root / name
        mode = path.lstat().st_mode
        hasher.update(f"{name}\0{mode & 0o111:o}\0".encode("utf-8", "surrogateescape"))
        if stat.S_ISLNK(mode):
            hasher.update(os.fsencode(path.readlink()))
            continue
        total += path.stat().st_size
        if total > _MOST_BYTES:
            raise InputError(f"{root} holds more than {_MOST_BYTES >> 30} GiB; give the subject's own directory")
        with path.open("rb") as handle:
            hasher.update(hashlib.file_digest(handle, "sha256").digest())
    return hasher.hexdigest()


def about(root: Path) -> About:
    """Read pyproject.toml, setup.cfg, setup.py and PKG-INFO or METADATA, whichever there are."""
    project = _pyproject(root / "pyproject.toml")
    poetry = _table(_table(project, "tool"), "poetry")
    table = _table(project, "project") or poetry
    flit = _table(_table(_table(project, "tool"), "flit"), "metadata")
    metadata = _core_metadata(root)
    setup = _setup_cfg(root / "setup.cfg")
    named = _text(table, "name") or _text(flit, "dist-name") or _text(flit, "module") or metadata.get("name", "")
    name = named or setup.get("name", "") or _setup_py(root, "name")
    version = (
        metadata.get("version") or _text(table, "version") or setup.get("version", "") or _setup_py(root, "version")
    )
    requires = metadata.get("requires-python") or _text(table, "requires-python") or setup.get("python_requires", "")
    return About(
        name=canonicalize_name(name) if name else "",
        version=version if version and not version.startswith(("attr:", "file:")) else "",
        requires_python=requires or _setup_py(root, "python_requires"),
        installable=_installable(root, project),
        declared=_legacy(root) or "build-system" in project,
    )


def _installable(root: Path, project: dict[str, object]) -> bool:
    if _legacy(root):
        return True
    # A pyproject.toml that only configures tools belongs to an application that is not a package.
    return "project" in project or "build-system" in project or "poetry" in _table(project, "tool")


def _legacy(root: Path) -> bool:
    setup = _setup_cfg(root / "setup.cfg")  # one that only configures tools has no name
    return (root / "setup.py").is_file() or "name" in setup


def _walked(root: Path) -> list[str]:
    names: list[str] = []
    for directory, below, here in os.walk(root):
        below[:] = [
            name for name in below if name not in SKIPPED and not (Path(directory) / name / "pyvenv.cfg").exists()
        ]
        base = Path(directory).relative_to(root)
        names += [(base / name).as_posix() for name in here if _ordinary(Path(directory) / name)]
        if len(names) > _MOST_FILES:
            break
    return names


def _listed_by_git(root: Path) -> list[str] | None:
    try:
        done = uv.run(
            ["git", "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root,
            seconds=60,
        )
    except EnvironmentFailed:  # no git here
        return None
    names = {name for name in done.stdout.split("\0") if name}
    return [name for name in names if _ordinary(root / name)] if done.ok else None


def _ordinary(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _pyproject(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return {}


def _table(value: object, key: str) -> dict[str, object]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _text(table: dict[str, object], key: str) -> str:
    value = table.get(key)
    return value if isinstance(value, str) else ""


def _setup_cfg(path: Path) -> dict[str, str]:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, configparser.Error):
        return {}
    merged: dict[str, str] = {}
    for section in ("metadata", "options"):
        if parser.has_section(section):
            merged.update(parser.items(section))
    return merged


def _setup_py(root: Path, keyword: str) -> str:
    """A literal keyword argument of setup.py, which may be Python 2 and is never run."""
    try:
        text = (root / "setup.py").read_text("utf-8", errors="replace")[:200_000]
    except OSError:
        return ""
    found = re.search(rf"\b{keyword} {{0,4}}= {{0,4}}[\"']([^\"'\n]{{1,100}})[\"']", text)
    return found.group(1) if found else ""


def _core_metadata(root: Path) -> dict[str, str]:
    """Name, Version and Requires-Python of an sdist's PKG-INFO or an unpacked wheel's METADATA."""
    for path in [root / "PKG-INFO", *sorted(root.glob("*.dist-info/METADATA"))]:
        if not path.is_file():
            continue
        head = path.read_text("utf-8", errors="replace")[:20_000].split("\n\n", 1)[0]
        pairs = (line.partition(":") for line in head.splitlines() if re.match(r"[A-Za-z-]{1,40}:", line))
        return {key.lower(): value.strip() for key, _, value in reversed(list(pairs))}
    return {}
