"""What a report's words say of an input's shape: which characters and pieces there are many of. Pure."""

from __future__ import annotations

import ast
import re

_NAMES = {
    "\\": r"back-?slash(?:es)?|escap(?:e|ed|es|ing)",
    "*": r"asterisks?|stars?|emphasis|bold",
    "\n": r"(?:new|blank|empty)?-?lines?|line ?feeds?|LF|CRLF|linebreaks?",
    "\r": r"carriage|CR|CRLF",
    " ": r"(?:white)?-?spaces?|blanks?|indent\w*|padding",
    "\t": r"tabs?|white-?spaces?|indent\w*",
    ",": r"commas?|separat\w+|delimiters?|fields?",
    ";": r"semi-?colons?|separat\w+|delimiters?|cookies?|param\w*",
    ":": r"colons?",
    "(": r"paren\w*|brackets?|brac\w+|nest\w*",
    ")": r"paren\w*|brackets?|brac\w+|nest\w*",
    "[": r"(?:square )?brackets?|nest\w*|links?|lists?|arrays?",
    "]": r"(?:square )?brackets?|nest\w*|links?|lists?|arrays?",
    "{": r"braces?|curl\w*|brackets?|nest\w*|objects?|placeholders?",
    "}": r"braces?|curl\w*|brackets?|nest\w*|objects?|placeholders?",
    "<": r"angle|brackets?|tags?|elements?|less|nest\w*|html|xml|autolinks?|comments?",
    ">": r"angle|brackets?|tags?|elements?|greater|block-?quotes?|nest\w*|html|xml",
    '"': r"(?:double )?quot\w*|strings?",
    "'": r"(?:single )?quot\w*|apostrophes?|strings?",
    "`": r"back-?ticks?|code spans?|fences?|grave",
    "-": r"dash(?:es)?|hyphens?|minus\w*|comments?|separat\w+",
    "_": r"underscores?|emphasis",
    "#": r"hash\w*|pound|number signs?|comments?|headings?",
    "=": r"equals?(?: signs?)?|assign\w*|padding",
    "&": r"ampersands?|entit\w+|query|separat\w+|fields?",
    "|": r"pipes?|bars?|tables?|columns?|alternat\w+",
    "/": r"slash(?:es)?|paths?|segments?|comments?|URLs?",
    ".": r"dots?|periods?|points?|labels?|domains?|segments?",
    "!": r"exclamation\w*|images?|bangs?",
    "$": r"dollars?|math|variables?",
    "%": r"percent\w*|encoded",
    "@": r"at[- ]signs?|mails?|addresses|decorators?",
    "~": r"tildes?|strike\w*",
    "+": r"plus(?:es)?",
    "\0": r"nul(?:l|s)?|zero(?: bytes?)?",
}
"""How people call a character in words."""

_LONG = re.compile(
    r"\b(?:long\w*|large|big\w*|huge|size|length|[kMG]i?B|megabytes?|kilobytes?|characters?|chars?|bytes?|digits?|text|"
    r"letters?|words?|tokens?|names?|strings?|input|thousands?|millions?|many|number of|twice|double[sd]?)\b",
    re.IGNORECASE,
)
_SPANS = re.compile(r"`{1,3}([^`]{1,300})`{1,3}|\"([^\"\n]{1,80})\"|'([^'\n]{1,80})'|“([^”\n]{1,80})”")


def named_characters(text: str) -> tuple[str, ...]:
    """Characters that a text names in words, or quotes alone; those said most often come first."""
    told = text[:50_000]
    found: dict[str, tuple[int, int]] = {}
    for char, words in _NAMES.items():
        said = [match.start() for match in re.finditer(rf"(?<![\w-])(?:{words})(?![\w-])", told, re.IGNORECASE)]
        if said:
            found[char] = (-len(said), said[0])
    for span in _SPANS.finditer(told):
        piece = next(group for group in span.groups() if group is not None).strip()
        if 0 < len(piece) <= 4 and not piece.isalnum():
            for char in piece:
                count, start = found.get(char, (0, span.start()))
                found[char] = (count - 2, min(start, span.start()))  # shown says more than named
    return tuple(sorted(found, key=lambda char: found[char]))


def described(piece: str, text: str) -> bool:
    """Whether a report's text speaks of an input with many of a piece: names one of its characters that is no letter,
    shows it, or, where it is plain letters and digits, speaks of a long or a large input."""
    told = text[:50_000]
    marks = {char for char in piece if not char.isalnum() and char != " "} or {char for char in piece if char == " "}
    if len(piece.strip()) > 1 and piece.strip() in told:
        return True
    if not marks:
        return bool(_LONG.search(told))
    return bool(marks & set(named_characters(told)))


def multiplied(code: ast.AST, size: str) -> list[str]:
    """The texts that code multiplies by the name `size`; bytes as the letters they hold."""
    found = []
    for node in ast.walk(code):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            leaves = [leaf for side in (node.left, node.right) for leaf in ast.walk(side)]
            if any(isinstance(leaf, ast.Name) and leaf.id == size for leaf in leaves):
                texts = (leaf.value for leaf in leaves if isinstance(leaf, ast.Constant))
                found.append("".join(_letters(text) for text in texts if isinstance(text, str | bytes)))
    return [piece for piece in found if piece]


def _letters(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")
