"""The observable that a report claims, in checkable form."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Literal

from rebug.model.report import Failure, Frame


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
