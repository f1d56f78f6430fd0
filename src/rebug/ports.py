"""The seams: every Protocol of rebug and the values that cross them, on one page.

`search` knows only these. A proposer makes candidates, an engine runs them in a sandbox, a judge measures them, a
journal remembers them. Backends are chosen in `rebug.app` (and by whoever embeds rebug) and passed in.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from rebug.model import Candidate, Environment, Observation, Report, Symptom, Trial, Variation

# ------------------------------------------------------------------------------------------------- the subject's index


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a callable, as written in the source."""

    name: str
    kind: str = "positional_or_keyword"  # inspect's names, lower case
    annotation: str = ""
    default: str | None = None  # source text, None when required


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """A module, class, function or method of the subject, found by reading its source (never by importing it)."""

    name: str
    qualname: str  # "Class.method", "function", "" for a module
    module: str  # dotted import name, e.g. "package.sub"
    kind: str  # module | class | function | method
    file: str  # relative to the source tree, forward slashes
    line: int
    end_line: int
    parameters: tuple[Parameter, ...] = ()
    doc: str = ""
    bases: tuple[str, ...] = ()
    decorators: tuple[str, ...] = ()
    is_async: bool = False
    public: bool = True  # no component starts with an underscore, or exported by __all__ / a package's __init__
    exported_as: str = ""  # shortest dotted path it can be imported by, e.g. "package.Class"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of the subject found by retrieval; `score` is comparable within one query only."""

    file: str
    line: int
    end_line: int
    text: str
    symbol: str = ""
    score: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingTest:
    """One test function of the subject's own suite."""

    file: str
    name: str
    qualname: str  # "TestClass.test_x" or "test_x"
    source: str  # dedented source of the function
    preamble: str  # the test module's imports, constants and helpers that the function uses
    fixtures: tuple[str, ...] = ()  # parameter names other than self
    literals: tuple[str, ...] = ()  # string literals in it
    line: int = 0


class Index(Protocol):
    """What can be known of the subject without running it."""

    @property
    def root(self) -> Path: ...
    @property
    def modules(self) -> tuple[str, ...]:
        """Top-level import names."""
        ...

    @property
    def symbols(self) -> Sequence[Symbol]: ...
    @property
    def tests(self) -> Sequence[ExistingTest]: ...
    def find(self, name: str) -> Sequence[Symbol]:
        """Symbols whose last component, qualname or dotted path is `name`, public ones first."""
        ...

    def at(self, file: str, line: int | None, function: str) -> Symbol | None:
        """The symbol a stack frame belongs to; `file` may be an absolute path of any machine (matched by suffix)."""
        ...

    def retrieve(self, query: str, limit: int) -> Sequence[Passage]:
        """Source passages ranked against words and identifiers (BM25)."""
        ...

    def nearest_tests(self, query: str, limit: int) -> Sequence[ExistingTest]: ...
    def text(self, file: str) -> str:
        """The source of a file of the tree."""
        ...


class Environments(Protocol):
    """Builds and caches environments. Raises EnvironmentFailed."""

    def build(self, variation: Variation) -> Environment: ...
    def releases(self) -> Sequence[str]:
        """The subject's releases known as of the cut-off date, oldest first; empty when it has none (a directory)."""
        ...


# -------------------------------------------------------------------------------------------------------------- propose


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """All that a proposer may look at."""

    report: Report
    symptom: Symptom
    index: Index
    environment: Environment
    round: int  # 1-based
    releases: Sequence[str] = ()
    trials: Sequence[Trial] = ()  # everything run so far, in order of acceptance
    parents: Sequence[Trial] = ()  # the ones kept for this round, best first
    rng: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311 - no secret


class Proposer(Protocol):
    """Makes candidates from a situation. Pure but for the situation's random state: it runs and writes nothing."""

    @property
    def name(self) -> str: ...
    @property
    def reactive(self) -> bool:
        """True: asked again within a round as soon as new trials exist (it builds on what they showed), and its
        candidates run first. False: asked once at the start of each round."""
        ...

    def propose(self, situation: Situation) -> Iterable[Candidate]:
        """Candidates, most promising first, without id. The caller takes as many as it has room for."""
        ...


# -------------------------------------------------------------------------------------------------------------- execute


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one run may use. All hard."""

    wall_seconds: float = 15.0
    cpu_seconds: float = 15.0
    memory_bytes: int = 1 << 30  # whole process tree
    output_bytes: int = 1 << 20  # stdout and stderr each; what comes after is dropped and the run ended
    processes: int = 128
    disk_bytes: int = 256 << 20  # /tmp and the working directory together
    open_files: int = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A process tree to run in a sandbox."""

    argv: Sequence[str]
    files: Mapping[str, bytes] = field(default_factory=dict)  # written into the working directory before the start
    variables: Mapping[str, str] = field(default_factory=dict)  # the whole environment
    readable: Sequence[Path] = ()  # host paths visible read-only, at their own path
    limits: Limits = Limits()
    record: bool = False  # open a pipe for the harness's record; its number is put into REBUG_RECORD_FD


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """How a command ended."""

    exit: int | None  # None when killed
    signal: str = ""
    limit: str = ""  # wall | memory | output | disk … when a limit ended it
    stdout: bytes = b""
    stderr: bytes = b""
    record: bytes = b""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_rss: int = 0


class Sandbox(Protocol):
    """Runs a command isolated from the host. Never raises for what the command does.

    Cancellation: `stop` (a thread-safe flag) ends the run early and whatever it started.
    """

    @property
    def name(self) -> str: ...
    def run(self, command: Command, stop: Callable[[], bool] = ...) -> Completed: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A candidate with the environment it is to run in."""

    candidate: Candidate
    environment: Environment
    limits: Limits = Limits()
    harness: bool = True  # False: plain `python script`, as the user would run it


class Engine(Protocol):
    """Runs jobs in parallel."""

    def run(
        self,
        jobs: Sequence[Job],
        *,
        deadline: float | None = None,
        done: Callable[[int, Observation], None] | None = None,
    ) -> list[Observation]:
        """One observation per job, in the order of `jobs`. `deadline` is on the monotonic clock: jobs not started by
        then are REFUSED with limit "deadline", those running are ended. `done` is called as each one ends."""
        ...


# ---------------------------------------------------------------------------------------------------------------- judge


class Judge(Protocol):
    """Measures one observation against the symptom. Pure."""

    def judge(self, candidate: Candidate, observation: Observation, situation: Situation) -> Trial: ...


class Critic(Protocol):
    """Has a second look at trials that leave a doubt: better words, another place within the stage."""

    def review(self, trials: Sequence[Trial], situation: Situation) -> Mapping[str, Trial]:
        """The reviewed trials by candidate id. A review never changes a trial's stage; the search drops one that
        does."""
        ...


# ---------------------------------------------------------------------------------------------------------------- store


class Journal(Protocol):
    """An append-only record of a run. An event is durable when `append` returns."""

    def append(self, kind: str, data: Mapping[str, object]) -> int: ...
    def events(self) -> Iterable[tuple[int, str, Mapping[str, object]]]: ...


# ------------------------------------------------------------------------------------------------------------ narration

Narrator = Callable[[str], None]
"""Told, in one line, what is going on; writes to stderr or nowhere."""
