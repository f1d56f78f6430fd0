"""What a run is asked to do, checked before any work begins."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import rebug
from rebug.errors import InputError

_FORGE = re.compile(
    r"(https?://(?:www\.)?(?:github\.com|gitlab\.com)/[\w.-]{1,100}(?:/[\w.-]{1,100}){1,5}?)"
    r"/(?:-/)?(?:issues|pull|merge_requests|work_items)/\d+"
)


STRATEGIES = ("evolution", "independent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of the command line, under their words in the documentation."""

    report: str  # file, directory, URL or "-"
    source: str = ""  # "" where the report's URL implies it
    attach: tuple[Path, ...] = ()
    model: str = "none"  # "" for the first provider whose key is there
    effort: str = "normal"  # low | normal | high
    strategy: str = "evolution"  # evolution | independent
    max_usd: float | None = None
    max_tokens: int | None = None
    redact: bool = True
    python: str = ""  # "" for the report's version, else the one rebug runs on
    requirements: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()  # shell commands
    variables: tuple[tuple[str, str], ...] = ()
    as_of: str = ""  # ISO 8601
    good: str = ""
    rounds: int = 4
    population: int = 24
    keep: int = 3
    top: int = 5
    repeat: int = 4
    max_seconds: float | None = None
    max_candidates: int | None = None
    jobs: int = 0  # 0: one per core
    sandbox: str = "auto"
    seed: int = 0
    out: Path | None = None  # None: a new directory below rebug-runs/
    resume: Path | None = None  # an interrupted run's directory to go on with

    @property
    def workers(self) -> int:
        return self.jobs or os.cpu_count() or 1


def check(options: Options) -> None:
    """Raises InputError for what can be seen to be unusable from the options alone."""
    if options.strategy not in STRATEGIES:
        raise InputError(f"--strategy {options.strategy}: say one of {', '.join(STRATEGIES)}")
    if options.python and "/" not in options.python and not re.fullmatch(r"3\.\d{1,2}(\.\d{1,2})?", options.python):
        raise InputError(f"--python {options.python}: is not a Python version such as 3.11")
    for path in options.attach:
        if not path.is_file():
            raise InputError(f"--attach {path}: no such file")


def source_of(options: Options) -> str:
    """The source to work on: what --source says, else the repository the report's URL belongs to.

    Raises InputError when neither names one.
    """
    if options.source:
        return options.source
    forge = _FORGE.match(options.report)
    if forge:
        return forge[1]
    raise InputError(
        "which software is the report about? Say it by --source: a directory, git URL or pypi:NAME==VERSION"
    )


def good_version(options: Options, package: str) -> str:
    """The release that --good names, "" without one.

    Raises InputError for anything but a release of the subject, since only that can be installed beside it.
    """
    if not options.good:
        return ""
    named = re.fullmatch(r"(?:pypi:)?(?:([A-Za-z0-9._-]+)==)?([0-9][A-Za-z0-9.!+_-]*)", options.good)
    if not named or (named[1] and _normal(named[1]) != _normal(package)):
        wanted = package or "NAME"
        raise InputError(f"--good {options.good}: has to be a release of the same software: pypi:{wanted}==VERSION")
    return named[2]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def cache_directory() -> Path:
    """Where environments and sources are kept between runs: $REBUG_CACHE, else $XDG_CACHE_HOME/rebug, else ~/.cache."""
    own = os.environ.get("REBUG_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().absolute() / "rebug"


def demonstration(*, out: Path | None, max_seconds: float | None, sandbox: str) -> Options:
    """A real bug of a real package, fetched from the package index: tabulate 0.9.0 fails on a table without rows."""
    report = Path(rebug.__file__).parent / "data" / "demo" / "report.md"
    return Options(
        report=str(report),
        source="pypi:tabulate==0.9.0",
        good="pypi:tabulate==0.10.0",
        model="none",  # it costs nothing, whatever keys are about
        max_seconds=max_seconds,
        sandbox=sandbox,
        out=out,
    )
