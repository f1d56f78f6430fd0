"""What to ask the reporter: the few things whose lack makes a reproduction guesswork, most useful first."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rebug.intake.versions import normalise
from rebug.model import BlockKind, Report, Symptom, SymptomKind

MAX_QUESTIONS = 3

_OPENED = re.compile(
    r"(?:\bopen|\bPath|read_csv|read_text|load(?:_file|_path)?|from_file|read_file|parse_file)\(\s*[rf]{0,2}[\"'](?P<name>[\w./\\ -]{1,120}\.\w{1,8})[\"']"
)
_CREATED = re.compile(r"write_text|write_bytes|[\"'][wax]b?\+?[\"']")


def missing_of(report: Report, symptom: Symptom, package: str) -> tuple[str, ...]:
    """At most three questions."""
    return tuple(dict.fromkeys(_questions(report, symptom, package)))[:MAX_QUESTIONS]


def _questions(report: Report, symptom: Symptom, package: str) -> Iterator[str]:
    for name in _unseen_files(report):
        yield f"What does {name} contain? The code reads it, but the report does not show it."
    kinds = {block.kind for block in report.blocks}
    if not kinds & {BlockKind.PYTHON, BlockKind.REPL, BlockKind.SHELL, BlockKind.TEST}:
        yield "What is the shortest program or command that shows it?"
    subject = package or "the software"
    if symptom.kind in (SymptomKind.EXCEPTION, SymptomKind.RACE) and not (symptom.failure and symptom.failure.frames):
        yield "What is the full traceback, from `Traceback (most recent call last)` to its last line?"
    elif symptom.failure and not symptom.failure.complete and symptom.failure.type and symptom.failure.frames:
        yield "What are the lines of the traceback that were left out?"
    if symptom.kind is SymptomKind.CRASH:
        yield "What does `python -X faulthandler` print when it crashes, and with which input?"
    if symptom.kind is SymptomKind.HANG and not (symptom.failure and symptom.failure.frames):
        yield "Where is it stuck? Please send the stacks that `faulthandler.dump_traceback` or `py-spy dump` shows."
    if (
        symptom.kind in (SymptomKind.WRONG_OUTPUT, SymptomKind.UNKNOWN, SymptomKind.LOG)
        and not symptom.expected_exception
    ):
        if not symptom.actual:
            yield "What exactly do you get, copied as it is printed?"
        if not symptom.expected:
            yield "What exactly do you expect instead?"
    if symptom.kind is SymptomKind.SLOW:
        yield "How long does it take for an input of which size, and how long for one twice as large?"
    if symptom.kind is SymptomKind.LEAK:
        yield "By how much does the memory grow per repetition, and of which operation?"
    name = normalise(package)
    if not any(v.name in {"", name} and v.role in {"used", "bad"} for v in report.versions):
        yield f"Which version of {subject} is it?"
    if not report.python:
        yield "Which version of Python is it?"


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
