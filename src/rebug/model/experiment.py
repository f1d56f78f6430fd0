"""A hypothesis, the candidate that makes it runnable, and all that one run of it showed."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from rebug.model.report import Failure, Frame
from rebug.model.subject import Variation


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """A claim of a cause, the conditions it needs, and what should be observed if it is true."""

    claim: str
    conditions: str = ""
    prediction: str = ""


class Role(enum.StrEnum):
    """Why a candidate is run: to show the bug, to show its absence elsewhere, or to look for inputs."""

    ATTEMPT = "attempt"
    CONTROL = "control"
    PROBE = "probe"


class Basis(enum.StrEnum):
    """Where the expectation that a candidate asserts comes from."""

    NONE = "none"  # it asserts nothing: the failure shows itself
    REPORT = "report"  # the report gives the value got or the value expected
    REGRESSION = "regression"  # a version said to be good gives another value
    SCRIPT = "script"  # the report's own code asserts it
    MEASURED = "measured"  # an instrument in the script measured it against a control in the same run
    MODEL = "model"  # a language model says so


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A hypothesis made runnable. `id` is given by the search, in order of acceptance ("" before)."""

    script: str
    hypothesis: Hypothesis
    proposer: str
    id: str = ""
    round: int = 0
    role: Role = Role.ATTEMPT
    basis: Basis = Basis.NONE
    expected: str = ""  # what an asserting script compares with, as text
    actual: str = ""
    variation: Variation = field(default_factory=Variation)
    parents: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()  # distributions beside the subject that the script imports


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningSeen:
    category: str
    message: str
    file: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSeen:
    logger: str
    level: str
    message: str
    file: str = ""
    line: int | None = None


class Ended(enum.StrEnum):
    """How a run ended."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed_out"
    LIMITED = "limited"  # stopped by the memory, output, process or disk limit
    REFUSED = "refused"  # never ran: does not parse, environment not built


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """All that one run showed. Untrusted: the candidate's own process wrote most of it."""

    ended: Ended
    exit: int | None = None
    signal: str = ""
    limit: str = ""  # which limit stopped it, or why it was refused
    failures: tuple[Failure, ...] = ()  # raised first, then those of threads, tasks, children, logs
    stdout: str = ""  # bounded; a cut is marked
    stderr: str = ""
    warnings: tuple[WarningSeen, ...] = ()
    logs: tuple[LogSeen, ...] = ()
    stacks: tuple[tuple[str, tuple[Frame, ...]], ...] = ()  # thread name → frames, at the time limit
    reached: tuple[str, ...] = ()  # subject functions entered: "package/module.py:function"
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_rss: int = 0  # bytes, whole tree
    script_line: int | None = None  # line of the script that was executing when it failed
    last_line: int | None = None  # last top-level line of the script that began to execute
