"""Where a source tree keeps its importable code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_NOT_CODE = frozenset(
    {
        "tests",
        "test",
        "testing",
        "docs",
        "doc",
        "examples",
        "example",
        "benchmarks",
        "benchmark",
        "bench",
        "build",
        "dist",
    }
    | {"tools", "scripts", "ci", "tasks", "requirements", "integration", "fuzz", "fuzzing", "licenses", "changelog"}
)
_NOT_MODULES = frozenset({"setup", "conftest", "noxfile", "tasks", "fabfile", "runtests", "versioneer", "ez_setup"})
_CODE = (".py", ".pyi", ".pyx", ".so")


def top_level(root: Path, package: str = "") -> dict[str, str]:
    """Top-level import names of a tree → the directory (relative, "" for the tree itself) they are imported from.

    A module of the distribution's own name, `package`, is looked for in every directory near the top.
    """
    named = package.replace("-", "_")
    found = _usual(root)
    return found if not named or named in found else _located(root, named) or found


def _usual(root: Path) -> dict[str, str]:
    for base in ("src", "lib", "python", ""):
        found = _importable(root / base, strict=base != "src") if (root / base).is_dir() else {}
        if found:
            return dict.fromkeys(sorted(found, key=lambda name: (name.startswith("_"), name)), base)
    return {}


def _importable(base: Path, *, strict: bool) -> set[str]:
    names: set[str] = set()
    for entry in base.iterdir():
        stem = entry.name.partition(".")[0]
        if not stem.isidentifier() or stem.startswith("__"):
            continue
        if entry.is_dir() and entry.name == stem and stem not in _NOT_CODE:
            regular = any((entry / f"__init__{suffix}").exists() for suffix in (".py", ".pyi"))
            if regular or (not strict and _holds_code(entry)) or (strict and _namespace(entry)):
                names.add(stem)
        elif entry.is_file() and entry.name.endswith(_CODE) and stem not in _NOT_MODULES and not _is_test(stem):
            names.add(stem)
    return names


def _is_test(stem: str) -> bool:
    return bool(re.match(r"tests?_|tests?\Z", stem)) or stem.endswith("_test")


def _holds_code(directory: Path) -> bool:
    return any(path.suffix in _CODE for depth in ("*", "*/*") for path in directory.glob(depth))


def _namespace(directory: Path) -> bool:
    """A namespace package: no code of its own, but regular packages below."""
    return not any(directory.glob("*.py")) and any(directory.glob("*/__init__.py"))


def locate(root: Path, modules: Sequence[str]) -> dict[str, str]:
    """Where `modules` lie in a tree that may keep them in any directory; those not found are left out."""
    found: dict[str, str] = {}
    known = top_level(root)
    for module in modules:
        if module in known:
            found[module] = known[module]
            continue
        found.update(_located(root, module))
    return found


def _located(root: Path, module: str) -> dict[str, str]:
    if not module.isidentifier():
        return {}
    for depth in range(4):
        pattern = "*/" * depth
        places = [path for suffix in _CODE for path in root.glob(f"{pattern}{module}{suffix}")]
        places += [path for path in root.glob(f"{pattern}{module}") if path.is_dir() and _holds_code(path)]
        places = [path for path in places if not _NOT_CODE & set(path.relative_to(root).parts[:-1])]
        if places:
            base = min(places, key=lambda path: (path.is_file(), path.as_posix())).parent.relative_to(root).as_posix()
            return {module: "" if base == "." else base}
    return {}


def module_name(file: str, base: str) -> str:
    """The dotted import name of `file` (relative, forward slashes) as imported from `base`, "" if not below it."""
    prefix = f"{base}/" if base else ""
    if not file.startswith(prefix):
        return ""
    parts = file[len(prefix) :].split("/")
    parts[-1] = parts[-1].partition(".")[0]
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts)
