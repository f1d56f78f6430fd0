"""What a site-packages directory holds, read without starting its Python."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import Distribution, distributions
from pathlib import Path, PurePosixPath

from packaging.utils import canonicalize_name

_CODE = (".py", ".so", ".pyd", ".pyi", ".pyx")
_BESIDE = frozenset({"tests", "test", "docs", "doc", "examples", "benchmarks", "scripts"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """The subject's distribution as installed, and everything beside it."""

    version: str = ""
    packages: dict[str, str] = field(default_factory=dict)  # normalised name → version
    modules: tuple[str, ...] = ()
    roots: tuple[Path, ...] = ()
    scripts: dict[str, str] = field(default_factory=dict)


def site_packages(prefix: Path) -> Path:
    """The site-packages directory of a virtual environment."""
    found = sorted(prefix.glob("lib/python3*/site-packages"))
    return found[0] if found else prefix / "lib"


def read(site: Path, package: str) -> Installed:
    """What is installed in `site`; `package` ("" for none) is the subject's normalised name."""
    packages: dict[str, str] = {}
    subject: Distribution | None = None
    for distribution in distributions(path=[str(site)]):
        name = canonicalize_name(distribution.metadata["Name"] or "")
        packages[name] = distribution.version
        if name == package:
            subject = distribution
    if subject is None:
        return Installed(packages=packages)
    recorded = [str(path).replace("\\", "/") for path in subject.files or ()]
    return Installed(
        version=subject.version,
        packages=packages,
        modules=modules_of(subject.read_text("top_level.txt") or "", recorded),
        roots=tuple(site / root for root in roots_of(recorded)),
        scripts={point.name: point.value for point in subject.entry_points if point.group == "console_scripts"},
    )


def modules_of(top_level: str, recorded: Iterable[str]) -> tuple[str, ...]:
    """Top-level import names: those of top_level.txt and of the files recorded, tests and the like only if alone."""
    named = {line.strip().rpartition("/")[2] for line in top_level.splitlines()}
    for path in _code(recorded):
        first = path.parts[0]
        named.add(first if len(path.parts) > 1 else first.partition(".")[0])
    names = sorted(name for name in named if name.isidentifier())
    proper = [name for name in names if name not in _BESIDE]
    # An underscored helper beside a public module is an implementation's own.
    return tuple(sorted(proper, key=lambda name: (name.startswith("_"), name))) or tuple(names)


def roots_of(recorded: Iterable[str]) -> tuple[str, ...]:
    """The directories and files, relative to site-packages, that hold the importable code and nothing of others."""
    paths = _code(recorded)
    packages = {path.parent for path in paths if path.name.partition(".")[0] == "__init__"}
    roots: set[PurePosixPath] = set()
    for path in paths:
        above = [parent for parent in reversed(path.parents) if parent in packages]
        # Below a namespace package, which others share, each file or regular package stands for itself.
        roots.add(above[0] if above else path)
    return tuple(sorted(root.as_posix() for root in roots))


def _code(recorded: Iterable[str]) -> list[PurePosixPath]:
    paths = (PurePosixPath(name) for name in recorded if name.endswith(_CODE))
    return [path for path in paths if path.parts[0] != ".." and not path.parts[0].endswith((".dist-info", ".data"))]
