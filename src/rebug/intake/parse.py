"""From the text of a report to a `Report`: title, sections, blocks, failures, versions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise

from rebug.intake.blocks import attachment_blocks, blocks_of, with_inline
from rebug.intake.classify import does_something, parse_python
from rebug.intake.lines import looks_logged, split_lines
from rebug.intake.markup import Part, parts_of
from rebug.intake.prose import Sentence, plain, sentences_of
from rebug.intake.tracebacks import parse_tracebacks
from rebug.intake.versions import (
    listed_versions,
    normalise,
    operating_system,
    python_version,
    queried_versions,
    told_versions,
)
from rebug.model import Attachment, Block, BlockKind, Failure, Report, StatedVersion

MAX_TEXT = 500_000  # characters of a report that are read; attachments are for the rest
MAX_BLOCKS = 400
MAX_SENTENCES = 2000
MAX_LOG_LINES = 2000

_TITLE_FIELD = re.compile(r"^(?:title|subject|summary)\s*:\s*(?P<text>\S.{0,300})$", re.IGNORECASE)
_TEMPLATE = re.compile(
    r"^(?:what (?:did|do|happen|version|is|i)|which version|initial checks|things to check|checklist|checks"
    r"|prerequisites|preliminary|is there|how (?:can|to|do)"
    r"|describe the|bug report|description|summary|expected|actual|steps|to reproduce|reproduc|environment"
    r"|versions?|what happen|issue|bug|context|problem|system info)",
    re.IGNORECASE,
)


def parse_report(text: str, *, attachments: Sequence[Attachment] = (), date: str = "") -> Report:
    """The report in `text`, of which at most `MAX_TEXT` characters are read (a note says so when there are more).

    Never raises for what the text holds. Line numbers are 1-based lines of `text`; `body` begins on `body_line`.
    A version that stands without a name ("since 3.1.0") has the name "": the report's own subject.
    """
    notes = () if len(text) <= MAX_TEXT else (f"only the first {MAX_TEXT:,} characters of the report were read",)
    lines = split_lines(text[:MAX_TEXT].removeprefix("\ufeff"))
    lines, head = _front_matter(lines)
    title, begin = _title(lines)
    title = head.get("title") or title
    shown = [""] * begin + lines[begin:]
    parts = parts_of(shown)
    blocks = tuple(islice(blocks_of(parts), MAX_BLOCKS))
    blocks = with_inline(blocks, parts)
    attached = tuple(block for attachment in attachments for block in attachment_blocks(attachment))
    title = title or _first_claim(parts)
    told = all_sentences(title, parts)
    whole = "\n".join([title, *shown])
    evidence = "\n".join(attachment.text[:200_000] for attachment in attachments)
    return Report(
        title=title,
        body="\n".join(lines[begin:]).rstrip(),
        body_line=begin + 1,
        date=date or head.get("date", ""),
        url=head.get("url", ""),
        sections=_sections(parts),
        blocks=blocks + attached,
        failures=_failures("\n".join(lines), attachments),
        log_lines=_log_lines(blocks + attached),
        versions=_versions(told, parts),
        python=python_version(whole) or _headed_python(parts) or python_version(evidence),
        system=operating_system(whole) or _system_of_paths(whole),
        attachments=tuple(attachments),
        notes=notes,
    )


def all_sentences(title: str, parts: Sequence[Part], title_line: int = 1) -> list[Sentence]:
    """The title, the headings and the prose of a report as sentences."""
    out = [Sentence(title, title_line)] if title else []
    section = ""
    for part in parts:
        if part.kind == "heading":
            section = part.text
            out.append(Sentence(part.text, part.line, section))
        elif part.kind == "prose":
            out += sentences_of(part.lines, part.line, section)
        if len(out) >= MAX_SENTENCES:
            break
    return out[:MAX_SENTENCES]


def _front_matter(lines: list[str]) -> tuple[list[str], dict[str, str]]:
    """Blank out a YAML head and return its plain fields."""
    if not lines or lines[0].strip() != "---":
        return lines, {}
    end = next((i for i, line in enumerate(lines[1:60], 1) if line.strip() == "---"), 0)
    if not end:
        return lines, {}
    fields: dict[str, str] = {}
    for line in lines[1:end]:
        key, colon, value = line.partition(":")
        if colon and key.strip().isidentifier():
            fields[key.strip().lower()] = value.strip().strip("\"'")
    known = {"title": fields.get("title", ""), "url": fields.get("url", "")}
    known["date"] = fields.get("date") or fields.get("created_at", "")
    return [""] * (end + 1) + lines[end + 1 :], {key: value for key, value in known.items() if value}


def _title(lines: Sequence[str]) -> tuple[str, int]:
    """The title and the index of the line on which the body begins."""
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return "", 0
    line = lines[first].strip()
    if line.startswith("# ") and not line.startswith("# !"):
        return _clean_title(line[2:]), first + 1
    field = _TITLE_FIELD.match(line.replace("**", ""))
    if field:
        return _clean_title(field["text"]), first + 1
    following = lines[first + 1].strip() if first + 1 < len(lines) else ""
    if following and set(following) in ({"="}, {"-"}) and len(following) >= 3:
        return _clean_title(line), first + 2
    heading = re.match(r"^#{2,6} (.{1,300})$", line)
    if heading and not _TEMPLATE.match(heading[1]):
        return _clean_title(heading[1]), first + 1
    if not following and 3 < len(line) <= 160 and not line.endswith((".", ":", ",")) and _is_wording(line):
        return _clean_title(line), first + 1
    return "", first


def _first_claim(parts: Sequence[Part]) -> str:
    """A title for a report without one: its first sentence that is no field and no item of a list."""
    for part in parts:
        for sentence in sentences_of(part.lines, part.line) if part.kind == "prose" else ():
            text = plain(sentence.text).rstrip(":")
            if len(text) > 12 and " " in text and not re.match(r"[-*+|\[]|\w[\w ]{0,30}: ", sentence.text):
                return text if len(text) <= 160 else f"{text[:157].rsplit(' ', 1)[0]}..."
    return ""


def _is_wording(line: str) -> bool:
    return line[:1] not in "#`>-*|<{[" and " " in line and "Traceback (most" not in line and not looks_logged(line)


def _clean_title(text: str) -> str:
    return re.sub(r"\s*#+$", "", text.strip()).strip()


def _sections(parts: Sequence[Part]) -> tuple[tuple[str, str], ...]:
    """Headings with all the text below them, code included."""
    out: list[tuple[str, list[str]]] = [("", [])]
    for part in parts:
        if part.kind == "heading":
            out.append((part.text, []))
        else:
            out[-1][1].append(part.text)
    return tuple((name, "\n\n".join(texts).strip()) for name, texts in out if name or any(t.strip() for t in texts))


def _failures(text: str, attachments: Sequence[Attachment]) -> tuple[Failure, ...]:
    """Every traceback of the text and then those of the attachments that the text does not show."""
    out = list(parse_tracebacks(text))
    seen = {_identity(failure) for failure in out}
    for attachment in attachments:
        for failure in parse_tracebacks(attachment.text) if attachment.text else ():
            if _identity(failure) not in seen and len(out) < 200:
                seen.add(_identity(failure))
                out.append(failure)
    return tuple(out)


def _identity(failure: Failure) -> tuple[object, ...]:
    return failure.type, failure.message, tuple((f.file, f.line, f.function) for f in failure.frames[-20:])


def _log_lines(blocks: Sequence[Block]) -> tuple[str, ...]:
    out: list[str] = []
    for block in blocks:
        if block.kind in (BlockKind.LOG, BlockKind.SHELL, BlockKind.OUTPUT, BlockKind.TRACEBACK, BlockKind.REPL):
            out += [line for line in block.text.split("\n") if line.strip() and looks_logged(line)]
        if len(out) >= MAX_LOG_LINES:
            break
    return tuple(out[:MAX_LOG_LINES])


def _versions(told: Sequence[Sentence], parts: Sequence[Part]) -> tuple[StatedVersion, ...]:
    out = told_versions(told)
    for part in parts:
        if part.kind == "code" and len(part.lines) < 3000:
            out += queried_versions(part.text, part.line)
            code = parse_python(part.text)
            if code is None or not does_something(code):
                out += listed_versions(part.lines, part.line)
        elif part.kind == "prose":
            out += [v for v in listed_versions(part.lines, part.line) if v.name]
    out += _headed_versions(parts)
    unique: dict[tuple[str, str, str], StatedVersion] = {}
    for version in out:
        unique.setdefault((version.name, version.version, version.role), version)
    kept = [v for v in unique.values() if v.role != "used" or not _told_otherwise(v, unique.values())]
    return tuple(sorted(kept, key=lambda version: version.line))


def _headed_versions(parts: Sequence[Part]) -> Iterator[StatedVersion]:
    """Versions that stand alone under a heading "NAME version"."""
    for heading, below in pairwise(parts):
        named = (
            re.match(r"^(?P<name>[A-Za-z][\w.-]{1,40}) version$", heading.text) if heading.kind == "heading" else None
        )
        first = next((line.strip() for line in below.lines if line.strip()), "") if below.kind == "prose" else ""
        version = re.fullmatch(r"v?(\d{1,4}(?:\.\w{1,8}){1,4})", first)
        if named and version and named["name"].lower() not in {"python", "os"}:
            yield StatedVersion(name=normalise(named["name"]), version=version[1], line=below.line)


def _headed_python(parts: Sequence[Part]) -> str:
    for heading, below in pairwise(parts):
        if heading.kind == "heading" and re.match(r"^python(?: version)?\??$", heading.text, re.IGNORECASE):
            found = re.search(r"[23]\.\d{1,2}(?:\.\d{1,2})?", below.text[:200])
            if found:
                return found[0]
    return ""


def _told_otherwise(version: StatedVersion, others: Iterable[StatedVersion]) -> bool:
    """Whether a version that is merely used stands elsewhere with a role, or with a name."""
    if not version.name and any(o.version == version.version for o in others if o is not version):
        return True
    return any(o.version == version.version and o.name == version.name and o.role == "good" for o in others)


def _system_of_paths(text: str) -> str:
    """The family of systems that the paths in a report belong to."""
    if re.search(r"\b[A-Z]:\\(?:Users|Program|Python|Windows)", text):
        return "Windows"
    if re.search(r"(?<![\w.])/Users/\w", text):
        return "macOS"
    return "Linux" if re.search(r"(?<![\w.])/(?:home|usr/lib|usr/local/lib|opt|app)/\w", text) else ""


__all__ = ["MAX_TEXT", "all_sentences", "parse_report"]
