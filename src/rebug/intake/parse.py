"""From the text of a report to a `Report`: title, sections, blocks, failures, versions."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from rebug.intake.classify import Piece, does_something, kind_of, parse_python, pieces_of
from rebug.intake.lines import looks_logged, split_lines, strip_ansi
from rebug.intake.markup import Part, parts_of
from rebug.intake.prose import Sentence, plain, sentences_of, spans
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

MAX_TEXT = 2_000_000  # characters of a report that are read
MAX_BLOCKS = 400
MAX_LOG_LINES = 2000

_TITLE_FIELD = re.compile(r"^(?:title|subject|summary)\s*:\s*(?P<text>\S.{0,300})$", re.IGNORECASE)
_TEMPLATE = re.compile(
    r"^(?:what (?:did|do|happen|version|is|i)|which version|initial checks|things to check|checklist|checks|prerequisites|preliminary|is there|how (?:can|to|do)"
    r"|describe the|bug report|description|summary|expected|actual|steps|to reproduce|reproduc|environment|versions?|what happen|issue|bug|context|problem|system info)",
    re.IGNORECASE,
)
_FILE = r"(?:[\w.~/\\-]{0,120}?[\w-]{1,80}\.(?:py|pyi|toml|ini|cfg|ya?ml|jsonl?|env|md|rst|txt|html?|csv|tsv|sql|xml|js|css|conf|lock|in|po|pot|jinja2?|j2|tmpl|log|properties)|\.env|[\w/-]{0,60}(?:Dockerfile|Makefile|Procfile|Pipfile))"
_FILE_ALONE = re.compile(
    rf"^\W{{0,6}}(?:file(?:name)?:? ?|in |my |the |with |and )?\W{{0,4}}(?P<name>{_FILE})\W{{0,6}}$", re.IGNORECASE
)
_FILE_NAMED = re.compile(
    rf"\b(?:sav(?:e|ed|ing)|put|store[ds]?|create[ds]?|named|called|as|file|contents? of|containing|in|into|this is|with(?: the| this| a)?|have a|my|following|write|given(?: a| the)?|is|and|a|an)\W{{1,4}}(?P<name>{_FILE})(?![\w(])",
    re.IGNORECASE,
)
_FILE_COMMENT = re.compile(
    rf"^\s*(?:#|//|--|;|<!--|/\*|\"\"\")\s*(?:file(?:name)?:? ?|save (?:this )?as:? |in )?`?(?P<name>{_FILE})`?\W{{0,8}}(?:-->|\*/)?$",
    re.IGNORECASE,
)
_FILE_INFO = re.compile(rf"(?:title|file(?:name)?|name)=[\"']?(?P<name>{_FILE})|[: ](?P<bare>{_FILE})$")
_REPL_START = re.compile(r"^\s{0,12}(?:>>> ?\S|In ?\[\d{1,5}\]: )")
_SHELL_START = re.compile(r"^\s{0,8}\$ [a-z./]\S*(?: \S.*)?$")
_HEADED = (BlockKind.OUTPUT, BlockKind.TRACEBACK, BlockKind.LOG, BlockKind.TEST, BlockKind.SHELL, BlockKind.REPL)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')*`]{0,3}\s+(?=[\"'(`*]?[A-Z])")


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
    blocks = tuple(_blocks(parts))[:MAX_BLOCKS]
    blocks = _with_inline(blocks, parts)
    attached = tuple(block for attachment in attachments for block in _attachment_blocks(attachment))
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
    return out


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


def _blocks(parts: Sequence[Part]) -> Iterator[Block]:
    """The blocks of a report: fenced and indented code, and what stands unfenced in the prose."""
    section = lead = ""
    after_code = False
    for part in parts:
        if part.kind == "heading":
            section = lead = part.text
            after_code = False
            continue
        found = list(
            _code_blocks(part, section, lead, after_code) if part.kind == "code" else _loose_blocks(part, section)
        )
        if part.kind == "code" and not part.fenced and not _is_indented_code(found):
            lead = part.text.strip()
            continue
        yield from found
        if part.kind == "code":
            lead = ""
            after_code = bool(found) and found[-1].kind in (BlockKind.PYTHON, BlockKind.SHELL)
        else:
            lead = _last_sentence(part.lines) if not found or part.lines[-1].strip() else ""
            after_code = bool(found) and not lead


def _is_indented_code(found: Sequence[Block]) -> bool:
    """Indented text is a block unless it reads as prose."""
    if not found or any(block.kind is not BlockKind.OTHER for block in found):
        return bool(found)
    words = found[0].text.split()
    return len(words) < 6 or not found[0].text.strip().endswith((".", "!", "?", ","))


def _code_blocks(part: Part, section: str, lead: str, after_code: bool) -> Iterator[Block]:
    lines = list(part.lines)
    while lines and not lines[-1].strip():
        lines.pop()
    skipped = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    text = textwrap.dedent("\n".join(lines[skipped:]))
    if not text.strip():
        return
    language = re.split(r"[\s{:,]", part.info.strip().lower().lstrip("{."), maxsplit=1)[0].strip("}")
    for piece in pieces_of(text, language, lead or section, after_code=after_code):
        if piece.text.strip():
            yield _block(piece, part.line + skipped, language, lead, section, part.info)


def _block(piece: Piece, first: int, language: str, lead: str, section: str, info: str) -> Block:
    return Block(
        text=piece.text.rstrip("\n"),
        kind=piece.kind,
        line=first + piece.offset,
        language=language,
        lead=lead if not piece.offset else "",
        section=section,
        filename=_filename(piece, lead, info) if piece.kind not in _HEADED and not piece.offset else "",
    )


def _filename(piece: Piece, lead: str, info: str) -> str:
    """The file name that the fence, the first line or the text above gives a block."""
    labelled = _FILE_INFO.search(info)
    comment = _FILE_COMMENT.match(piece.text.split("\n", 1)[0][:200])
    named = plain(lead)[-200:]
    told = _FILE_ALONE.match(named) or (_last_match(named) if re.search(r"[:`]\W{0,3}$|\bis\b", named) else None)
    name = ""
    if labelled:
        name = labelled["name"] or labelled["bare"]
    elif comment:
        name = comment["name"]
    elif told:
        name = told["name"]
    name = name.strip("`*'\" ").replace("\\", "/")
    suffix = PurePosixPath(name).suffix.lower()
    if piece.kind is BlockKind.PYTHON and suffix not in {".py", ".pyi", ""}:
        return ""
    if piece.kind in (BlockKind.CONFIG, BlockKind.DATA) and suffix == ".py":
        return ""
    return name


def _last_match(text: str) -> re.Match[str] | None:
    found = None
    for found in _FILE_NAMED.finditer(text):
        pass
    return found


def _last_sentence(lines: Sequence[str]) -> str:
    """The sentence just above a block: the last one of the last paragraph."""
    used: list[str] = []
    for line in reversed(lines):
        if line.strip():
            used.append(re.sub(r"^(?:> ?)+|^(?:[-*+]|\d{1,3}[.)]) +", "", line.strip()))
        elif used:
            break
    paragraph = " ".join(reversed(used))
    return _SENTENCE_END.split(paragraph[-800:])[-1].strip()


def _loose_blocks(part: Part, section: str) -> Iterator[Block]:
    """Transcripts, tracebacks and code that stand in the prose without a fence."""
    lines = part.lines
    i = 0
    while i < len(lines):
        end, kind = _loose_at(lines, i)
        if kind is None:
            i += 1
            continue
        text = textwrap.dedent("\n".join(lines[i:end])).rstrip()
        yield Block(text=text, kind=kind, line=part.line + i, lead=_last_sentence(lines[:i]), section=section)
        i = end


def _loose_at(lines: Sequence[str], i: int) -> tuple[int, BlockKind | None]:
    text = lines[i]
    if _REPL_START.match(text):
        return _until(lines, i, repl=True), BlockKind.REPL
    if "Traceback (most recent call last)" in text:
        return _traceback_end(lines, i), BlockKind.TRACEBACK
    if _SHELL_START.match(text):
        return _until(lines, i, repl=False), BlockKind.SHELL
    if (not i or not lines[i - 1].strip()) and re.match(
        r"(?:import|from|def|class|async def|with|for|@|[a-z_][\w.]* ?(?:=|\())", text
    ):
        end = _python_end(lines, i)
        if end > i:
            return end, BlockKind.PYTHON
    return i, None


def _until(lines: Sequence[str], i: int, *, repl: bool) -> int:
    """The end of a transcript: a blank line after which no prompt comes."""
    end = i
    while end < len(lines):
        if not lines[end].strip():
            following = lines[end + 1] if end + 1 < len(lines) else ""
            if not (_REPL_START if repl else _SHELL_START).match(following):
                break
        end += 1
    return end


def _traceback_end(lines: Sequence[str], i: int) -> int:
    end = i + 1
    while end < len(lines):
        if not lines[end].strip():
            rest = next((line for line in lines[end : end + 3] if line.strip()), "")
            if not re.match(r"\s*(?:During handling|The above exception|Traceback|File \"|\+ )", rest):
                break
        end += 1
    return end


def _python_end(lines: Sequence[str], i: int) -> int:
    """The end of the longest run of paragraphs from `lines[i]` that is a Python program, `i` when there is none."""
    best = i
    for tries, end in enumerate(j for j in range(i + 1, len(lines) + 1) if j == len(lines) or not lines[j].strip()):
        if tries >= 30 or end - i > 600:
            break
        tree = parse_python("\n".join(lines[i:end]))
        if tree and does_something(tree):
            best = end
        elif best > i and tree is None and lines[end - 1][:1].isalpha():
            break
    return best


def _with_inline(blocks: tuple[Block, ...], parts: Sequence[Part]) -> tuple[Block, ...]:
    """Whole expressions in code spans serve as blocks when the report has no other code."""
    if any(block.kind in (BlockKind.PYTHON, BlockKind.REPL) for block in blocks):
        return blocks
    found: list[Block] = []
    section = ""
    for part in parts:
        if part.kind == "heading":
            section = part.text
            continue
        if part.kind != "prose":
            continue
        for sentence in sentences_of(part.lines, part.line, section):
            for code in spans(sentence.text):
                tree = parse_python(code) if "(" in code or "=" in code else None
                whole = tree and does_something(tree) and not re.fullmatch(r"[\w.]+\(\)|[A-Z]\w+=\S*", code)
                if whole and all(code != block.text for block in found):
                    found.append(
                        Block(text=code, kind=BlockKind.PYTHON, line=sentence.line, lead=sentence.text, section=section)
                    )
    return tuple(sorted((*blocks, *found[:20]), key=lambda block: block.line))


def _attachment_blocks(attachment: Attachment) -> Iterator[Block]:
    """A text attachment as one block, kind by its content."""
    if not attachment.text.strip():
        return
    suffix = PurePosixPath(attachment.name.lower()).suffix.lstrip(".")
    text = "\n".join(split_lines(strip_ansi(attachment.text)))
    pieces = pieces_of(text, "" if suffix in {"txt", "log", "out"} else suffix, "", after_code=False)
    kind = pieces[0].kind if len(pieces) == 1 else kind_of(pieces[0].text, suffix, "")
    if kind is BlockKind.OTHER and suffix in {"log", "txt", "out", "err"}:
        kind = BlockKind.LOG if suffix == "log" else BlockKind.OUTPUT
    yield Block(text=text, kind=kind, line=1, language=suffix, filename=attachment.name, attachment=attachment.name)


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
    for heading, below in zip(parts, parts[1:], strict=False):
        named = (
            re.match(r"^(?P<name>[A-Za-z][\w.-]{1,40}) version$", heading.text) if heading.kind == "heading" else None
        )
        first = next((line.strip() for line in below.lines if line.strip()), "") if below.kind == "prose" else ""
        version = re.fullmatch(r"v?(\d{1,4}(?:\.\w{1,8}){1,4})", first)
        if named and version and named["name"].lower() not in {"python", "os"}:
            yield StatedVersion(name=normalise(named["name"]), version=version[1], line=below.line)


def _headed_python(parts: Sequence[Part]) -> str:
    for heading, below in zip(parts, parts[1:], strict=False):
        if heading.kind == "heading" and re.match(r"^python(?: version)?\??$", heading.text, re.IGNORECASE):
            found = re.search(r"[23]\.\d{1,2}(?:\.\d{1,2})?", below.text[:200])
            if found:
                return found[0]
    return ""


def _told_otherwise(version: StatedVersion, others: object) -> bool:
    """Whether the same name and version stands elsewhere with a role."""
    assert hasattr(others, "__iter__")
    return any(o.version == version.version and o.name == version.name and o.role == "good" for o in others)


def _system_of_paths(text: str) -> str:
    """The family of systems that the paths in a report belong to."""
    if re.search(r"\b[A-Z]:\\(?:Users|Program|Python|Windows)", text):
        return "Windows"
    if re.search(r"(?<![\w.])/Users/\w", text):
        return "macOS"
    return "Linux" if re.search(r"(?<![\w.])/(?:home|usr/lib|usr/local/lib|opt|app)/\w", text) else ""


__all__ = ["MAX_TEXT", "all_sentences", "parse_report"]
