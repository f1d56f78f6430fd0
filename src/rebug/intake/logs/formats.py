"""One line of a log as a record: its time, level, logger, message and fields, whatever wrote it.

Wrappers come off first (Docker, Kubernetes, compose), then the line is read as JSON, syslog, logfmt or plain text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rebug.intake.lines import strip_ansi
from rebug.intake.logs.times import time_at

MAX_FIELDS = 40
MAX_VALUE = 4000  # characters of a field's value that are kept

LEVELS = {
    "TRACE": "DEBUG", "DEBUG": "DEBUG", "DBG": "DEBUG", "VERBOSE": "DEBUG", "INFO": "INFO", "INFORMATION": "INFO",
    "NOTICE": "INFO", "SUCCESS": "INFO", "WARN": "WARNING", "WARNING": "WARNING", "ERROR": "ERROR", "ERR": "ERROR",
    "EXCEPTION": "ERROR", "SEVERE": "ERROR", "CRITICAL": "CRITICAL", "CRIT": "CRITICAL", "FATAL": "CRITICAL",
    "ALERT": "CRITICAL", "EMERG": "CRITICAL", "PANIC": "CRITICAL",
}  # fmt: skip
"""What people call the levels, by the names of Python's logging."""

_SEVERITIES = ("CRITICAL", "CRITICAL", "CRITICAL", "ERROR", "WARNING", "INFO", "INFO", "DEBUG")
"""Of syslog, RFC 5424 section 6.2.1."""
_LETTERS = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL", "D": "DEBUG", "C": "CRITICAL"}
_NAMES = "|".join(sorted(LEVELS, key=len, reverse=True))
_LEVEL = re.compile(
    rf"(?:(?<=^)|(?<=[\s\[|<(:=-]))(?P<level>{_NAMES}|{_NAMES.lower()}|{_NAMES.title()})(?=$|[\s\]|>):,-])"
)
_COMPOSE = re.compile(r"^(?P<source>[A-Za-z0-9][\w.-]{0,80}?) {1,40}\| ?")
_POD = re.compile(r"^\[(?P<source>(?:pod|deploy|job)/[\w./-]{1,200})\] ?")
_CRI = re.compile(
    r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) (?P<part>[FP]) ?"
)
_RFC5424 = re.compile(
    r"^<(?P<priority>\d{1,3})>\d (?P<time>\S{1,40}) (?P<host>\S{1,255}) (?P<app>\S{1,48}) (?P<pid>\S{1,128})"
    r" \S{1,32} (?P<data>-|(?:\[[^\]]{0,2000}\]){1,10}) ?"
)
_PRIORITY = re.compile(r"^<(?P<priority>\d{1,3})>")
_RFC3164 = re.compile(r"^(?P<host>[\w.:-]{1,255}) (?P<app>[\w./()-]{1,64})(?:\[(?P<pid>\d{1,10})\])?: ")
_PAIR = re.compile(
    r"(?P<key>[A-Za-z_@][\w.@-]{0,60})=(?P<value>\"(?:[^\"\\]|\\.){0,4000}\"|[^\s\"]\S{0,4000}|)(?=\s|$)"
)
_LOGGER = re.compile(
    r"^(?:\[(?P<boxed>[A-Za-z_][\w.:<>/-]{0,120})\]|(?P<name>[A-Za-z_][\w./-]{0,120}(?::[\w<>.]{1,80}(?::\d{1,7})?)?))"
    r"(?:\s*\[[\w .:-]{1,80}\])?\s*(?:(?<=\])|:(?=\s)| -(?=\s)| \|(?=\s))\s*"
)
_NAME_BEFORE = re.compile(r"[A-Za-z_][\w.]{0,120}")
_BASIC = re.compile(rf"^(?P<level>{_NAMES}):(?P<logger>[A-Za-z_][\w.]{{0,120}}):")
_KEYS = {
    "time": (
        "__REALTIME_TIMESTAMP",
        "time",
        "timestamp",
        "@timestamp",
        "ts",
        "asctime",
        "datetime",
        "date",
        "_time",
        "eventTime",
    ),
    "level": (
        "level",
        "levelname",
        "severity",
        "log.level",
        "lvl",
        "severityText",
        "status",
        "loglevel",
        "@l",
        "PRIORITY",
    ),
    "logger": (
        "logger",
        "name",
        "logger_name",
        "log.logger",
        "module",
        "component",
        "service",
        "source",
        "SYSLOG_IDENTIFIER",
    ),
    "message": ("message", "msg", "event", "log", "@message", "MESSAGE", "text", "body", "_raw", "@m"),
    "trace": ("exc_info", "exception", "traceback", "stack_trace", "stack", "error.stack", "err", "exc_text"),
}
"""Names that structured loggers (bunyan, pino and those of Python), logstash, ECS and collectors give these fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """One record of a log. `level` is one of logging's names or "", `time` seconds (see `time_at`), `line` the 1-based
    line (of an export without lines: the number of the record)."""

    message: str
    time: float | None = None
    level: str = ""
    logger: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    source: str = ""  # the container or host the line was collected from
    line: int = 0


def level_of(value: object) -> str:
    """A level as logging names it, from a name or a number of bunyan's and pino's scale; "" for anything else."""
    if isinstance(value, str):
        if len(value) == 1 and value in "01234567":  # journald's PRIORITY is syslog's severity
            return _SEVERITIES[int(value)]
        return LEVELS.get(value.strip().upper(), "")
    if isinstance(value, int) and not isinstance(value, bool) and 10 <= value <= 60:
        return ("DEBUG", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")[min(value // 10, 6) - 1]
    return ""


def parse_line(text: str, line: int = 0) -> LogRecord | None:
    """The record that begins with this line, None when the line begins none (a continuation, or no log at all)."""
    text = strip_ansi(text).rstrip("\r\n")
    inner, source, moment = unwrapped(text)
    record = _json(inner) or _syslog(inner) or _logfmt(inner) or _plain(inner)
    if record is None and (source or moment is not None) and inner.strip() and not inner[:1].isspace():
        record = LogRecord(message=inner)
    if record is None:
        return None
    return replace(
        record, time=record.time if record.time is not None else moment, source=source or record.source, line=line
    )


def unwrapped(text: str) -> tuple[str, str, float | None]:
    """The line without what a collector put before it, the collector's name of its source, and the collector's time."""
    source, moment = "", None
    for pattern in (_POD, _COMPOSE):
        found = pattern.match(text)
        if found and found["source"].upper() not in LEVELS:
            source, text = found["source"], text[found.end() :]
            break
    found = _CRI.match(text)
    if found:
        at = time_at(text)
        return text[found.end() :], source, at[0] if at else None
    if text.startswith('{"log":"'):
        document = _object(text)
        if document is not None and isinstance(document.get("log"), str) and "stream" in document:
            at = time_at(str(document.get("time", "")))
            return str(document["log"]).rstrip("\r\n"), source, at[0] if at else None
    return text, source, moment


def _object(text: str) -> Mapping[str, object] | None:
    if not text.startswith("{") or not text.rstrip().endswith("}"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _json(text: str) -> LogRecord | None:
    document = _object(text.strip()) if text[:1] == "{" or text[:2] == " {" else None
    return None if document is None else of_mapping(document)


def of_mapping(document: Mapping[str, object]) -> LogRecord | None:
    """The record in a mapping with the keys that structured loggers use; None when it has neither message nor level."""
    nested = document.get("record")  # a whole record, serialised beside its text
    if isinstance(nested, dict) and isinstance(nested.get("message"), str):
        document = {**nested, "time": _inner(nested.get("time"), "timestamp"), "level": _inner(nested["level"], "name")}
    picked = {part: _first(document, keys) for part, keys in _KEYS.items()}
    message, level = picked["message"], level_of(picked["level"])
    if not isinstance(message, str):
        message = json.dumps(message) if isinstance(message, (dict, list)) else ""
    if not message and not level:
        return None
    trace = picked["trace"]
    if isinstance(trace, dict):
        trace = _first(trace, ("stack", "traceback", "stack_trace"))
    if isinstance(trace, str) and "\n" in trace and trace not in message:
        message = f"{message}\n{trace}"
    used = {key for keys in _KEYS.values() for key in keys} - {"service", "module", "component", "source", "name"}
    fields = tuple(
        (str(key)[:80], (value if isinstance(value, str) else json.dumps(value))[:MAX_VALUE])
        for key, value in list(document.items())[:MAX_FIELDS]
        if key not in used and isinstance(value, (str, int, float, bool))
    )
    logger = picked["logger"]
    return LogRecord(
        message=message,
        time=_moment(picked["time"]),
        level=level,
        logger=logger if isinstance(logger, str) else "",
        fields=fields,
    )


def _inner(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else value


def _first(document: Mapping[str, object], keys: tuple[str, ...]) -> object:
    return next((document[key] for key in keys if document.get(key) not in (None, "")), None)


def _moment(value: object) -> float | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = float(value)
        for unit in (1.0, 1e3, 1e6, 1e9):  # seconds, milli-, micro- or nanoseconds since 1970
            if 1e8 < number / unit < 1e10:
                return number / unit
        return None
    if isinstance(value, str) and value.isdigit() and len(value) < 20:
        return _moment(int(value))
    at = time_at(value.strip()) if isinstance(value, str) else None
    return at[0] if at else None


def _syslog(text: str) -> LogRecord | None:
    modern = _RFC5424.match(text)
    if modern:
        at = time_at(modern["time"])
        pairs = tuple((m["key"], m["value"].strip('"')) for m in _PAIR.finditer(modern["data"].replace("]", " ")))
        return LogRecord(
            message=text[modern.end() :].removeprefix("\ufeff"),
            time=at[0] if at else None,
            level=_SEVERITIES[int(modern["priority"]) % 8],
            logger="" if modern["app"] == "-" else modern["app"],
            fields=pairs[:MAX_FIELDS],
            source="" if modern["host"] == "-" else modern["host"],
        )
    priority = _PRIORITY.match(text)
    rest = text[priority.end() :] if priority else text
    at = time_at(rest)
    if at is None or rest[at[1] : at[1] + 1] != " ":
        return None
    head = _RFC3164.match(rest, at[1] + 1) or _RFC3164.match(rest[at[1] + 1 :])
    if head is None or (head["pid"] is None and priority is None and not rest[:3].isalpha()):
        return None
    message = rest[at[1] + 1 + head.end() :]
    inner = _json(message) or _logfmt(message) or _plain(message)
    level = _SEVERITIES[int(priority["priority"]) % 8] if priority else ""
    if inner is not None:
        return replace(
            inner,
            time=at[0] if inner.time is None else inner.time,
            level=inner.level or level,
            logger=inner.logger or head["app"],
            source=head["host"],
        )
    return LogRecord(message=message, time=at[0], level=level, logger=head["app"], source=head["host"])


def _logfmt(text: str) -> LogRecord | None:
    """`key=value` pairs; at least two of them, and the line begins with one."""
    first = _PAIR.match(text)
    if first is None:
        return None
    pairs: dict[str, object] = {}
    for found in _PAIR.finditer(text[:20_000]):
        value = found["value"]
        pairs.setdefault(found["key"], value[1:-1].replace('\\"', '"') if value[:1] == '"' else value)
    return of_mapping(pairs) if len(pairs) >= 2 else None


def _plain(text: str) -> LogRecord | None:
    basic = _BASIC.match(text)
    if basic:
        return LogRecord(message=text[basic.end() :].lstrip(" "), level=LEVELS[basic["level"]], logger=basic["logger"])
    start = 1 if text[:1] in "[(" else 0
    at = time_at(text, start)
    letter = _LETTERS.get(text[:1], "") if at and text[1:5].isdigit() and not text[:1].isdigit() else ""
    rest = text[at[1] :].lstrip(" ])|,-") if at else text
    found = _LEVEL.search(rest[:140])
    if at is None and (found is None or found.start() > 1 or not rest[found.end() : found.end() + 1].strip("")):
        return None
    if found is None or (at is None and not _headed(rest, found)):
        return None if at is None else LogRecord(message=_after_mark(rest), time=at[0], level=letter)
    before, after = rest[: found.start()].strip(" -|[]:("), rest[found.end() :].lstrip(" ])|>:-,")
    logger = before if _NAME_BEFORE.fullmatch(before) else ""
    if not logger and len(before) > 60:  # the word stands in the message
        return LogRecord(message=_after_mark(rest), time=at[0] if at else None, level=letter)
    named = None if logger else _LOGGER.match(after)
    if named:
        logger, after = named["boxed"] or named["name"], after[named.end() :]
    return LogRecord(message=after, time=at[0] if at else None, level=LEVELS[found["level"].upper()], logger=logger)


def _headed(rest: str, found: re.Match[str]) -> bool:
    """Whether a level at the very beginning is one, rather than a word: in capitals, or in brackets."""
    return found["level"].isupper() or rest[:1] in "[<("


def _after_mark(rest: str) -> str:
    """The message of a line without a level: behind glog's `1234 file.cc:12] `."""
    found = re.match(r"\d{1,8} [\w./-]{1,120}:\d{1,7}\] ", rest)
    return rest[found.end() :] if found else rest
