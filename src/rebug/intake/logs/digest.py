"""From a log in any of the formats to what of it matters, and to an excerpt that can be read like a small log."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rebug.intake.logs.exports import HEAD, as_lines
from rebug.intake.logs.formats import LEVELS
from rebug.intake.logs.stream import DAMAGED, blocks, opened
from rebug.intake.logs.survey import Stats, Survey, text_of
from rebug.intake.logs.times import iso
from rebug.intake.tracebacks import parse_tracebacks
from rebug.model.logs import LogDigest, LogFailure, LogGap, LogMoment, LogSource, LogTemplate, LogThread

MAX_TEMPLATES = 60
MAX_MOMENTS = 40
MAX_GAPS = 8
MAX_FAILURES = 50
MAX_EXCERPT = 400_000  # characters
MAX_FOLLOWED = 3  # identifiers
MAX_FOLLOWED_LINES = 30
RARE = 3
"""Records of a template that is called rare, in a log of at least `ENOUGH` lines."""
ENOUGH = 200
STALL = 20
"""A silence counts when it is this many times as long as records are apart on average, and a second at least."""

_IDENTIFIER = re.compile(
    r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|\b(?=[0-9a-f]{0,31}\d)(?=\d{0,31}[a-f])[0-9a-f]{8,32}\b"
    r"|(?:(?:request|req|trace|correlation|session|job|task|span|transaction|txn)[_-]?id|\bjob|\btask|\brequest)"
    r"[\"']?\s?[=:#]\s?[\"']?([\w-]{3,64})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One log that was read: its digest (without threads), an excerpt of its text, and what could not be read."""

    digest: LogDigest
    excerpt: str
    notes: tuple[str, ...] = ()


def read_log(path: Path, name: str = "") -> Read:
    """The log in a file of any size, packed or not; its memory does not grow with the file. Raises OSError when it
    cannot be opened, ValueError when it holds no text."""
    survey, notes = Survey(), []
    try:
        for block in log_blocks(path):
            survey.feed(block)
    except DAMAGED as error:
        if not survey.lines:
            raise
        notes.append(f"{name or path.name} is damaged after line {survey.lines:,}: {error}")
    if survey.unparsed:
        notes.append(f"{name or path.name}: {survey.unparsed:,} new forms of lines were counted without being parsed")
    return Read(digest=_digest(survey, name or path.name), excerpt=excerpt_of(survey), notes=tuple(notes))


def log_blocks(path: Path) -> Iterator[bytes]:
    """Blocks of lines of the log in a file. Raises ValueError for what is no text, and what `opened` raises."""
    with opened(path) as stream:
        head = stream.read(HEAD)
        turned = as_lines(head, stream)
        if turned is None and b"\0" in head[:8192]:
            raise ValueError("it holds no text")
        if turned is not None:
            yield from turned
            return
        first, rest = head[: head.rfind(b"\n") + 1], head[head.rfind(b"\n") + 1 :]
        if first:
            yield first
        yield from _continued(rest, blocks(stream))


def _continued(rest: bytes, following: Iterator[bytes]) -> Iterator[bytes]:
    """The blocks, the first with the beginning of its first line."""
    for block in following:
        yield rest + block
        rest = b""
    if rest:
        yield rest + b"\n"


def digest_text(text: str, name: str) -> LogDigest:
    """The digest of a log that is in memory already."""
    survey = Survey()
    for block in blocks(io.BytesIO(text.encode("utf-8", "replace"))):
        survey.feed(block)
    return _digest(survey, name)


def _digest(survey: Survey, name: str) -> LogDigest:
    begins, ends = survey.begins, survey.ends
    source = LogSource(
        name=name,
        lines=survey.lines,
        size=survey.size,
        begins=iso(begins) if begins is not None else "",
        ends=iso(ends) if ends is not None else "",
    )
    templates = [_template(survey, number, stats, name) for number, stats in survey.stats.items()]
    return LogDigest(
        sources=(source,),
        templates=tuple(sorted(templates, key=lambda t: -t.count)[:MAX_TEMPLATES]),
        moments=moments_of(survey, templates, name),
        gaps=_gaps(survey, name),
        failures=tuple(_failures(survey, name)),
    )


def _template(survey: Survey, number: int, stats: Stats, name: str) -> LogTemplate:
    mined = survey.miner.found[number]
    return LogTemplate(
        text=mined.text[:400],
        source=name,
        count=stats.count,
        first=stats.first,
        last=stats.last,
        level=mined.level,
        logger=mined.logger[:120],
        example=stats.text[:400],
    )


def moments_of(survey: Survey, templates: Sequence[LogTemplate], name: str) -> tuple[LogMoment, ...]:
    """The lines that stand out, worst first when there are too many: errors, then what is rare, then what is new."""
    ranked: list[tuple[int, int, LogMoment]] = []
    numbers = list(survey.stats)
    for number, template in zip(numbers, templates, strict=True):
        serious = template.level in {"ERROR", "CRITICAL"}
        rare = template.count <= RARE and survey.lines >= ENOUGH
        new = template.first > survey.lines // 2 and survey.lines >= ENOUGH
        if serious or rare or new:
            stats = survey.stats[number]
            why = "error" if serious else "rare" if rare else "new"
            moment = LogMoment(source=name, line=stats.first, text=stats.text[:600], why=why, before=stats.before)
            warned = template.level == "WARNING"
            ranked.append((0 if serious else 1 if warned else 2 if rare and new else 3, -template.first, moment))
    best = sorted(ranked, key=lambda entry: entry[:2])[:MAX_MOMENTS]
    return tuple(sorted((moment for _, _, moment in best), key=lambda moment: moment.line))


def _gaps(survey: Survey, name: str) -> tuple[LogGap, ...]:
    span = (survey.ends or 0.0) - (survey.begins or 0.0)
    usual = span / max(survey.lines, 1)
    found = sorted(survey.gaps.found, reverse=True)[:MAX_GAPS]
    return tuple(
        LogGap(source=name, line=line, seconds=round(seconds, 3), before=before, after=after)
        for seconds, line, before, after in found
        if seconds >= STALL * usual
    )


def _failures(survey: Survey, name: str) -> Iterator[LogFailure]:
    ordered = sorted(survey.traces.found.values(), key=lambda trace: -trace.count)
    for trace in ordered[:MAX_FAILURES]:
        for failure in parse_tracebacks(trace.text)[:1]:
            yield LogFailure(
                type=failure.type,
                message=failure.message[:400],
                source=name,
                count=trace.count,
                first=trace.first,
                last=trace.last,
            )


def excerpt_of(survey: Survey) -> str:
    """The beginning, the errors with what stood before them, each distinct traceback, and the end, in order."""
    pieces: list[tuple[int, list[str]]] = [(1, survey.head)]
    pieces += [
        (max(1, stats.first - len(stats.before)), [*stats.before, stats.text])
        for stats in survey.stats.values()
        if stats.before
    ]
    pieces += [(trace.first - trace.lead, trace.text.split("\n")) for trace in survey.traces.found.values()]
    tail = [text_of(line) for line in survey.tail]
    pieces.append((max(1, survey.lines - len(tail) + 1), tail))
    out: list[str] = []
    room, shown = MAX_EXCERPT - sum(map(len, tail)), 0
    for start, lines in sorted(pieces, key=lambda piece: piece[0]):
        fresh = lines[max(0, shown + 1 - start) :] if start <= shown else lines
        if not fresh or (room < 0 and lines is not tail):
            continue
        if start > shown + 1:
            out.append(f"[... {start - shown - 1:,} lines left out ...]")
        out += fresh
        room -= sum(len(line) + 1 for line in fresh)
        shown = max(shown, start + len(lines) - 1)
    return "\n".join(out)


# ---------------------------------------------------------------------------------------------------- across logs


def joined(digests: Iterable[LogDigest]) -> LogDigest:
    """One digest of several logs."""
    every = list(digests)
    return LogDigest(
        sources=tuple(source for digest in every for source in digest.sources),
        templates=tuple(
            sorted((t for digest in every for t in digest.templates), key=lambda t: -t.count)[: 2 * MAX_TEMPLATES]
        ),
        moments=tuple(moment for digest in every for moment in digest.moments)[: 2 * MAX_MOMENTS],
        gaps=tuple(sorted((g for digest in every for g in digest.gaps), key=lambda g: -g.seconds)[: 2 * MAX_GAPS]),
        failures=tuple(
            sorted((f for digest in every for f in digest.failures), key=lambda f: -f.count)[: 2 * MAX_FAILURES]
        ),
        threads=tuple(thread for digest in every for thread in digest.threads),
    )


def identifiers_of(digest: LogDigest) -> tuple[str, ...]:
    """Identifiers on the lines of errors, the last error's first."""
    serious = [moment for moment in reversed(digest.moments) if moment.why == "error"]
    found = [
        match[1] or match[0] for moment in serious for text in (moment.text,) for match in _IDENTIFIER.finditer(text)
    ]
    return tuple(dict.fromkeys(i for i in found if i.upper() not in LEVELS and not i.isalpha()))[:MAX_FOLLOWED]


def followed(digest: LogDigest, logs: Sequence[tuple[str, Path]]) -> LogDigest:
    """The digest with the lines of all `logs` (name, file) that carry an identifier of its errors. A second pass."""
    wanted = [identifier.encode() for identifier in identifiers_of(digest)]
    lines: dict[bytes, list[tuple[str, int, str]]] = {identifier: [] for identifier in wanted}
    for name, path in logs if wanted else ():
        before = 0
        try:
            for block in log_blocks(path):
                for identifier in wanted:
                    _collect(block, identifier, before, name, lines[identifier])
                before += block.count(b"\n")
        except DAMAGED:
            continue
    threads = [
        LogThread(identifier=identifier.decode(), lines=tuple(found))
        for identifier, found in lines.items()
        if len(found) > 1
    ]
    return replace(digest, threads=(*digest.threads, *threads))


def _collect(block: bytes, identifier: bytes, before: int, name: str, into: list[tuple[str, int, str]]) -> None:
    at, line, seen = block.find(identifier), before + 1, 0
    while at >= 0 and len(into) < MAX_FOLLOWED_LINES:
        line += block.count(b"\n", seen, at)
        seen = at
        begin, end = block.rfind(b"\n", 0, at) + 1, block.find(b"\n", at)
        into.append((name, line, text_of(block[begin:end])[:400]))
        at = block.find(identifier, end)


def lines_of(digest: LogDigest, longest: int = 6000) -> list[str]:
    """The digest in words, for people and for prompts: at most about `longest` characters."""
    out = [
        f"{s.name}: {s.lines:,} lines, {s.size:,} bytes" + (f", {s.begins} to {s.ends}" if s.begins else "")
        for s in digest.sources
    ]
    out += [f"{f.count} x {f.type}: {f.message[:160]} (lines {f.first} to {f.last})" for f in digest.failures[:8]]
    out += [f"silent for {g.seconds:g} s before line {g.line}, after: {g.before[:160]}" for g in digest.gaps[:4]]
    for moment in digest.moments[-16:]:
        out += [f"  {text[:200]}" for text in moment.before[-4:]]
        out.append(f"{moment.why}, line {moment.line}: {moment.text[:300]}")
    for thread in digest.threads:
        out.append(f"lines of {thread.identifier}:")
        out += [f"  {name}:{line}: {text[:200]}" for name, line, text in thread.lines[-12:]]
    out += [f"{t.count} x {t.level} {t.text[:160]}".replace("  ", " ") for t in digest.templates[:12]]
    kept: list[str] = []
    for text in out:
        longest -= len(text) + 1
        if longest < 0:
            break
        kept.append(text)
    return kept
