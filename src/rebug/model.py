"""The nouns of rebug as frozen values. No I/O and no import of the rest of the package but of further values.

Every word here is a word of the user's documentation: a *report* claims a *symptom* of a *subject*; a *hypothesis*
made runnable is a *candidate*; one run of it gives an *observation*, whose distance from the symptom is the *loss*. A
*trial* is the three together, and what survives confirmation is a *finding*.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rebug.log_digest import LogDigest

# --------------------------------------------------------------------------------------------------------------- report


class BlockKind(enum.StrEnum):
    """What a block of a report holds, judged by its content rather than by the fence's label."""

    PYTHON = "python"
    REPL = "repl"  # `>>>` or `In [1]:` transcripts
    SHELL = "shell"  # commands with a `$`, `%`, `#` or `C:\\>` prompt, and their output
    TRACEBACK = "traceback"
    TEST = "test"  # pytest's own output
    LOG = "log"
    OUTPUT = "output"  # what a program printed
    CONFIG = "config"  # TOML, INI, YAML, .env, …
    DATA = "data"  # JSON, CSV, XML, HTML, SQL, …
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block of code or data in a report, verbatim save for its quoting, with where it stood."""

    text: str
    kind: BlockKind
    line: int  # 1-based line of the first line of `text` in the report
    language: str = ""  # the fence's label, lower case, "" where there is none
    lead: str = ""  # the sentence or heading just above the block
    section: str = ""  # the heading the block stands under
    filename: str = ""  # a file name the report gives the block, "" where there is none
    attachment: str = ""  # the attachment the block comes from, "" for the report's own text


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One frame of a stack, outermost first wherever frames stand in a sequence."""

    file: str  # as written, with forward slashes
    line: int | None
    function: str
    code: str = ""  # the source line shown, stripped
    values: tuple[tuple[str, str], ...] = ()  # short reprs of locals, only in observations


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An exception as shown in a traceback, in a report or in a run.

    `type` is the name as printed (it may be dotted), `frames` run from the outermost call inwards. `cause` is the
    exception that came before it ("direct cause of" or "during handling of"), `members` those of an exception group.
    """

    type: str
    message: str = ""
    frames: tuple[Frame, ...] = ()
    cause: Failure | None = None
    members: tuple[Failure, ...] = ()
    notes: tuple[str, ...] = ()
    complete: bool = True  # False when the top or the bottom was cut off
    line: int = 0  # 1-based line in the report, 0 for an observed one
    where: str = "raised"  # raised | thread | unraisable | task | printed | logged | child

    @property
    def name(self) -> str:
        """The type without its module."""
        return self.type.rpartition(".")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedVersion:
    """A version that the report gives, and what it says of it."""

    name: str  # the distribution, normalised (PEP 503); "python" and the OS have their own fields in Report
    version: str
    role: Literal["used", "good", "bad", "fixed"] = "used"  # good: said to be free of the bug
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file that came with the report; `text` is the part read (bounded), "" for binary content."""

    name: str
    path: Path
    size: int  # bytes
    media: str = "text"  # text | binary | archive
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the reporter wrote and attached, normalised."""

    title: str
    body: str
    url: str = ""
    date: str = ""  # ISO 8601, "" when not known
    comments: tuple[str, ...] = ()
    sections: tuple[tuple[str, str], ...] = ()  # (heading, text) in order; the text before any heading has heading ""
    blocks: tuple[Block, ...] = ()
    failures: tuple[Failure, ...] = ()  # every traceback in the report and its attachments
    log_lines: tuple[str, ...] = ()
    log_digest: LogDigest | None = None  # None: there are no logs
    versions: tuple[StatedVersion, ...] = ()
    python: str = ""  # "3.11" or "3.11.4"
    system: str = ""  # the operating system as written
    attachments: tuple[Attachment, ...] = ()
    notes: tuple[str, ...] = ()  # what could not be read and why
    body_line: int = 1  # 1-based line of the report on which `body` begins


# -------------------------------------------------------------------------------------------------------------- symptom


class SymptomKind(enum.StrEnum):
    EXCEPTION = "exception"
    WRONG_OUTPUT = "wrong_output"
    WARNING = "warning"
    LOG = "log"
    EXIT = "exit"  # a command ends with the wrong status
    HANG = "hang"
    SLOW = "slow"
    LEAK = "leak"
    RACE = "race"
    CRASH = "crash"  # killed by a signal
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A literal the report names: an output line, a repr, a number, with where it stands."""

    text: str
    quote: str = ""  # the sentence or line it came from
    line: int = 0
    exact: bool = True  # False: words such as "empty" or "one statement" rather than the literal output


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeCrash:
    """What a report shows of a crash below Python: in a kernel's log line, a debugger's or a sanitizer's output."""

    module: str = ""  # file name of the library or program it happened in
    address: Literal["", "null", "page", "stack", "other"] = ""  # where it reached for; page: the first byte of one
    access: Literal["", "read", "write", "execute"] = ""
    corruption: bool = False  # of the heap: what it ends with, and when, varies
    message: str = ""  # an allocator's, a sanitizer's or the interpreter's own words
    frames: tuple[Frame, ...] = ()  # native, outermost first; `file` is a source file, else a library


@dataclass(frozen=True, slots=True, kw_only=True)
class Strain:
    """Slowness while something else is done: what is done meanwhile, in the report's words, and what gets slow."""

    meanwhile: str
    metric: Literal["step", "api", ""] = ""  # the work itself, or answers to others; "" when the report does not say
    ratio: float = 0.0  # how much slower the report says it gets, 0 when it does not say


@dataclass(frozen=True, slots=True, kw_only=True)
class Symptom:
    """The observable the report claims, in checkable form. Fields that do not apply stay empty."""

    kind: SymptomKind
    failure: Failure | None = None  # the reported exception; also for crash and hang stacks (type "")
    actual: tuple[Value, ...] = ()  # values the report says it got
    expected: tuple[Value, ...] = ()  # values it says it should get
    expected_exception: str = ""  # "should raise ValueError"
    messages: tuple[Value, ...] = ()  # warning or log messages that appear
    missing_messages: tuple[Value, ...] = ()  # those that should appear and do not
    repeated: bool = False  # messages appear more often than they should
    level: str = ""  # of the log messages, by logging's names
    warning: str = ""  # a warning's category
    signal: str = ""  # SIGSEGV …
    native: NativeCrash | None = None  # of a crash, where the report shows more than its signal
    exit_status: int | None = None
    good_versions: tuple[str, ...] = ()  # of the subject, said to be free of the bug, nearest first
    suspects: tuple[str, ...] = ()  # identifiers of the subject that the report names, most telling first
    quote: str = ""  # the sentence or line the kind was taken from
    line: int = 0
    missing: tuple[str, ...] = ()  # questions to the reporter, most useful first
    strain: Strain | None = None  # slowness under load


# -------------------------------------------------------------------------------------------------------------- subject


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


# ----------------------------------------------------------------------------------------------------------- experiment


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
    variation: Variation = Variation()
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


# -------------------------------------------------------------------------------------------------------------- judging


class Stage(enum.StrEnum):
    """How far a candidate got, worst first (DESIGN: staged, so that getting further always wins)."""

    UNRUNNABLE = "unrunnable"
    ENVIRONMENT = "environment"
    OUTSIDE = "outside"
    INSIDE = "inside"
    NEAR = "near"
    KIND = "kind"
    MATCH = "match"
    PROVEN = "proven"


class Verdict(enum.StrEnum):
    SUPPORTED = "supported"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    UNTESTED = "untested"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Distance from observation to symptom: 0 is the reported bug, 1 is nothing."""

    total: float
    stage: Stage
    parts: Mapping[str, float] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()  # what still differs, in words

    @property
    def score(self) -> int:
        return round(100 * (1 - self.total))


@dataclass(frozen=True, slots=True, kw_only=True)
class Critique:
    """In words: what the candidate shows, what still differs, what to try next."""

    shows: str
    differs: str = ""
    next: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A candidate, what its run showed, and how near that is to the symptom."""

    candidate: Candidate
    observation: Observation
    loss: Loss
    verdict: Verdict
    critique: Critique
    signature: str = ""  # failure signature: exception type, innermost subject frame, missing evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """k failures in n runs with the Wilson interval of the rate (95 %)."""

    runs: int
    failures: int
    rate: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A trial after confirmation."""

    trial: Trial
    script: str  # the stand-alone contract script
    test: str  # the same as a pytest module
    repeats: Repeats
    confirmed: bool  # the stand-alone script failed for the reported reason, run plainly in a clean environment
    explanation: str
    last_good: str = ""  # a release in which the stand-alone script exits 0, "" when none was found
    lines_before: int = 0
    doubts: tuple[str, ...] = ()  # why it was not confirmed, or what remains uncertain


class Status(enum.StrEnum):
    """What a run of rebug concluded; result.json's `status`."""

    REPRODUCED = "reproduced"
    PARTIAL = "partial"
    NOT_REPRODUCED = "not_reproduced"
    CAPPED = "capped"
    ENVIRONMENT_FAILED = "environment_failed"
