"""From a report to the symptom it claims: which kind, by the strongest evidence, and everything a run can be checked by."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rebug.intake.classify import does_something, parse_python
from rebug.intake.failures import Reported, expected_exception, relevant_failure
from rebug.intake.lines import looks_logged
from rebug.intake.markup import parts_of
from rebug.intake.missing import missing_of
from rebug.intake.parse import all_sentences
from rebug.intake.prose import Sentence, plain
from rebug.intake.suspects import suspects_of
from rebug.intake.values import Found, values_of
from rebug.intake.versions import normalise
from rebug.model import BlockKind, Failure, Report, Symptom, SymptomKind, Value

_CRASH = re.compile(
    r"\bseg(?:mentation )?[- ]?faults?\b|\bsegfault\w{0,3}\b|\bSIG(?:SEGV|ABRT|BUS|ILL|FPE)\b|\bcore dumped\b|\bbus error\b|\baccess violation\b|\bfatal python error\b|"
    r"\billegal instruction\b|\bdouble free\b|\bheap corruption\b|\bmunmap_chunk\b|\bfree\(\): invalid|\bgeneral protection\b|\b(?:exit(?:ed)?|return) (?:code|status)?:? ?-?(?:11|139|0xC0000005)\b|"
    r"\bsignal (?:11|6)\b|\binterpreter (?:crash|abort)\w{0,3}\b",
    re.IGNORECASE,
)
_SIGNALS = (
    (
        re.compile(r"SIGABRT|\babort(?:ed)?\b|double free|free\(\): invalid|munmap_chunk|signal 6", re.IGNORECASE),
        "SIGABRT",
    ),
    (re.compile(r"SIGBUS|bus error", re.IGNORECASE), "SIGBUS"),
    (re.compile(r"SIGILL|illegal instruction", re.IGNORECASE), "SIGILL"),
    (re.compile(r"SIGFPE|floating point exception", re.IGNORECASE), "SIGFPE"),
)
_LEAK = re.compile(
    r"\b(?:memory|fd|file descriptor|handle|resource|socket|connection|thread)s? ?-?leak\w{0,3}\b|\bleak(?:s|ed|ing|age|y)?\b|\bmemory (?:usage |consumption |footprint )?(?:keeps? |is |just )?(?:grow|increas|ris|climb)\w{0,4}|"
    r"\bRSS (?:keeps? )?(?:grow|increas|ris|climb)\w{0,4}|\b(?:never|not) (?:garbage[- ]collected|freed|released)\b|\bunbounded(?:ly)? (?:memory|grow\w{0,3})|\b(?:OOM|out of memory)\b",
    re.IGNORECASE,
)
_HANG = re.compile(
    r"\b(?:hang|hangs|hanging|hung|dead-?lock\w{0,3}|live-?lock\w{0,3})\b|\bnever (?:\w+ )?(?:return|come|end|finish|complet|terminat|resolv|exit|stop|wake|get)\w{0,4}\b|\b(?:gets?|got|is|are|being|remains?) stuck\b|\bstuck\b|"
    r"\bblock(?:s|ed|ing)? (?:forever|for good|for ever|indefinitely|until)\b|\bfor ?ever\b|\binfinite(?:ly)? (?:loop\w{0,3}|wait\w{0,3})\b|\bendless(?:ly)? loop\w{0,3}\b|\bloops? (?:forever|infinitely|endlessly)\b|\bfreez(?:es|ing)\b|\b(?:is|gets?|was|becomes?|process|app|program) frozen\b|\block(?:s|ed)? up\b|"
    r"\b(?:does not|doesn't|do not|don't|cannot|can't|won't|will not) (?:ever )?(?:return|terminate|exit|finish|come back|stop|end)\b|\bwaits? (?:forever|indefinitely)\b|\bunresponsive\b|\bstay behind\b",
    re.IGNORECASE,
)
_STRONG_SLOW = re.compile(
    r"\bquadratic\w{0,4}\b|\bO\(n|\bexponential(?:ly)?\b|\b\d{1,3} ?% (?:of )?(?:a |the |one )?(?:whole )?CPU\b|\bCPU (?:usage )?(?:at|to|of|goes to|stays at|is at) ?~?\d{2,3} ?%|\bwhole CPU\b|\bcatastrophic backtracking\b|\bReDoS\b|"
    r"\bbusy[- ]?(?:loop|wait)\w{0,3}\b|\b\d+ ?(?:x|times) (?:slower|longer)\b|\bhigh CPU\b|\bperformance regression\b|\bspin(?:s|ning)\b",
    re.IGNORECASE,
)
_SLOW = re.compile(
    r"\b(?:extremely|very|really|so|too|painfully|incredibly|unusably)? ?slow(?:er|ly|ness|down|s)?\b|\bperformance\b|\btak(?:es?|ing) (?:\w+ ){0,4}?(?:minutes|hours|seconds|ages|long(?:er)?)\b|\blatency\b|\b(?:event )?loop (?:is |gets )?(?:block|stall)\w{0,3}\b|"
    r"\bstall(?:s|ed|ing)?\b|\blags?\b",
    re.IGNORECASE,
)
_RACE = re.compile(
    r"\bsometimes\b|\bonce in a while\b|\b(?:every )?now and then\b|\boccasional(?:ly)?\b|\bintermittent(?:ly)?\b|\b(?:at )?random(?:ly)?\b(?! (?:number|string|seed|byte|int|data|name|value|choice|sample|state|forest|module|generator))|\bflak(?:y|iness)\b|"
    r"\brace(?:s| condition)?\b|\bconcurren\w{1,4}\b|\bthread[- ]?safe\w{0,2}\b|\bfrom (?:several|multiple|two|many|different|other) (?:threads|processes)\b|\bmulti-?thread\w{0,3}\b|\bone (?:run|time|request)? ?(?:in|out of) \w+\b|\bnon-?determinis\w{1,4}\b|"
    r"\bfrom time to time\b|\brarely\b|\bunder (?:heavy )?load\b|\bsporadic(?:ally)?\b",
    re.IGNORECASE,
)
_RACE_STRONG = re.compile(
    r"\brace(?:s| condition)?\b|\bthread[- ]?safe\w{0,2}\b|\bfrom (?:several|multiple|two|many|different|other) (?:threads|processes)\b|\bone (?:run|time|request) (?:in|out of) \w+\b"
    r"|\bnon-?determinis\w{1,4}\b|\bflak(?:y|iness)\b|\bconcurren\w{1,4}\b",
    re.IGNORECASE,
)
_ABOUT_FAILURE = re.compile(
    r"\b(?:happen|occur|fail|rais|throw|error|exception|crash|ends?\b|ended|traceback|see\b|seen|break|broke|log\b|dies?\b|get\b|gets\b|got\b|this\b)",
    re.IGNORECASE,
)
_WARNING = re.compile(r"\b(?P<name>(?:[A-Za-z_]\w*\.){0,6}(?:[A-Z]\w*)?Warning)\b")
_WARNING_LINE = re.compile(
    r"(?:^|\s)(?:\S{1,300}:\d{1,7}: |sys:1: )?(?P<name>(?:[A-Za-z_]\w*\.){0,6}[A-Z]\w*Warning): (?P<message>\S.{0,600})$"
)
_LOG = re.compile(
    r"\blog(?:s|ged|ging|ger)?\b[^.\n]{0,60}\b(?:twice|duplicat\w{1,4}|double|missing|wrong|lost|not (?:shown|written|emitted)|spam\w{0,4}|repeated(?:ly)?|noisy|flood\w{0,3})|\b(?:twice|duplicat\w{1,4}|double|missing|wrong|spurious|misleading|confusing|too many)\b[^.\n]{0,30}\blog(?:s|ged|ging| (?:message|line|entr|record|output)\w{0,3})?\b|"
    r"\blogs? (?:an? )?(?:error|traceback|exception|warning)s?\b",
    re.IGNORECASE,
)
_EXIT = re.compile(
    r"\b(?:exit(?:s|ed)?|return)[ -]?(?:code|status)(?: \w+){0,3}? (?:of |is |was |= ?)?`?(?P<status>\d{1,3})\b|\bexit(?:s|ed)? (?:with )?(?:code |status |a )?`?(?P<code>\d{1,3})\b|\bexit(?:s|ed)? (?:code|status)\b|\bnon-?zero (?:exit|status|code)|\breturns? (?:exit )?code (?P<other>\d{1,3})\b",
    re.IGNORECASE,
)
_ERROR_LINE = re.compile(r"^\s{0,4}(?:[\w./-]{1,40}: )?(?:error|fatal|Error|ERROR|FATAL|Fatal)(?::| -|\s*\|) ?\S")
_COMPLAINT = re.compile(
    r"\b(?:wrong(?:ly)?|incorrect(?:ly)?|instead|should(?:n't)?|expect\w{0,3}|unexpected(?:ly)?|but\b|ignor\w{1,3}|lost|loses?|missing|empty|broken?|breaks?|broke|fails?|failed|bug|no longer|not (?:work|respect|honou?r|return|preserv|appl|includ|separat)\w{0,4}|"
    r"does(?: not|n't)|didn't|did not|inconsistent|corrupt\w{0,3}|invalid|duplicat\w{1,3}|unusable|differs?|changed|regression|overrid\w{1,4}|overwrit\w{1,4}|wins?|mangl\w{1,3}|truncat\w{1,3}|swapped|reversed|stale|problem|issue)\b",
    re.IGNORECASE,
)
_TIMEOUTS = re.compile(r"Timeout|CancelledError|KeyboardInterrupt|TimeoutExpired|^timeout$")


@dataclass(frozen=True, slots=True)
class _Evidence:
    """A kind with the sentence or line it was taken from."""

    kind: SymptomKind
    quote: str
    line: int


def find_symptom(report: Report, package: str, modules: Sequence[str] = ()) -> Symptom:
    """The symptom that `report` claims of the distribution `package`, whose import names are `modules`.

    Pure. Kinds are decided by the strongest evidence (see `_kind`); fields that do not apply stay empty.
    """
    names = tuple(dict.fromkeys((*modules, package.replace("-", "_").lower()))) if package or modules else ()
    sentences = report_sentences(report)
    expected = expected_exception(sentences) or _raised_by_good(report, sentences, package)
    reported = relevant_failure(report, sentences, names, expected)
    evidence = _kind(report, sentences, reported)
    failure = reported.failure if reported else None
    if (
        evidence.kind in (SymptomKind.WRONG_OUTPUT, SymptomKind.SLOW, SymptomKind.LEAK)
        and failure
        and not failure.frames
    ):
        failure = None if not _is_assertion(failure) else failure
    found = _values(report, sentences, failure, evidence.kind)
    category, messages = _messages(report, sentences, evidence.kind, failure)
    symptom = Symptom(
        kind=evidence.kind,
        failure=failure,
        actual=tuple(found.actual),
        expected=tuple(found.expected),
        expected_exception=expected,
        messages=messages,
        warning=category,
        signal=_signal(report, evidence.kind),
        exit_status=_exit_status(report, sentences),
        good_versions=good_versions(report, package),
        suspects=suspects_of(report, sentences, names, failure),
        quote=evidence.quote[:600],
        line=evidence.line,
    )
    return _with_missing(symptom, report, package)


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


def _with_missing(symptom: Symptom, report: Report, package: str) -> Symptom:
    from dataclasses import replace  # noqa: PLC0415

    return replace(symptom, missing=missing_of(report, symptom, package))


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


def _search(pattern: re.Pattern[str], sentences: Sequence[Sentence]) -> Sentence | None:
    return next((sentence for sentence in sentences if pattern.search(_readable(sentence.text))), None)


def _readable(text: str) -> str:
    """A sentence without its negated or hypothetical symptoms ("no timeout", "instead of hanging")."""
    return re.sub(
        r"\b(?:no|without(?: any)?|not a|instead of|rather than|used to|like it) (?:\w+ ){0,2}?(?:hang\w{0,3}|leak\w{0,3}|crash\w{0,3}|deadlock\w{0,3}|segfault\w{0,3})\b",
        "",
        text,
    )


def _kind(report: Report, sentences: Sequence[Sentence], reported: Reported | None) -> _Evidence:
    """The kind by the strongest evidence: native crash; what the title says; a failure; what the prose says; values."""
    title = [s for s in sentences[:1] if s.text == report.title]
    failure = reported.failure if reported else None
    crash = _crash(report, title, sentences, failure)
    if crash:
        return crash
    for group in (title, sentences):
        decided = _by_words(report, group, reported, in_title=group is title)
        if decided:
            return decided
    if reported and failure and (failure.type or failure.message):
        return _of_failure(reported, sentences)
    return _by_claim(report, sentences)


def _crash(
    report: Report, title: Sequence[Sentence], sentences: Sequence[Sentence], failure: Failure | None
) -> _Evidence | None:
    said = _search(_CRASH, title) or _search(_CRASH, sentences)
    if said and not (failure and failure.frames and failure.type and said not in title):
        return _Evidence(SymptomKind.CRASH, said.text, said.line)
    for block in report.blocks:
        if block.kind not in (BlockKind.PYTHON, BlockKind.CONFIG, BlockKind.DATA):
            for offset, line in enumerate(block.text.split("\n")[:5000]):
                if _CRASH.search(line) and not (failure and failure.frames and failure.type):
                    return _Evidence(SymptomKind.CRASH, line.strip(), 0 if block.attachment else block.line + offset)
    return None


def _by_words(
    report: Report, group: Sequence[Sentence], reported: Reported | None, *, in_title: bool
) -> _Evidence | None:
    """A kind that words decide. In the body, a traceback that names something else than a timeout is stronger."""
    failure = reported.failure if reported else None
    solid = bool(
        failure
        and failure.type
        and (failure.frames or (reported and reported.named))
        and not _TIMEOUTS.search(failure.name)
    )
    strong, leak, hang, slow = (_search(p, group) for p in (_STRONG_SLOW, _LEAK, _HANG, _SLOW))
    if in_title and solid and reported and reported.in_title:
        return None
    if not in_title and solid:
        return None
    if leak and (in_title or not solid):
        return _Evidence(SymptomKind.LEAK, leak.text, leak.line)
    if strong and not (hang and in_title and hang is not strong):
        return _Evidence(SymptomKind.SLOW, strong.text, strong.line)
    if hang and not (in_title and _search(_STRONG_SLOW, report_sentences(report))):
        return _Evidence(SymptomKind.HANG, hang.text, hang.line)
    if hang:
        return _Evidence(SymptomKind.SLOW, hang.text, hang.line)
    if slow and (in_title or _is_about(slow, group)):
        return _Evidence(SymptomKind.SLOW, slow.text, slow.line)
    if in_title and not solid and _LOG.search(group[0].text if group else ""):
        return _Evidence(SymptomKind.LOG, group[0].text, group[0].line)
    return None


def _is_about(sentence: Sentence, group: Sequence[Sentence]) -> bool:
    """Whether slowness is the complaint: said more than once, or with a magnitude."""
    said = sum(bool(_SLOW.search(other.text)) for other in group)
    return said > 1 or bool(
        re.search(
            r"\d+(?:\.\d+)? ?(?:s|sec\w{0,4}|min\w{0,4}|hours?|ms|x|times)\b|\bvery slow|too slow|extremely|longer",
            sentence.text,
        )
    )


def _of_failure(reported: Reported, sentences: Sequence[Sentence]) -> _Evidence:
    failure = reported.failure
    if failure.name.endswith("Warning"):
        return _Evidence(SymptomKind.WARNING, reported.quote, reported.line)
    if _is_assertion(failure) and not reported.in_subject:
        return _Evidence(SymptomKind.WRONG_OUTPUT, reported.quote, reported.line)
    for sentence in sentences:
        if _races(sentence, failure, reported):
            return _Evidence(SymptomKind.RACE, sentence.text, sentence.line)
    return _Evidence(SymptomKind.EXCEPTION, reported.quote, reported.line)


def _races(sentence: Sentence, failure: Failure, reported: Reported) -> bool:
    """Whether a sentence says that the failure comes and goes, or needs several threads."""
    text = _readable(sentence.text)
    if not _RACE.search(text):
        return False
    return bool(_RACE_STRONG.search(text)) or (
        not reported.in_transcript and (bool(_ABOUT_FAILURE.search(text)) or failure.name in sentence.text)
    )


def _is_assertion(failure: Failure) -> bool:
    """Whether a failure is a comparison of values rather than an error of the subject's."""
    if failure.name != "AssertionError":
        return False
    code = failure.frames[-1].code if failure.frames else ""
    return bool(re.search(r"==|!=|\bin\b|\bis\b", failure.message)) or (
        not failure.message and code.startswith("assert ")
    )


def _by_claim(report: Report, sentences: Sequence[Sentence]) -> _Evidence:
    """What is left when nothing was raised and no word decided: warnings, logs, exit status, output."""
    warned = _search(_WARNING, sentences) or next(
        (s for s in _output_lines(report) if _WARNING_LINE.search(s.text)), None
    )
    if warned:
        return _Evidence(SymptomKind.WARNING, warned.text, warned.line)
    for pattern, kind in ((_LOG, SymptomKind.LOG), (_EXIT, SymptomKind.EXIT)):
        said = _search(pattern, [s for s in sentences if not re.match(r"expected|desired", s.section, re.IGNORECASE)])
        if said:
            return _Evidence(kind, said.text, said.line)
    error = _command_error(report)
    if error:
        return _Evidence(SymptomKind.EXIT, error.text, error.line)
    found = values_of(report, sentences, None)
    for value in (*found.expected, *found.actual):
        return _Evidence(SymptomKind.WRONG_OUTPUT, value.quote, value.line)
    said = _search(_COMPLAINT, sentences)
    if said:
        return _Evidence(SymptomKind.WRONG_OUTPUT, said.text, said.line)
    code = [
        b
        for b in report.blocks
        if b.kind is BlockKind.PYTHON and (tree := parse_python(b.text)) and does_something(tree)
    ]
    if code and report.title:
        return _Evidence(SymptomKind.WRONG_OUTPUT, report.title, 1)
    return _Evidence(SymptomKind.UNKNOWN, report.title, 1 if report.title else 0)


def _command_error(report: Report) -> Sentence | None:
    """The line by which a command in a shell transcript says that it failed."""
    for block in report.blocks:
        if block.kind is BlockKind.SHELL and not block.attachment:
            for offset, line in enumerate(block.text.split("\n")[:2000]):
                if _ERROR_LINE.match(line):
                    return Sentence(line.strip(), block.line + offset)
    return None


def _output_lines(report: Report) -> list[Sentence]:
    return [
        Sentence(line.strip(), block.line + i)
        for block in report.blocks
        if block.kind is not BlockKind.PYTHON and not block.attachment
        for i, line in enumerate(block.text.split("\n")[:2000])
        if line.strip()
    ]


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
        shown = [(s, m) for s in (*_output_lines(report), *sentences) if (m := _WARNING_LINE.search(s.text.strip("`")))]
        named = next((m["name"] for s in sentences if (m := _WARNING.search(s.text)) and m["name"] != "Warning"), "")
        category = shown[0][1]["name"] if shown else named or (failure.type if failure else "")
        values = {m["message"]: Value(text=m["message"].strip("`"), quote=s.text, line=s.line) for s, m in shown[:10]}
        if failure and failure.message and failure.name.endswith("Warning"):
            values.setdefault(failure.message, Value(text=failure.message, quote=failure.message, line=failure.line))
        return category, tuple(values.values())
    if kind is SymptomKind.EXIT:
        error = _command_error(report)
        return "", (Value(text=error.text, quote=error.text, line=error.line),) if error else ()
    if kind is SymptomKind.LOG:
        lines = [s for s in _output_lines(report) if looks_logged(s.text)][:10]
        return "", tuple(Value(text=s.text, quote=s.text, line=s.line) for s in lines)
    return "", ()


def _signal(report: Report, kind: SymptomKind) -> str:
    if kind is not SymptomKind.CRASH:
        return ""
    text = "\n".join((report.title, report.body, *(a.text[:100_000] for a in report.attachments)))
    if re.search(r"SIGSEGV|seg\w{0,12}[ -]?fault|access violation", text, re.IGNORECASE):
        return "SIGSEGV"
    return next((name for pattern, name in _SIGNALS if pattern.search(text)), "SIGSEGV")


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
        for found in _EXIT.finditer(sentence.text):
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
