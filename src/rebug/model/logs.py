"""What a report's logs hold, in bounded form: values only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSource:
    """One log that was read: its size in lines and unpacked bytes, and the span of its times (ISO 8601, "" unknown)."""

    name: str
    lines: int
    size: int
    begins: str = ""
    ends: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTemplate:
    """A kind of record: its words, with `<>` for what varies; how often and between which lines it stands."""

    text: str
    source: str
    count: int
    first: int  # 1-based line
    last: int
    level: str = ""
    logger: str = ""
    example: str = ""  # one record's message, bounded


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMoment:
    """A line that stands out, why, and what stood just before it."""

    source: str
    line: int
    text: str
    why: str  # error | rare | new
    before: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LogGap:
    """A time in which nothing was logged: `seconds` before `line`."""

    source: str
    line: int
    seconds: float
    before: str  # the line before the silence
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFailure:
    """A traceback and how often it stands in the logs."""

    type: str
    message: str
    source: str
    count: int
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogThread:
    """The lines of all logs that carry one identifier (a request's, a task's), in order: (source, line, text)."""

    identifier: str
    lines: tuple[tuple[str, int, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDigest:
    """The logs of a report, as far as they matter to its failure."""

    sources: tuple[LogSource, ...] = ()
    templates: tuple[LogTemplate, ...] = ()  # most frequent first
    moments: tuple[LogMoment, ...] = ()  # in order of lines
    gaps: tuple[LogGap, ...] = ()  # longest first
    failures: tuple[LogFailure, ...] = ()  # most frequent first
    threads: tuple[LogThread, ...] = ()
