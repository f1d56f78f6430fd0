"""From a report to the symptom it claims: its kind by the strongest evidence, and all that a run can be checked by."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from rebug.intake.comments import Found
from rebug.intake.failures import expected_exception, relevant_failure
from rebug.intake.interaction import is_slowness, strain_of
from rebug.intake.kinds import (
    EXIT,
    WARNING_LINE,
    WARNING_NAME,
    command_error,
    is_assertion,
    kind_by_evidence,
    output_lines,
)
from rebug.intake.logs import Complaint, complaint_of
from rebug.intake.markup import parts_of
from rebug.intake.missing import missing_of
from rebug.intake.native import native_crash, signal_of
from rebug.intake.parse import all_sentences
from rebug.intake.prose import Sentence, plain
from rebug.intake.suspects import suspects_of
from rebug.intake.values import values_of
from rebug.intake.versions import normalise
from rebug.model import BlockKind, Failure, Report, Symptom, SymptomKind, Value

_TOLD_BY_MESSAGE = (SymptomKind.LOG, SymptomKind.WARNING)


def find_symptom(report: Report, package: str, modules: Sequence[str] = ()) -> Symptom:
    """The symptom that `report` claims of the distribution `package`, whose import names are `modules`.

    Pure. Kinds are decided by the strongest evidence (see `kind_by_evidence`); fields that do not apply stay empty.
    """
    names = tuple(dict.fromkeys((*modules, package.replace("-", "_").lower()))) if package or modules else ()
    sentences = report_sentences(report)
    expected = expected_exception(sentences) or _raised_by_good(report, sentences, package)
    reported = relevant_failure(report, sentences, names, expected)
    evidence = kind_by_evidence(report, sentences, reported)
    if evidence.kind is SymptomKind.UNKNOWN and expected:
        evidence = replace(evidence, kind=SymptomKind.WRONG_OUTPUT)
    failure = reported.failure if reported else None
    strain = strain_of(sentences)
    if is_slowness(evidence.kind, strain, failure):
        evidence = replace(evidence, kind=SymptomKind.SLOW)
    if (
        evidence.kind in (SymptomKind.WRONG_OUTPUT, SymptomKind.SLOW, SymptomKind.LEAK)
        and failure
        and not failure.frames
    ):
        failure = None if not is_assertion(failure) else failure
    if evidence.kind is SymptomKind.HANG and failure and not failure.type:
        failure = replace(failure, members=_other_stacks(report, failure))
    found = _values(report, sentences, failure, evidence.kind)
    category, messages = _messages(report, sentences, evidence.kind, failure)
    complaint = complaint_of(report, sentences) if evidence.kind in _TOLD_BY_MESSAGE else Complaint()
    native, told_signal = native_crash(report) if evidence.kind is SymptomKind.CRASH else (None, "")
    symptom = Symptom(
        kind=evidence.kind,
        failure=failure,
        actual=tuple(found.actual),
        expected=tuple(found.expected),
        expected_exception=expected,
        messages=messages or complaint.unwanted,
        missing_messages=complaint.missing,
        repeated=complaint.twice,
        level=complaint.level,
        warning=category,
        signal=signal_of(report, told_signal) if evidence.kind is SymptomKind.CRASH else "",
        native=native,
        exit_status=_exit_status(report, sentences),
        good_versions=good_versions(report, package),
        suspects=suspects_of(report, sentences, names, failure),
        quote=evidence.quote[:600],
        line=evidence.line,
        strain=strain if evidence.kind in (SymptomKind.SLOW, SymptomKind.HANG) else None,
    )
    return replace(symptom, missing=missing_of(report, symptom, package))


def _other_stacks(report: Report, shown: Failure) -> tuple[Failure, ...]:
    """The stacks of the other threads in the report's dumps, each once, those shown in full before those cut off."""
    dumps = sorted((f for f in report.failures if not f.type and f.frames), key=lambda f: -len(f.frames))
    met = [shown]
    for dump in dumps[:40]:
        names = {*_calls_of(dump)}
        if not any(names <= {*known} or {*known} <= names for known in map(_calls_of, met)):
            met.append(dump)
    return tuple(met[1:9])


def _calls_of(failure: Failure) -> list[tuple[str, str]]:
    return [(frame.file, frame.function) for frame in failure.frames]


def _raised_by_good(report: Report, sentences: Sequence[Sentence], package: str) -> str:
    """The exception that a version said to be good raises."""
    good = good_versions(report, package)
    for sentence in sentences:
        if any(version in sentence.text for version in good):
            found = re.search(
                r"\b(?:rejected|refused) with (?:an? )?`?(?P<a>[A-Z]\w+)|\braise[sd]? (?:an? )?`?(?P<b>[A-Z]\w+)",
                sentence.text,
            )
            if found and not re.search(r"\b(?:no|not|n't|no longer)\b", sentence.text[: found.start()][-30:]):
                return found["a"] or found["b"]
    return ""


def title_line(report: Report) -> int:
    """The line on which the title stands: just above the body, or in it when the report has no title of its own."""
    start = report.title.removesuffix("...")[:40]
    for offset, line in enumerate(report.body.split("\n")[:400]):
        if start and start in plain(line):
            return report.body_line + offset
    return max(report.body_line - 1, 1)


def report_sentences(report: Report) -> list[Sentence]:
    """The report's title, headings and prose, then its comments, as sentences with their line."""
    lines = report.body.split("\n")
    shifted = [""] * (report.body_line - 1) + lines
    out = all_sentences(report.title, parts_of(shifted), title_line(report))
    for comment in report.comments[:50]:
        out += [Sentence(s.text, 0, s.section) for s in all_sentences("", parts_of(comment.split("\n")[:2000]))]
    return out


def _values(report: Report, sentences: Sequence[Sentence], failure: Failure | None, kind: SymptomKind) -> Found:
    """Values apply where output is compared; in an exception's report what was printed before it proves nothing."""
    found = values_of(report, sentences, failure)
    if kind in (SymptomKind.WRONG_OUTPUT, SymptomKind.UNKNOWN, SymptomKind.EXIT, SymptomKind.LOG, SymptomKind.WARNING):
        return found
    if kind in (SymptomKind.EXCEPTION, SymptomKind.RACE):
        return Found([], found.expected)
    return Found([], [])


def _messages(
    report: Report, sentences: Sequence[Sentence], kind: SymptomKind, failure: Failure | None
) -> tuple[str, tuple[Value, ...]]:
    """The category of a warning, and the messages of warnings or log records."""
    if kind is SymptomKind.WARNING:
        shown = [(s, m) for s in (*output_lines(report), *sentences) if (m := WARNING_LINE.search(s.text.strip("`")))]
        named = next(
            (m["name"] for s in sentences if (m := WARNING_NAME.search(s.text)) and m["name"] != "Warning"), ""
        )
        category = shown[0][1]["name"] if shown else named or (failure.type if failure else "")
        values = {m["message"]: Value(text=m["message"].strip("`"), quote=s.text, line=s.line) for s, m in shown[:10]}
        if failure and failure.message and failure.name.endswith("Warning"):
            values.setdefault(failure.message, Value(text=failure.message, quote=failure.message, line=failure.line))
        return category, tuple(values.values())
    if kind is SymptomKind.EXIT:
        error = command_error(report)
        return "", (Value(text=error.text, quote=error.text, line=error.line),) if error else ()
    return "", ()


def _exit_status(report: Report, sentences: Sequence[Sentence]) -> int | None:
    """The wrong exit status: shown by `echo $?`, else stated; not one that stands under "expected"."""
    for block in report.blocks:
        if block.kind is BlockKind.SHELL:
            for shown in re.finditer(
                r"echo (?:\$\?|%errorlevel%|\$LASTEXITCODE|\$status)\s*\n\s*(\d{1,3})\s*(?:\n|$)", block.text
            ):
                return int(shown[1])
    for sentence in sentences:
        if re.match(r"expected|desired|should", sentence.section, re.IGNORECASE):
            continue
        for found in EXIT.finditer(sentence.text):
            digits = found["status"] or found["code"] or found["other"]
            wanted = re.search(
                r"\b(?:should|expect|instead of|must|rather than)\b",
                sentence.text[max(0, found.start() - 40) : found.start()],
            )
            if digits and int(digits) < 256 and not wanted:
                return int(digits)
    return None


def good_versions(report: Report, package: str) -> tuple[str, ...]:
    """Versions of the subject that the report says are free of the bug, nearest to the bad one first."""
    name = normalise(package)
    own = [
        v
        for v in report.versions
        if v.name in {"", name}
        or v.name.startswith(f"{name}-py")
        or v.name in {f"{name}-py", f"py{name}", f"python-{name}"}
    ]
    good = list(dict.fromkeys(v.version for v in own if v.role == "good"))
    first_bad = min((_numbers(v.version) for v in own if v.role == "bad"), default=())
    good += [v.version for v in own if v.role == "used" and _numbers(v.version) < first_bad and v.version not in good]
    bad = {v.version for v in own if v.role in {"bad", "used"}} - set(good)
    return tuple(sorted((v for v in good if v not in bad), key=_numbers, reverse=True))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:6])
