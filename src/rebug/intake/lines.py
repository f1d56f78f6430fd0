"""Lines of untrusted text: without ANSI colours, of bounded length, with the number they had in the report."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_LINE = 4000  # characters; a longer line is cut, so that no pattern ever sees more

_ANSI = re.compile(r"\x1b(?:\[[0-9;:?]{0,40}[A-Za-z]|\][^\x07\x1b\n]{0,400}(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>])")
_PRINTED_ANSI = re.compile(r"(?:␛|\\x1b|\\033|\\u001b)\[[0-9;]{0,20}m")
_BREAKS = re.compile(r"\r\n|\r|\n|\x0b|\x0c|\x85|\u2028|\u2029")
_LOG_TIME = re.compile(
    r"^[\[(]?(?:\d{4}[-/.]\d\d[-/.]\d\d[T _,]{0,2}\d\d:\d\d|\d\d[-/.]\d\d[-/.]\d{2,4}[T ,]{1,2}\d\d:\d\d"
    r"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d\d:\d\d:\d\d\b"
    r"|\[? ?\d{1,7}\.\d{6}\])"
)
_LOG_LEVEL = re.compile(r"^[\[<(]?(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL|TRACE|NOTICE|SEVERE)\b[\]>)]?[:\s|-]")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text and its 1-based number in what was given."""

    number: int
    text: str


def strip_ansi(text: str) -> str:
    """`text` without terminal control sequences, also those pasted as visible escapes (`\\x1b[31m`)."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "[" in text and ("\\x1b[" in text or "\\033[" in text or "\\u001b[" in text or "␛[" in text):
        text = _PRINTED_ANSI.sub("", text)
    return text


def split_lines(text: str) -> list[str]:
    """The lines of `text` with any line ending, each at most `MAX_LINE` characters."""
    return [line[:MAX_LINE].rstrip() for line in _BREAKS.split(strip_ansi(text))]


def numbered(text: str) -> list[Line]:
    """The lines of `text`; one that holds a whole traceback with written-out line ends (JSON logs) becomes several."""
    lines: list[Line] = []
    for number, line in enumerate(_BREAKS.split(strip_ansi(text)), 1):
        if "Traceback (most recent call" in line and "\\n" in line:
            unescaped = line[: 20 * MAX_LINE].replace("\\r", "").replace("\\n", "\n").replace('\\"', '"')
            unescaped = unescaped.replace("\\t", "\t").replace("\\\\", "\\")
            before, header, after = unescaped.partition("Traceback (most recent call")
            if '"' in before or "'" in before:  # a quoted field: what follows its end is not the traceback's
                last = after.rpartition("\n")
                after = last[0] + last[1] + re.split(r"[\"'](?:[,}\]]|$)", last[2], maxsplit=1)[0]
                lines.append(Line(number, before[:MAX_LINE]))
                before = ""
            lines += [Line(number, part[:MAX_LINE].rstrip()) for part in (before + header + after).split("\n")]
        else:
            lines.append(Line(number, line[:MAX_LINE].rstrip()))
    return lines


def looks_logged(text: str) -> bool:
    """Whether a line begins like a log record: with a time or a level."""
    stripped = text.lstrip()
    return bool(_LOG_TIME.match(stripped) or _LOG_LEVEL.match(stripped))
