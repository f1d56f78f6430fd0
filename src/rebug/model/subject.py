"""The software under test as something to run: its environment, and how a candidate's differs from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """An interpreter with the subject installed, ready to run candidates in."""

    python: Path  # the interpreter of the virtual environment
    prefix: Path  # the virtual environment's directory
    python_version: str  # "3.11.7"
    package: str  # distribution name of the subject, "" for an application that is not a package
    version: str  # of the subject, "" when it has none
    packages: Mapping[str, str] = field(default_factory=dict)  # every installed distribution: normalised name → version
    modules: tuple[str, ...] = ()  # top-level import names of the subject
    roots: tuple[Path, ...] = ()  # directories and files that hold the subject's importable code
    paths: tuple[Path, ...] = ()  # to put on sys.path (applications that are not packages)
    base_prefixes: tuple[Path, ...] = ()  # further directories the interpreter needs (its own installation)
    scripts: Mapping[str, str] = field(default_factory=dict)  # console scripts of the subject: name → "module:function"
    variables: Mapping[str, str] = field(default_factory=dict)  # environment variables for every run


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """How a candidate's environment differs from the subject's plain one. All empty: the plain one."""

    subject_version: str = ""  # run against another release of the subject (a control)
    requirements: tuple[str, ...] = ()  # further or other distributions
    python: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()  # interpreter flags such as ("-W", "error")

    @property
    def plain(self) -> bool:
        return self == Variation()
