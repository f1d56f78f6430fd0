"""Literals, names and code spans that a report mentions, in the order in which they are worth trying."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from rebug.model import BlockKind, Report, Symptom
from rebug.propose.code import parse

_SPAN = re.compile(r"(?<!`)`([^`\n]{1,200})`(?!`)")
_QUOTED = re.compile(r"\"([^\"\n]{1,120})\"|(?<![A-Za-z])'([^'\n]{1,120})'(?![A-Za-z])")
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,18}(?:\.\d{1,17})?(?![\w.])")
_FILE = re.compile(r"(?<![\w/.\[])[\w-]{1,60}\.[A-Za-z]{1,8}(?![\w(\]])")
_WORD = re.compile(r"[A-Za-z_]\w{1,40}")
_MAX = 200_000  # characters of a report that are looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Literals:
    """What the report gives to put into programs. Every tuple is ordered, most telling first, without repetition."""

    quoted: tuple[str, ...] = ()  # words quoted in the failure's message, then those quoted anywhere
    spans: tuple[str, ...] = ()  # inline code
    calls: tuple[str, ...] = ()  # spans that are calls
    names: tuple[str, ...] = ()  # identifiers in spans and messages
    numbers: tuple[str, ...] = ()
    files: tuple[str, ...] = ()  # file names
    data: tuple[str, ...] = ()  # blocks of configuration or data, whole


def literals(report: Report, symptom: Symptom) -> Literals:
    message = symptom.failure.message[:2000] if symptom.failure else ""
    prose = _prose(report)
    spans = _unique([span.strip() for span in _SPAN.findall(f"{report.title}\n{prose}")])
    blocks = [block.text for block in report.blocks if block.kind in {BlockKind.CONFIG, BlockKind.DATA}]
    quoted = _unique([*_quoted(message), *_quoted(f"{report.title}\n{prose}")])
    names = [word for text in (*_quoted(message), *spans) for word in _WORD.findall(text)]
    values = [value.text for value in (*symptom.actual, *symptom.expected)]
    return Literals(
        quoted=tuple(quoted[:40]),
        spans=tuple(spans[:60]),
        calls=tuple(span for span in spans if _is_call(span))[:12],
        names=tuple(_unique(names)[:60]),
        numbers=tuple(_unique(_NUMBER.findall("\n".join((message, *spans, *values, prose[:20_000]))))[:20]),
        files=tuple(_files(report, prose)[:20]),
        data=tuple(_unique([*blocks, *[a.text for a in report.attachments if a.text and len(a.text) < 50_000]])[:8]),
    )


def _files(report: Report, prose: str) -> list[str]:
    """Names of data files; those of programs and libraries are where the report's code stands, not what it reads."""
    texts = (report.title, prose, *[block.text[:5000] for block in report.blocks])
    return [
        name for name in _unique(_FILE.findall("\n".join(texts))) if not name.endswith((".py", ".pyi", ".so", ".exe"))
    ]


def _prose(report: Report) -> str:
    """The report's text without its fenced blocks."""
    text = "\n".join((report.body, *report.comments))[:_MAX]
    return re.sub(r"^(```|~~~)[^\n]*\n.*?^\1[ \t]*$", "", text, flags=re.DOTALL | re.MULTILINE)


def _quoted(text: str) -> list[str]:
    return [a or b for a, b in _QUOTED.findall(text)]


def _is_call(span: str) -> bool:
    tree = parse(span)
    if tree is None or len(tree.body) != 1:
        return False
    return any(isinstance(node, ast.Call) and (node.args or node.keywords) for node in ast.walk(tree))


def _unique(items: list[str]) -> list[str]:
    return list(dict.fromkeys(item for item in items if item))


def message_pattern(message: str, exact: bool = False) -> str:
    """A regular expression for messages of the same kind: quoted words, numbers and addresses may differ.

    What may differ are its groups, in order, so that the same group of two messages can be compared.
    """
    line = message.strip().partition("\n")[0][:300]
    if exact or not line:
        return re.escape(line)
    hole = r"(?P<quote>[\"'`])(?P<in>[^\"'`\n]{0,120})(?P=quote)|0x[0-9a-fA-F]+|(?<!\w)-?\d+(?:\.\d+)?(?!\w)"
    parts, end = [], 0
    for found in re.finditer(hole, line):
        quote = found["quote"] or ""
        parts += [re.escape(line[end : found.start()] + quote), "(.{0,200}?)", re.escape(quote)]
        end = found.end()
    return "".join([*parts, re.escape(line[end:]), "$" if parts and end == len(line) else ""])
