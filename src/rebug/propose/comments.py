"""Remarks behind statements: `# expected 3, got 2`, `# None  <-- should be True`, `# -> 3 (wrong)`."""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass

_LITERAL = (
    r"(`[^`\n]{1,200}`|'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|\[[^\]\n]{0,200}\]|\{[^}\n]{0,200}\}|\([^)\n]{0,200}\)"
    r"|[-+]?\d[\w.:+-]*(?: \d\d:\d\d[\d:.+]*)?|None|True|False|b'[^'\n]{0,200}'|[A-Za-z_][\w.]{0,80}\([^)\n]{0,200}\)"
    r"|[A-Z][\w.]{0,80}|<[^>\n]{1,200}>)"
)
_RIGHT = re.compile(
    r"(?i:expect(?:ed|s|ing)?(?: (?:value|result|output))?(?: (?:to be|is|was|an?))?|should (?:be|return|give|print"
    r"|have been|equal|output)|must be|instead of|rather than|ought to be|correct(?: is)?|right(?: is)?)\s*:?\s*"
    + _LITERAL
)
_WRONG = re.compile(
    r"(?i:got|actual(?:ly)?(?: (?:is|value|result))?|gives?|returns?|prints?|outputs?|shows?|but (?:is|was|gets?)|is"
    r" instead|yields?)\s*:?\s*" + _LITERAL
)
_LEADING = re.compile(r"^(?:->|=>|>>>?|==>|→|is|=|output:)?\s*" + _LITERAL)
_COMPLAINT = re.compile(
    r"wrong|\bbug\b|unexpected|incorrect|should|expected|<-|!!|❌|✗|instead|but\b|not right|broken|\?\?|bad\b|fail"
    r"|boom",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Remark:
    """What a comment says of the value of the statement before it."""

    line: int  # 1-based
    wrong: str
    right: str


def remarks(script: str) -> list[Remark]:
    """The remarks of a program that say that a value is wrong, or what it should be, in source order."""
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(script).readline):
            if token.type == tokenize.COMMENT and token.line[: token.start[1]].strip():
                remark = read(token.string.lstrip("#").strip()[:400], token.start[0])
                found.extend([remark] if remark else [])
    except (tokenize.TokenError, SyntaxError, ValueError):
        return found
    return found


def read(text: str, line: int = 0) -> Remark | None:
    """What one comment says, None when it complains of nothing."""
    right = _RIGHT.search(text)
    wrong = _WRONG.search(text)
    leading = _LEADING.match(text)
    right_text = _bare(right[1]) if right else ""
    if wrong and not (right and wrong.start(1) == right.start(1)):
        wrong_text = _bare(wrong[1])
    elif leading and _COMPLAINT.search(text[leading.end() :]) and not (right and leading.start(1) == right.start(1)):
        wrong_text = _bare(leading[1])
    else:
        wrong_text = ""
    if wrong_text == right_text or not (wrong_text or right_text):
        return None
    if wrong and not right and not leading and not _COMPLAINT.search(text):
        return None
    return Remark(line, wrong_text, right_text)


def _bare(text: str) -> str:
    return text.strip("`").rstrip(".,;:")
