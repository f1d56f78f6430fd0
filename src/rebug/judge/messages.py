"""How far one message or printed value is from another. Pure."""

from __future__ import annotations

import difflib
import re

LONGEST = 2000
"""Characters compared; longer messages differ in their tails only by data."""

WORDS = 150
"""Words compared by difflib, whose time grows with the square (at worst the cube) of the length."""

_VOLATILE = (
    (re.compile(r"\b0x[0-9a-fA-F]{4,}\b"), "<address>"),
    (re.compile(r"(?<![\w/])(?:[A-Za-z]:)?(?:[\\/][\w.@+~-]+){2,}"), "<path>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?"), "<time>"),
)
_LITERAL = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|`[^`\n]*`|(?<![A-Za-z_])[-+]?\d[\d_.,]*")
_WORD = re.compile(r"[A-Za-z_]{2,}")


def normal(text: str) -> str:
    """White space folded, quotes unified, addresses, paths and times masked."""
    text = text[:LONGEST].replace("‘", "'").replace("’", "'").replace("“", '"').replace("”", '"')
    for pattern, mask in _VOLATILE:
        text = pattern.sub(mask, text)
    return " ".join(text.split()).rstrip(".")


def template(text: str) -> str:
    """The message with its quoted strings and numbers masked: what the code that raises it holds."""
    return _LITERAL.sub("<>", normal(text))


def message_distance(reported: str, observed: str) -> float:
    """0: the same, or the report gives none, or its visible part (it may end in "...") is the same. 0.2: the same
    template of at least two words, other literals. 0.7: the same template that says nothing (a bare literal).
    Else 0.3 … 1 by difflib's ratio of the words.
    """
    wanted, seen = normal(reported), normal(observed)
    if not wanted or wanted == seen:
        return 0.0
    stem = wanted.rstrip("….").rstrip()
    if stem != wanted and len(stem) >= 12 and seen.startswith(stem):
        return 0.0
    if len(wanted) >= 12 and seen.startswith(wanted):
        return 0.1
    shape = template(reported)
    if shape == template(observed):
        return 0.2 if len(_WORD.findall(shape)) >= 2 else 0.7
    words = difflib.SequenceMatcher(None, wanted.split()[:WORDS], seen.split()[:WORDS], autojunk=False)
    return 0.3 + 0.7 * (1 - words.ratio())


def fragments(message: str) -> tuple[str, ...]:
    """Literal pieces of a message that do not vary from run to run, longest first; used to recognise it again."""
    masked = normal(message.splitlines()[0] if message else "")
    pieces = [piece.strip() for piece in re.split(r"<(?:address|path|time)>", masked)]
    return tuple(sorted((piece for piece in pieces if len(piece) >= 3), key=len, reverse=True))


def seen_in(value: str, output: str) -> bool:
    """Whether a reported value stands in an output: as lines for a value of several lines, as a token otherwise."""
    wanted = [normal(line) for line in value.splitlines() if line.strip()]
    lines = [normal(line) for line in output.splitlines()]
    if not wanted:
        return False
    if len(wanted) > 1:
        return any(lines[i : i + len(wanted)] == wanted for i in range(len(lines) - len(wanted) + 1))
    token = re.compile(r"(?<!\w)" + re.escape(wanted[0]) + r"(?!\w)")
    return any(line == wanted[0] or token.search(line) for line in lines)
