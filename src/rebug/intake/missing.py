"""What to ask the reporter: the few things whose lack makes a reproduction guesswork, most useful first."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rebug.intake.versions import normalise
from rebug.model import BlockKind, Report, Symptom, SymptomKind

MAX_QUESTIONS = 3

_OPENED = re.compile(
    r"(?:\bopen|\bPath|read_csv|read_text|load(?:_file|_path)?|from_file|read_file"
    r"|parse_file)\(\s*[rf]{0,2}[\"'](?P<name>[\w./\\ -]{1,120}\.\w{1,8})[\"']"
)
_CREATED = re.compile(r"write_text|write_bytes|[\"'][wax]b?\+?[\"']")


_BY_KIND = {
    SymptomKind.CRASH: "What does `python -X faulthandler` print when it crashes, and with which input?",
    SymptomKind.SLOW: "How long does it take for an input of which size, and how long for one twice as large?",
    SymptomKind.LEAK: "By how much does the memory grow per repetition, and of which operation?",
}


def missing_of(report: Report, symptom: Symptom, package: str) -> tuple[str, ...]:
    """At most three questions."""
    return tuple(dict.fromkeys(_questions(report, symptom, package)))[:MAX_QUESTIONS]


def _questions(report: Report, symptom: Symptom, package: str) -> Iterator[str]:
    for name in _unseen_files(report):
        yield f"What does {name} contain? The code reads it, but the report does not show it."
    kinds = {block.kind for block in report.blocks}
    if not kinds & {BlockKind.PYTHON, BlockKind.REPL, BlockKind.SHELL, BlockKind.TEST}:
        yield "What is the shortest program or command that shows it?"
    yield from _about_symptom(symptom)
    name = normalise(package)
    if not any(v.name in {"", name} and v.role in {"used", "bad"} for v in report.versions):
        yield f"Which version of {package or 'the software'} is it?"
    if not report.python:
        yield "Which version of Python is it?"


def _about_symptom(symptom: Symptom) -> Iterator[str]:
    """What a symptom of this kind is checked by and the report does not give."""
    kind, failure = symptom.kind, symptom.failure
    stack = bool(failure and failure.frames)
    if kind in (SymptomKind.EXCEPTION, SymptomKind.RACE) and not stack:
        yield "What is the full traceback, from `Traceback (most recent call last)` to its last line?"
    elif failure and failure.type and stack and not failure.complete:
        yield "What are the lines of the traceback that were left out?"
    if kind is SymptomKind.HANG and not stack:
        yield "Where is it stuck? Please send the stacks that `faulthandler.dump_traceback` or `py-spy dump` shows."
    if kind in _BY_KIND:
        yield _BY_KIND[kind]
    compared = (
        kind in (SymptomKind.WRONG_OUTPUT, SymptomKind.UNKNOWN, SymptomKind.LOG) and not symptom.expected_exception
    )
    if compared and not symptom.actual:
        yield "What exactly do you get, copied as it is printed?"
    if compared and not symptom.expected:
        yield "What exactly do you expect instead?"


def _unseen_files(report: Report) -> Iterator[str]:
    """Files that the report's code opens for reading and that no block or attachment gives."""
    given = {block.filename.rpartition("/")[2] for block in report.blocks} | {a.name for a in report.attachments}
    data = any(block.kind in (BlockKind.CONFIG, BlockKind.DATA) for block in report.blocks)
    for block in report.blocks:
        if block.kind is not BlockKind.PYTHON or block.attachment or data:
            continue
        for line in block.text.split("\n"):
            found = _OPENED.search(line)
            name = found["name"].replace("\\", "/").rpartition("/")[2] if found else ""
            if name and name not in given and not _CREATED.search(line) and block.text.count(name) == 1:
                yield name
