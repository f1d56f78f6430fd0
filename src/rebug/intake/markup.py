"""The structure of a report's text: headings, prose and code, found line by line.

A CommonMark parser is too strict for what people paste: an unfenced `>>> f()` is three nested quotations to it, a fence
that was never closed swallows the report, and a traceback in a paragraph is reflowed. So the rules here are few and
forgiving; they know Markdown's fences and headings, Jira's blocks, HTML's `<pre>`, and bold lines used as headings.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

_FENCE = re.compile(
    r"^(?P<lead>(?:[ \t]{0,20}>){0,6}[ \t]{0,24}(?:(?:[-*+]|\d{1,3}[.)])[ \t]{1,4})?)(?P<mark>`{3,20}"
    r"|~{3,20})(?P<info>[^`\n]{0,200})$"
)
_JIRA = re.compile(r"^\s*\{(?P<tag>code|noformat)(?::(?P<info>[^}]{0,80}))?\}\s*$")
_HTML_OPEN = re.compile(
    r"^\s*(?:<(?:pre|code|div)[^>]{0,80}>\s*){0,2}<(?:pre|code)(?: [^>]{0,80})?>(?P<rest>.*)$", re.IGNORECASE
)
_HTML_CLOSE = re.compile(r"</(?:pre|code)>\s*(?:</\w{1,10}>\s*){0,3}$", re.IGNORECASE)
_ATX = re.compile(r"^(?:[ \t]{0,3}> ?)?[ \t]{0,3}(?P<mark>#{1,6})[ \t]+(?P<text>\S.{0,300}?)[ \t]*#*$")
_SETEXT = re.compile(r"^(?:={3,}|-{3,})$")
_BOLD = re.compile(r"^\s{0,3}(?:[-*+]\s+)?(?:\*\*|__)(?P<text>[^*_]{2,80}?)(?:\*\*|__)\s*:?\s*$")
_LABEL = re.compile(
    r"^\s{0,3}(?:[-*+]\s+)?(?:\*\*|__)?(?P<text>(?:expected|actual|observed|current|desired|obtained)"
    r"(?:[ ](?:output|result|results|behaviou?r|value|outcome))?|output|result|traceback|stack ?trace"
    r"|steps to reproduce|to reproduce)"
    r"\s*:?(?:\*\*|__)?\s*:?\s*$",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?(?:details|summary|b|strong|p|br|div|em|i|sub|sup|h[1-6])(?: [^>]{0,80})?/?>", re.IGNORECASE)
_LIST = re.compile(r"^\s{0,12}(?:[-*+]|\d{1,3}[.)])\s+\S")


@dataclass(frozen=True, slots=True)
class Part:
    """A heading, a run of prose or a block of code, with the 1-based line of its first line."""

    kind: Literal["heading", "prose", "code"]
    lines: tuple[str, ...]
    line: int
    info: str = ""  # of a fence
    level: int = 0  # of a heading; 7 for a bold line or a label that serves as one
    fenced: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def parts_of(lines: Sequence[str]) -> list[Part]:
    """The parts of a report in order; each line belongs to at most one. Linear."""
    clean = _without_comments(lines)
    parts: list[Part] = []
    prose: list[str] = []
    i = 0
    while i < len(clean):
        found = _code_at(clean, lines, i, bool(prose and prose[-1].strip()), _in_list(prose)) or _heading_at(clean, i)
        if found is None:
            prose.append(_TAG.sub("", clean[i]) if "<" in clean[i] else clean[i])
            i += 1
            continue
        part, end = found
        _flush(parts, prose, i)
        parts.append(part)
        i = end
    _flush(parts, prose, len(clean))
    return parts


def _flush(parts: list[Part], prose: list[str], end: int) -> None:
    if any(line.strip() for line in prose):
        parts.append(Part("prose", tuple(prose), end - len(prose) + 1))
    prose.clear()


def _in_list(prose: Sequence[str]) -> bool:
    """Whether what is indented here would be the continuation of a list item."""
    for line in reversed(prose[-12:]):
        if _LIST.match(line):
            return True
        if line.strip() and not line[:1].isspace():
            return False
    return False


def _without_comments(lines: Sequence[str]) -> list[str]:
    """`lines` with HTML comments outside fences blanked: templates hide their instructions in them."""
    out: list[str] = []
    fence, inside = "", False
    for line in lines:
        mark = _FENCE.match(line)
        if mark and not inside:
            fence = (
                "" if fence and mark["mark"].startswith(fence) and not mark["info"].strip() else fence or mark["mark"]
            )
        if fence or not (inside or "<!--" in line):
            out.append(line)
            continue
        kept = ""
        rest = line
        while rest:
            if inside:
                _, ended, rest = rest.partition("-->")
                inside = not ended
            else:
                before, began, rest = rest.partition("<!--")
                kept += before
                inside = bool(began)
        out.append(kept)
    return out


def _heading_at(lines: Sequence[str], i: int) -> tuple[Part, int] | None:
    line = lines[i]
    atx = _ATX.match(line) if "#" in line else None
    if atx and not line[:4].isspace():
        return Part("heading", (atx["text"].strip(),), i + 1, level=len(atx["mark"])), i + 1
    following = lines[i + 1].strip() if i + 1 < len(lines) else ""
    alone = i == 0 or not lines[i - 1].strip()
    if line.strip() and following and alone and len(line) < 200 and _SETEXT.match(following) and not _LIST.match(line):
        return Part("heading", (line.strip(),), i + 1, level=1 if following[0] == "=" else 2), i + 2
    bold = _BOLD.match(line) or _LABEL.match(line)
    if bold:
        return Part("heading", (bold["text"].strip().rstrip(":").strip(),), i + 1, level=7), i + 1
    return None


def _code_at(
    lines: Sequence[str], raw: Sequence[str], i: int, after_text: bool, in_list: bool
) -> tuple[Part, int] | None:
    line = lines[i]
    fence = _FENCE.match(line) if "```" in line or "~~~" in line else None
    if fence:
        return _fenced(raw, i, fence)
    jira = _JIRA.match(line) if line.lstrip().startswith("{") else None
    if jira:
        end = _closing(raw, i + 1, lambda text: text.strip() == f"{{{jira['tag']}}}")
        return Part("code", tuple(raw[i + 1 : end]), i + 2, info=jira["info"] or "", fenced=True), end + 1
    pre = _HTML_OPEN.match(line) if "<" in line else None
    if pre and not pre["rest"].lower().count("</code>"):
        end = _closing(raw, i, lambda text: bool(_HTML_CLOSE.search(text)))
        body = [pre["rest"], *raw[i + 1 : end], _HTML_CLOSE.sub("", raw[end]) if i < end < len(raw) else ""]
        body = [_unescape(text) for text in body]
        first = 1 if not body[0].strip() else 0
        return Part("code", tuple(body[first:]), i + 1 + first, fenced=True), end + 1
    if (line.startswith(("    ", "\t")) and line.strip()) and not after_text and not in_list:
        return _indented(lines, i)
    return None


def _closing(lines: Sequence[str], start: int, closes: Callable[[str], bool]) -> int:
    for i in range(start, len(lines)):
        if closes(lines[i]):
            return i
    return len(lines)


def _unescape(text: str) -> str:
    return html.unescape(text)


def _fenced(lines: Sequence[str], i: int, fence: re.Match[str]) -> tuple[Part, int]:
    """The block opened by a fence on `lines[i]`. One never closed ends at the next heading."""
    mark, lead = fence["mark"], fence["lead"]
    quotes = lead.count(">")
    indent = len(lead)
    body: list[str] = []
    fallback = 0
    for j in range(i + 1, len(lines)):
        text = _unquote(lines[j], quotes) if quotes else lines[j]
        stripped = text.strip()
        if stripped.startswith(mark) and not stripped.strip(mark[0]):
            return Part("code", tuple(body), i + 2, info=fence["info"].strip(), fenced=True), j + 1
        if not fallback and _ATX.match(text) and not lines[j - 1].strip() and text.startswith("##"):
            fallback = len(body)
        if not quotes:
            text = text[min(indent, len(text) - len(text.lstrip())) :]
        body.append(text)
    if fallback:
        return Part("code", tuple(body[:fallback]), i + 2, info=fence["info"].strip(), fenced=True), i + 1 + fallback
    return Part("code", tuple(body), i + 2, info=fence["info"].strip(), fenced=True), len(lines)


def _unquote(text: str, depth: int) -> str:
    for _ in range(depth):
        stripped = text.lstrip()
        if not stripped.startswith(">"):
            break
        text = stripped[1:]
    return text.removeprefix(" ")


def _indented(lines: Sequence[str], i: int) -> tuple[Part, int]:
    end = last = i
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith(("    ", "\t"))):
        if lines[end].strip():
            last = end
        end += 1
    return Part("code", tuple(lines[i : last + 1]), i + 1), last + 1
