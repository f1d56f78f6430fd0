"""Texts of a report as they can be looked for in another run: without what differs from machine to machine."""

from __future__ import annotations

import re

from rebug.model import Symptom

_VOLATILE = re.compile(
    r"0x[0-9a-fA-F]{4,16}"  # addresses
    r"|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?"  # dates
    r"|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"
    r"|(?:[A-Za-z]:)?(?:[\\/][\w.@+-]+){2,}[\\/]?"  # paths
    r"|\b\d+\.\d+(?:\.\d+)+\w*"  # versions
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|(?<=pid )\d+|(?<=line )\d+|(?<=Thread-)\d+"
    r"|\.\.\.|…"
)
_DURATION = re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|us|µs|ns|s|sec|secs|seconds|minutes)\b|(?<=in )\d+\.\d+s?\b")


def pieces_of(text: str) -> tuple[str, ...]:
    """The parts of a line that any run would print alike, in order; () when too little of it is stable."""
    parts = [p.strip() for p in _VOLATILE.split(_DURATION.sub("...", text))]
    kept = [p for p in parts if len(p) >= 3 and re.search(r"\w", p)]
    return tuple(kept) if sum(map(len, kept)) >= min(4, len(text.strip())) else ()


def mask(line: str) -> str:
    """A line of output with its volatile parts replaced by `…` and its white space normalised."""
    return " ".join(_VOLATILE.sub("…", _DURATION.sub("…", line)).split())


def reported_texts(symptom: Symptom) -> list[str]:
    """What the report says can be seen when the bug shows, most specific first."""
    texts: list[str] = []
    if symptom.failure is not None and symptom.failure.type:
        first = symptom.failure.message.splitlines()[0] if symptom.failure.message else ""
        texts.append(f"{symptom.failure.name}: {first}" if first else symptom.failure.name)
    texts += [value.text for value in symptom.messages]
    texts += [value.text for value in symptom.actual if value.exact]
    return [t for t in texts if t.strip()]
