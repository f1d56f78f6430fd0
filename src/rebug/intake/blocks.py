"""The blocks of a report: fenced and indented code, and what stands unfenced in the prose."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from rebug.intake.classify import Piece, does_something, kind_of, parse_python, pieces_of
from rebug.intake.lines import split_lines
from rebug.intake.markup import Part
from rebug.intake.prose import plain, sentences_of, spans
from rebug.model import Attachment, Block, BlockKind

_FILE = (
    r"(?:[\w.~/\\-]{0,120}?[\w-]{1,80}\.(?:py|pyi|toml|ini|cfg|ya?ml|jsonl?|env|md|rst|txt|html?|csv|tsv|sql|xml"
    r"|js|css|conf|lock|in|po|pot|jinja2?|j2|tmpl|log|properties)|\.env|[\w/-]{0,60}(?:Dockerfile|Makefile"
    r"|Procfile|Pipfile))"
)
_FILE_ALONE = re.compile(
    rf"^\W{{0,6}}(?:file(?:name)?:? ?|in |my |the |with |and )?\W{{0,4}}(?P<name>{_FILE})\W{{0,6}}$", re.IGNORECASE
)
_FILE_NAMED = re.compile(
    rf"\b(?:sav(?:e|ed|ing)|put|store[ds]?|create[ds]?|named|called|as|file|contents? of|containing|in|into"
    rf"|this is|with(?: the| this| a)?|have a|my|following|write|given(?: a| the)?|is|and|a"
    rf"|an)\W{{1,4}}(?P<name>{_FILE})(?![\w(])",
    re.IGNORECASE,
)
_FILE_COMMENT = re.compile(
    rf"^\s*(?:#|//|--|;|<!--|/\*|\"\"\")\s*(?:file(?:name)?:? ?|save (?:this )?as:? "
    rf"|in )?`?(?P<name>{_FILE})`?\W{{0,8}}(?:-->|\*/)?$",
    re.IGNORECASE,
)
_FILE_INFO = re.compile(rf"(?:title|file(?:name)?|name)=[\"']?(?P<name>{_FILE})|[: ](?P<bare>{_FILE})$")
_REPL_START = re.compile(r"^\s{0,12}(?:>>> ?\S|In ?\[\d{1,5}\]: )")
_SHELL_START = re.compile(r"^\s{0,8}\$ [a-z./]\S*(?: \S.*)?$")
_HEADED = (BlockKind.OUTPUT, BlockKind.TRACEBACK, BlockKind.LOG, BlockKind.TEST, BlockKind.SHELL, BlockKind.REPL)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')*`]{0,3}\s+(?=[\"'(`*]?[A-Z])")


def blocks_of(parts: Sequence[Part]) -> Iterator[Block]:
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
            yield _block(piece, part, part.line + skipped, language, lead=lead, section=section)


def _block(piece: Piece, part: Part, first: int, language: str, *, lead: str, section: str) -> Block:
    return Block(
        text=piece.text.rstrip("\n"),
        kind=piece.kind,
        line=first + piece.offset,
        language=language,
        lead=lead if not piece.offset else "",
        section=section,
        filename=_filename(piece, lead, part.info) if piece.kind not in _HEADED and not piece.offset else "",
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
    return next(reversed(list(_FILE_NAMED.finditer(text))), None)


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


def with_inline(blocks: tuple[Block, ...], parts: Sequence[Part]) -> tuple[Block, ...]:
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


def attachment_blocks(attachment: Attachment) -> Iterator[Block]:
    """A text attachment as one block, kind by its content."""
    if not attachment.text.strip():
        return
    suffix = PurePosixPath(attachment.name.lower()).suffix.lstrip(".")
    text = "\n".join(split_lines(attachment.text))
    pieces = pieces_of(text, "" if suffix in {"txt", "log", "out"} else suffix, "", after_code=False)
    kind = pieces[0].kind if len(pieces) == 1 else kind_of(pieces[0].text, suffix, "")
    if kind is BlockKind.OTHER and suffix in {"log", "txt", "out", "err"}:
        kind = BlockKind.LOG if suffix == "log" else BlockKind.OUTPUT
    yield Block(text=text, kind=kind, line=1, language=suffix, filename=attachment.name, attachment=attachment.name)
