"""Values that comments in code state: `# -> 3 (expected 4)`, `# prints 3`, `# should be 4`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rebug.model import Block, Value

MAX_VALUES = 40
MAX_COMMENT = 600  # characters of a comment
MAX_VALUE = 2000  # characters of one
_COMMENT_EXPECTED = re.compile(
    r"(?:expected|expect|should (?:be|print|return|give|have been|show|output)|supposed to be|wanted?|want"
    r"|correct(?: is)?|must be|ought to be)\s*(?:output|result"
    r"|value)?\s*[:=]?\s*(?P<value>[^\s)].{0,200}?)(?=\s*(?:\)|$|,? but |, (?:got|actual|is|returns|prints)\b|; "
    r"| instead of ))",
    re.IGNORECASE,
)
_COMMENT_ACTUAL = re.compile(
    r"(?:^(?:->|=>|==>|>+|→)\s*|\b(?:prints?|returns?|gives?|outputs?|got|actual(?:ly)?|result|yields|is|shows"
    r"|instead of|but gives|wrong)\s*(?:output|result|value"
    r"|is)?\s*[:=]?\s*)(?P<value>[^\s].{0,200}?)(?=\s*(?:\((?:expected|should|wrong|instead|but|correct|bug"
    r"|!).{0,200}$|$|,? (?:but )?(?:expected|should|instead of)\b|\s(?:<-|←|--|<--)))",
    re.IGNORECASE,
)
_COMPLAINS = re.compile(r"expected|should|wrong|instead|incorrect|\bbug\b|<-|←|!!|\bbut\b|\bnot\b", re.IGNORECASE)
_COMMENT_TRAIL = re.compile(r"\s{0,8}(?:\((?P<note>[^()]{2,160})\)|(?:<-+|←|--)\s{0,8}(?P<arrow>\S.{0,120}))[!.]{0,4}$")
_LITERALISH = re.compile(r"^(?:[-+]?\d|[\[({'\"<]|b['\"]|r['\"]|True\b|False\b|None\b|[A-Za-z_][\w.]*\(.*\)$)")


@dataclass(slots=True)
class Found:
    """The values found so far, in order of how telling their place is."""

    actual: list[Value] = field(default_factory=list)
    expected: list[Value] = field(default_factory=list)

    def add(self, side: list[Value], text: str | None, quote: str, line: int, *, exact: bool = True) -> None:
        text = (text or "").strip()
        if text and len(text) <= MAX_VALUE and len(side) < MAX_VALUES and all(v.text != text for v in side):
            side.append(Value(text=text, quote=quote.strip()[:400], line=line, exact=exact))


def from_comments(found: Found, block: Block, good: set[str]) -> None:
    """Comments that complain come before those that merely state."""
    lines = [(block.line + i, code, comment) for i, (code, comment) in enumerate(split_comments(block.text)) if comment]
    lines.sort(key=lambda item: not _COMPLAINS.search(item[2]))
    for line, code, comment in lines:
        quote = f"{code}  # {comment}".strip()
        told = re.match(r"(?:in |with )?v?(?P<version>\d+(?:\.\w+){1,3}): ?(?P<value>\S.{0,400})$", comment)
        if told and not code:
            found.add(found.expected if told["version"] in good else found.actual, told["value"], quote, line)
        elif not code and comment.startswith((">", "->", "=>")) and len(comment) > 2:
            found.add(found.actual, comment.lstrip("-=> "), quote, line)
        else:
            from_comment(found, code, comment, line, quote)


def split_comments(text: str) -> Iterator[tuple[str, str]]:
    """Code and comment of each line. A `#` in a string is told by the quotes before it."""
    for line in text.split("\n"):
        at = -1
        quote = ""
        for i, char in enumerate(line):
            if quote:
                quote = "" if char == quote and line[i - 1] != "\\" else quote
            elif char in "'\"":
                quote = char
            elif char == "#":
                at = i
                break
        yield (line, "") if at < 0 else (line[:at].strip(), line[at + 1 : at + MAX_COMMENT].strip("# \t"))


def from_comment(found: Found, code: str, comment: str, line: int, quote: str) -> None:
    expected = _COMMENT_EXPECTED.search(comment)
    if expected:
        value = _tidy(expected["value"])
        if is_value(value):
            found.add(found.expected, value, quote, line)
    before = comment[: expected.start()] if expected else comment
    instead = re.search(r"\binstead of (?P<value>\S.{0,200}?)\)?$", comment, re.IGNORECASE)
    if instead and expected is None:
        value = _tidy(instead["value"])
        if is_value(value):
            found.add(found.expected, value, quote, line)
        before = comment[: instead.start()]
    actual = _COMMENT_ACTUAL.search(before) or (_COMMENT_ACTUAL.search(comment[expected.end() :]) if expected else None)
    value = _tidy(actual["value"]) if actual else _tidy(before)
    if is_value(value) and (actual or (code and re.search(r"\)$|^[\w.\[\]'\"]+$", code))):
        found.add(found.actual, value, quote, line)


def _tidy(text: str) -> str:
    """A value in a comment without the remark after it and the marks around it."""
    text = text.strip().strip("`").strip()
    trail = _COMMENT_TRAIL.search(text)
    if trail and _LITERALISH.match(text) and trail.start() > 0:
        text = text[: trail.start()].strip()
    text = re.sub(r"\s*(?:[,;]|but|instead)\s*$", "", text).rstrip("(").strip()
    return text if is_literal(text) else text.rstrip(".!").strip()


def is_literal(text: str) -> bool:
    if len(text) > MAX_VALUE:
        return False
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
    return True


def is_value(text: str) -> bool:
    """Whether a text is a literal or a repr rather than words."""
    return bool(text) and (is_literal(text) or (bool(_LITERALISH.match(text)) and _balanced(text)))


def _balanced(text: str) -> bool:
    return all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}")) and text.count(" ") < 40
