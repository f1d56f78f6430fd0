"""Which kind of symptom a report claims, and the sentence or line that says so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rebug.intake import leaks
from rebug.intake.classify import does_something, parse_python
from rebug.intake.failures import Reported
from rebug.intake.logs import complaint_of
from rebug.intake.prose import Sentence
from rebug.intake.values import values_of
from rebug.model import BlockKind, Failure, Report, SymptomKind

_CRASH = re.compile(
    r"\bseg(?:mentation )?[- ]?faults?\b|\bsegfault\w{0,3}\b|\bSIG(?:SEGV|ABRT|BUS|ILL|FPE)\b|\bcore dumped\b"
    r"|\bbus error\b|\baccess violation\b|\bfatal python error\b|"
    r"\billegal instruction\b|\bdouble free\b|\bheap corruption\b|\b(?:free|malloc|realloc|munmap_chunk)\(\): \w"
    r"|\bcorrupted (?:size vs|double-linked|top size)|\bstack smashing\b|\bAddressSanitizer: \w|\bEXC_BAD_ACCESS\b"
    r"|\bmunmap_chunk\b|\b0xC0000005\b|-1073741819\b|\btraps: \w|\bSIGTRAP\b"
    r"|\bgeneral protection\b|\b(?:exit(?:ed)?|return) (?:code|status)?:? ?-?(?:11|139|0xC0000005)\b|"
    r"\bsignal (?:11|6)\b|\binterpreter (?:crash|abort)\w{0,3}\b",
    re.IGNORECASE,
)
_HANG = re.compile(
    r"\b(?:hang|hangs|hanging|hung|dead-?lock\w{0,3}|live-?lock\w{0,3})\b|\bnever (?:\w+ )?(?:return|come|end"
    r"|finish|complet|terminat|resolv|exit|stop|wake|get)\w{0,4}\b|\b(?:gets?|got|is|are|being|remains?) stuck\b"
    r"|\bstuck\b|"
    r"\bblock(?:s|ed|ing)? (?:forever|for good|for ever|indefinitely|until)\b|\bfor ?ever\b"
    r"|\binfinite(?:ly)? (?:loop\w{0,3}|wait\w{0,3})\b|\bendless(?:ly)? loop\w{0,3}\b|\bloops? (?:forever"
    r"|infinitely|endlessly)\b|\bfreez(?:es|ing)\b|\b(?:is|gets?|was|becomes?|process|app|program) frozen\b"
    r"|\block(?:s|ed)? up\b|"
    r"\b(?:does not|doesn't|do not|don't|cannot|can't|won't|will not) (?:ever )?(?:return|terminate|exit|finish"
    r"|come back|stop|end)\b|\bwaits? (?:forever|indefinitely)\b|\bunresponsive\b|\bstay behind\b",
    re.IGNORECASE,
)
_STRONG_SLOW = re.compile(
    r"\bquadratic\w{0,4}\b|\bO\(n|\bexponential(?:ly)?\b|\b\d{1,3} ?% (?:of )?(?:a |the |one )?(?:whole )?CPU\b"
    r"|\bCPU (?:usage )?(?:at|to|of|goes to|stays at|is at) ?~?\d{2,3} ?%|\bwhole CPU\b"
    r"|\bcatastrophic backtracking\b|\bReDoS\b|"
    r"\bbusy[- ]?(?:loop|wait)\w{0,3}\b|\b\d+ ?(?:x|times) (?:slower|longer)\b|\bhigh CPU\b"
    r"|\bperformance regression\b|\bspin(?:s|ning)\b"
    r"|\b(?:run)?times? (?:explod|blow)\w{0,4}\b|\b(?:four|4|eight|8|sixteen|16) times "
    r"(?:the time|as long|longer|slower)\b"
    r"|\b(?:a )?(?:hundred|thousand|ten|several|many|few)s? ?(?:of )?times slower\b|\bsuper-?linear\w{0,2}\b",
    re.IGNORECASE,
)
_SLOW = re.compile(
    r"\b(?:extremely|very|really|so|too|painfully|incredibly|unusably)? ?slow(?:er|ly|ness|down|s)?\b"
    r"|\bperformance\b|\bt(?:ook|ak(?:es?|ing)) (?:\w+ ){0,4}?(?:minutes|hours|seconds|ages|long(?:er)?)\b|\blatency\b"
    r"|\b(?:event )?loop (?:is |gets )?(?:block|stall)\w{0,3}\b|"
    r"\bstall(?:s|ed|ing)?\b|\blags?\b",
    re.IGNORECASE,
)
_RACE = re.compile(
    r"\bsometimes\b|\bonce in a while\b|\b(?:every )?now and then\b|\boccasional(?:ly)?\b|\bintermittent(?:ly)?\b"
    r"|\b(?:at )?random(?:ly)?\b(?! (?:number|string|seed|byte|int|data|name|value|choice|sample|state|forest"
    r"|module|generator))|\bflak(?:y|iness)\b|"
    r"\brace(?:s| condition)?\b|\bconcurren\w{1,4}\b|\bthread[- ]?safe\w{0,2}\b|\bfrom (?:several|multiple|two"
    r"|many|different|other) (?:threads|processes)\b|\bmulti-?thread\w{0,3}\b|\bone (?:run|time|request)? ?(?:in"
    r"|out of) \w+\b|\bnon-?determinis\w{1,4}\b|"
    r"\bfrom time to time\b|\brarely\b|\bunder (?:heavy )?load\b|\bsporadic(?:ally)?\b",
    re.IGNORECASE,
)
_RACE_STRONG = re.compile(
    r"\brace(?:s| condition)?\b|\bthread[- ]?safe\w{0,2}\b|\bfrom (?:several|multiple|two|many|different"
    r"|other) (?:threads|processes)\b|\bone (?:run|time|request) (?:in|out of) \w+\b"
    r"|\bnon-?determinis\w{1,4}\b|\bflak(?:y|iness)\b|\bconcurren\w{1,4}\b",
    re.IGNORECASE,
)
_ABOUT_FAILURE = re.compile(
    r"\b(?:happen|occur|fail|rais|throw|error|exception|crash|ends?\b|ended|traceback|see\b|seen|break|broke"
    r"|log\b|dies?\b|get\b|gets\b|got\b|this\b)",
    re.IGNORECASE,
)
_LOG = re.compile(
    r"\blog(?:s|ged|ging|ger)?\b[^.\n]{0,60}\b(?:twice|duplicat\w{1,4}|double|missing|wrong|lost|not (?:shown"
    r"|written|emitted)|spam\w{0,4}|repeated(?:ly)?|noisy|flood\w{0,3})|\b(?:twice|duplicat\w{1,4}|double|missing"
    r"|wrong|spurious|misleading|confusing|too many)\b[^.\n]{0,30}\blog(?:s|ged|ging| (?:message|line|entr|record"
    r"|output)\w{0,3})?\b|"
    r"\blogs? (?:an? )?(?:error|traceback|exception|warning)s?\b"
    r"|\b(?:warning|error|message|line|entr(?:y|ies)|record|exception|output)s?\b[^.\n]{0,30}\b(?:in|to|into)"
    r" (?:the|our|my|their|your) logs?\b|\blogs?(?: files?)? (?:is|are|was|gets?|got|being|fills?)\b[^.\n]{0,20}"
    r"\b(?:full|flood\w{0,3}|spam\w{0,4}|fill\w{0,3}|pollut\w{0,3}|clutter\w{0,3})\b"
    r"|\b(?:fill|flood|spam|pollut|clutter)\w{0,4} (?:up )?(?:the|our|my|their) logs?\b"
    r"|\b(?:doesn't|does not|never|no longer) logs?\b",
    re.IGNORECASE,
)
_ERROR_LINE = re.compile(r"^\s{0,4}(?:[\w./-]{1,40}: )?(?:error|fatal|Error|ERROR|FATAL|Fatal)(?::| -|\s*\|) ?\S")
_COMPLAINT = re.compile(
    r"\b(?:wrong(?:ly)?|incorrect(?:ly)?|instead|should(?:n't)?|expect\w{0,3}|unexpected(?:ly)?|but\b"
    r"|ignor\w{1,3}|lost|loses?|missing|empty|broken?|breaks?|broke|fails?|failed|bug|no longer|not (?:work"
    r"|respect|honou?r|return|preserv|appl|includ|separat)\w{0,4}|"
    r"does(?: not|n't)|didn't|did not|inconsistent|corrupt\w{0,3}|invalid|duplicat\w{1,3}|unusable|differs?"
    r"|changed|regression|overrid\w{1,4}|overwrit\w{1,4}|wins?|mangl\w{1,3}|truncat\w{1,3}|swapped|reversed|stale"
    r"|problem|issue)\b",
    re.IGNORECASE,
)
_TIMEOUTS = re.compile(r"Timeout|CancelledError|KeyboardInterrupt|TimeoutExpired|^timeout$")
WARNING_NAME = re.compile(r"\b(?P<name>(?:[A-Za-z_]\w*\.){0,6}(?:[A-Z]\w*)?Warning)\b")
WARNING_LINE = re.compile(
    r"(?:^|\s)(?:\S{1,300}:\d{1,7}: "
    r"|sys:1: )?(?P<name>(?:[A-Za-z_]\w*\.){0,6}[A-Z]\w*Warning): (?P<message>\S.{0,600})$"
)
EXIT = re.compile(
    r"\b(?:exit(?:s|ed)?|return)[ -]?(?:code|status)(?: \w+){0,3}? (?:of |is |was |= ?)?`?(?P<status>\d{1,3})\b"
    r"|\bexit(?:s|ed)? (?:with )?(?:code |status |a )?`?(?P<code>\d{1,3})\b|\bexit(?:s|ed)? (?:code|status)\b"
    r"|\bnon-?zero (?:exit|status|code)|\breturns? (?:exit )?code (?P<other>\d{1,3})\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A kind with the sentence or line it was taken from."""

    kind: SymptomKind
    quote: str
    line: int


def _search(pattern: re.Pattern[str], sentences: Sequence[Sentence]) -> Sentence | None:
    return next((sentence for sentence in sentences if pattern.search(_readable(sentence.text))), None)


def _readable(text: str) -> str:
    """A sentence without its negated or hypothetical symptoms ("no timeout", "instead of hanging")."""
    return re.sub(
        r"\b(?:no|without(?: any)?|not a|instead of|rather than|used to|like it) (?:\w+ ){0,2}?(?:hang\w{0,3}"
        r"|leak\w{0,3}|crash\w{0,3}|deadlock\w{0,3}|segfault\w{0,3})\b",
        "",
        text,
    )


def kind_by_evidence(report: Report, sentences: Sequence[Sentence], reported: Reported | None) -> Evidence:
    """The kind by the strongest evidence: native crash; what the title says; a failure; what the prose says; values."""
    title = [s for s in sentences[:1] if s.text == report.title]
    failure = reported.failure if reported else None
    crash = _crash(report, title, sentences, failure)
    if crash:
        return crash
    for group in (title, sentences):
        decided = _by_words(group, sentences, reported, in_title=group is title)
        if decided:
            return decided
    if (measured := leaks.measured(report)) and not (failure and failure.type):
        return Evidence(SymptomKind.LEAK, measured.text, measured.line)
    if reported and failure and (failure.type or failure.message):
        return _of_failure(reported, sentences)
    return _by_claim(report, sentences)


def _crash(
    report: Report, title: Sequence[Sentence], sentences: Sequence[Sentence], failure: Failure | None
) -> Evidence | None:
    if _aborted_to_look(report, sentences):
        return None
    said = _search(_CRASH, title) or _search(_CRASH, sentences)
    if said and not (failure and failure.frames and failure.type and said not in title):
        return Evidence(SymptomKind.CRASH, said.text, said.line)
    for block in report.blocks:
        if block.kind not in (BlockKind.PYTHON, BlockKind.CONFIG, BlockKind.DATA):
            for offset, line in enumerate(block.text.split("\n")[:5000]):
                if _CRASH.search(line) and not (failure and failure.frames and failure.type):
                    return Evidence(SymptomKind.CRASH, line.strip(), 0 if block.attachment else block.line + offset)
    return None


_ABORTED = re.compile(r"fatal python error: aborted|\bSIG(?:ABRT|QUIT)\b|\baborted\b|\bsignal 6\b", re.IGNORECASE)


def _aborted_to_look(report: Report, sentences: Sequence[Sentence]) -> bool:
    """Whether the only crash is one that somebody asked for, to see where a program hangs."""
    text = f"{report.title}\n{report.body}"[:200_000]
    return bool(
        _ABORTED.search(text)
        and "most recent call first" in text
        and _search(_HANG, sentences)
        and not _CRASH.search(_ABORTED.sub("", text))
    )


def _by_words(
    group: Sequence[Sentence], everything: Sequence[Sentence], reported: Reported | None, *, in_title: bool
) -> Evidence | None:
    """A kind that words decide. In the body, a traceback that names something else than a timeout is stronger."""
    failure = reported.failure if reported else None
    solid = bool(
        failure
        and failure.type
        and (failure.frames or (reported and reported.named))
        and not _TIMEOUTS.search(failure.name)
    )
    strong, leak, hang, slow = (_search(p, group) for p in (_STRONG_SLOW, leaks.WORDS, _HANG, _SLOW))
    if in_title and solid and reported and reported.in_title:
        return None
    if not in_title and solid:
        return None
    if leak and (in_title or not solid):
        return Evidence(SymptomKind.LEAK, leak.text, leak.line)
    if strong and not (hang and in_title and hang is not strong):
        return Evidence(SymptomKind.SLOW, strong.text, strong.line)
    if hang and not (in_title and _search(_STRONG_SLOW, everything)):
        return Evidence(SymptomKind.HANG, hang.text, hang.line)
    if hang:
        return Evidence(SymptomKind.SLOW, hang.text, hang.line)
    if slow and (in_title or _is_about(slow, group)):
        return Evidence(SymptomKind.SLOW, slow.text, slow.line)
    if in_title and not solid and _LOG.search(group[0].text if group else ""):
        return Evidence(SymptomKind.LOG, group[0].text, group[0].line)
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


def _of_failure(reported: Reported, sentences: Sequence[Sentence]) -> Evidence:
    failure = reported.failure
    if failure.name.endswith("Warning"):
        return Evidence(SymptomKind.WARNING, reported.quote, reported.line)
    if is_assertion(failure) and not reported.in_subject:
        return Evidence(SymptomKind.WRONG_OUTPUT, reported.quote, reported.line)
    for sentence in sentences:
        if _races(sentence, failure, reported):
            return Evidence(SymptomKind.RACE, sentence.text, sentence.line)
    return Evidence(SymptomKind.EXCEPTION, reported.quote, reported.line)


def _races(sentence: Sentence, failure: Failure, reported: Reported) -> bool:
    """Whether a sentence says that the failure comes and goes, or needs several threads."""
    text = _readable(sentence.text)
    if not _RACE.search(text):
        return False
    return bool(_RACE_STRONG.search(text)) or (
        not reported.in_transcript and (bool(_ABOUT_FAILURE.search(text)) or failure.name in sentence.text)
    )


def is_assertion(failure: Failure) -> bool:
    """Whether a failure is a comparison of values rather than an error of the subject's."""
    if failure.name != "AssertionError":
        return False
    code = failure.frames[-1].code if failure.frames else ""
    return bool(re.search(r"==|!=|\bin\b|\bis\b", failure.message)) or (
        not failure.message and code.startswith("assert ")
    )


def _by_claim(report: Report, sentences: Sequence[Sentence]) -> Evidence:
    """What is left when nothing was raised and no word decided: warnings, logs, exit status, output."""
    warned = _search(WARNING_NAME, sentences) or next(
        (s for s in output_lines(report) if WARNING_LINE.search(s.text)), None
    )
    if warned:
        return Evidence(SymptomKind.WARNING, warned.text, warned.line)
    complaint = complaint_of(report, sentences)
    for pattern, kind in ((_LOG, SymptomKind.LOG), (EXIT, SymptomKind.EXIT)):
        said = _search(pattern, [s for s in sentences if not re.match(r"expected|desired", s.section, re.IGNORECASE)])
        if said and (kind is SymptomKind.EXIT or complaint.unwanted or complaint.missing or said.text == report.title):
            return Evidence(kind, said.text, said.line)
    error = command_error(report)
    if error:
        return Evidence(SymptomKind.EXIT, error.text, error.line)
    found = values_of(report, sentences, None)
    if complaint.level in {"WARNING", "ERROR", "CRITICAL"} and not any(value.exact for value in found.expected):
        return Evidence(SymptomKind.LOG, complaint.unwanted[0].quote, complaint.unwanted[0].line)
    for value in (*found.expected, *found.actual):
        return Evidence(SymptomKind.WRONG_OUTPUT, value.quote, value.line)
    said = _search(_COMPLAINT, sentences)
    if said:
        return Evidence(SymptomKind.WRONG_OUTPUT, said.text, said.line)
    code = [
        b
        for b in report.blocks
        if b.kind is BlockKind.PYTHON and (tree := parse_python(b.text)) and does_something(tree)
    ]
    if code and report.title:
        return Evidence(SymptomKind.WRONG_OUTPUT, report.title, 1)
    return Evidence(SymptomKind.UNKNOWN, report.title, 1 if report.title else 0)


def command_error(report: Report) -> Sentence | None:
    """The line by which a command in a shell transcript says that it failed."""
    for block in report.blocks:
        if block.kind is BlockKind.SHELL and not block.attachment:
            for offset, line in enumerate(block.text.split("\n")[:2000]):
                if _ERROR_LINE.match(line):
                    return Sentence(line.strip(), block.line + offset)
    return None


def output_lines(report: Report) -> list[Sentence]:
    return [
        Sentence(line.strip(), block.line + i)
        for block in report.blocks
        if block.kind is not BlockKind.PYTHON and not block.attachment
        for i, line in enumerate(block.text.split("\n")[:2000])
        if line.strip()
    ]
