"""What a report complains of in a log: lines that should not be there, that are missing, that come twice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rebug.intake.logs.formats import LogRecord, parse_line
from rebug.intake.prose import Sentence, plain
from rebug.model import Block, BlockKind, Report, Value

MAX_SHOWN = 400  # lines of the report's own blocks that are looked at
MAX_MESSAGES = 10

_LINES = (BlockKind.LOG, BlockKind.OUTPUT, BlockKind.SHELL, BlockKind.REPL, BlockKind.TRACEBACK, BlockKind.OTHER)
_WORDS = (
    r"(?:log(?:s|ged|ging|ger)?|warnings?|warns?|warned|messages?|records?|entr(?:y|ies)|lines?|emit\w{0,4}"
    r"|print\w{0,3})"
)
_ABOUT = re.compile(rf"\b{_WORDS}\b", re.IGNORECASE)
_QUOTED = re.compile(r"`([^`\n]{6,300})`|\"([^\"\n]{6,300})\"|“([^”\n]{6,300})”|(?<!\w)'([^'\n]{6,300})'(?!\w)")
_MISSING = re.compile(
    rf"\b(?:no|never|without(?: any| an?)?|missing|any ?more|no longer) (?:\w+ ){{0,3}}?{_WORDS}\b"
    rf"|\b{_WORDS}\b[^.\n]{{0,50}}?\b(?:is|are|was|were|does|do|did|has|have|gets?|got) ?(?:not|n't|never|no longer)\b"
    rf"|\b{_WORDS}\b[^.\n]{{0,40}}?\b(?:isn't|aren't|wasn't|doesn't|don't|didn't|is missing|are missing|is lost"
    rf"|are lost|got lost|gets? lost|disappear\w{{0,3}}|vanish\w{{0,3}}|swallowed|dropped)"
    rf"|\b(?:doesn't|does not|don't|do not|didn't|did not|never|won't) (?:log|warn|print|emit|show|write|say)\b"
    rf"|\b(?:should|must|ought to|supposed to) (?:\w+ )?(?:log|warn|emit|be (?:logged|warned|emitted|in the log))\b",
    re.IGNORECASE,
)
_UNWANTED = re.compile(
    r"\bshould(?:n't| not| never) (?:\w+ ){0,2}(?:log|warn|be (?:logged|there|in))|\bshould be (?:silent|quiet|gone)\b"
    r"|\b(?:spurious|superfluous|needless|unneeded|unnecessary|noisy|misleading|bogus|annoying|wrong|false|flood\w{0,3}"
    r"|spam\w{0,4}|full of|fill\w{0,3}|pollut\w{0,3}|clutter\w{0,3})\b|\bexpect(?:ed)? (?:none|no |nothing|silence)",
    re.IGNORECASE,
)
_TWICE = re.compile(
    r"\b(?:twice|two times|duplicat\w{1,4}|doubl(?:e|ed)|more than once|(?:two|three|several|multiple) times)\b",
    re.IGNORECASE,
)
_NOT_REALLY = re.compile(r"\b(?:expected|desired|should|after the fix|worked|with the (?:old|previous))", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """Messages that should not appear, that should, or that appear more often than once; `level` of the first."""

    unwanted: tuple[Value, ...] = ()
    missing: tuple[Value, ...] = ()
    twice: bool = False
    level: str = ""
    logger: str = ""


def complaint_of(report: Report, sentences: Sequence[Sentence]) -> Complaint:
    """What the report complains of in the log lines and messages that it shows or quotes. Pure; empty where none is
    told. A shown line counts when it is a warning or worse, when the prose quotes it, or when it is the only one."""
    shown = list(_shown(report))
    said = " ".join(sentence.text for sentence in sentences)[:60_000]
    quoted = {text: sentence for sentence in sentences for text in _quotations(sentence)}
    loud = [(record, block, line) for record, block, line in shown if _complained(record, len(shown), said)]
    unwanted: dict[str, Value] = {}
    for record, _, line in loud:
        first = record.message.split("\n", 1)[0].strip()
        unwanted.setdefault(first, Value(text=first, quote=first, line=line))
    absent: dict[str, Value] = {}
    for text, sentence in quoted.items():
        if any(text in known or known in text for known in unwanted):
            continue
        head = parse_line(text)
        message = head.message if head is not None and head.message else text
        target = absent if _says_missing(sentence) else unwanted
        target.setdefault(message, Value(text=message, quote=sentence.text, line=sentence.line))
    top = loud[0][0] if loud else None
    return Complaint(
        unwanted=tuple(unwanted.values())[:MAX_MESSAGES],
        missing=tuple(absent.values())[:MAX_MESSAGES],
        twice=any(_TWICE.search(s.text) and _ABOUT.search(s.text) for s in sentences[:40]),
        level=top.level if top else "",
        logger=top.logger if top else "",
    )


def _shown(report: Report) -> Iterator[tuple[LogRecord, Block, int]]:
    """The records in the report's own blocks, those under "expected" left out."""
    count = 0
    for block in report.blocks:
        if block.attachment or block.kind not in _LINES or _NOT_REALLY.search(f"{block.lead[-120:]} {block.section}"):
            continue
        for offset, text in enumerate(block.text.split("\n")):
            count += 1
            if count > MAX_SHOWN:
                return
            record = parse_line(text, block.line + offset) if text.strip() else None
            if record is not None and record.message.strip():
                yield record, block, block.line + offset


def _complained(record: LogRecord, shown: int, said: str) -> bool:
    if record.level in {"WARNING", "ERROR", "CRITICAL"}:
        return True
    first = record.message.split("\n", 1)[0].strip()
    return (len(first) >= 8 and first in said) or (shown == 1 and bool(record.level))


def _quotations(sentence: Sentence) -> Iterator[str]:
    """Texts of several words that a sentence about logging quotes."""
    if not _ABOUT.search(sentence.text):
        return
    for found in _QUOTED.finditer(sentence.text[:2000]):
        text = next(group for group in found.groups() if group).strip()
        if (
            len(re.findall(r"[A-Za-z]{2,}", text)) >= 3
            and " " in text
            and not re.search(r"[=(]\S|^[$>]|^(?:import|from) ", text)
        ):
            yield text


def _says_missing(sentence: Sentence) -> bool:
    text = plain(sentence.text)
    return bool(_MISSING.search(text)) and not _UNWANTED.search(text)
