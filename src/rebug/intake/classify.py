"""What a block holds, judged by its content; and where a block that holds several things is cut."""

from __future__ import annotations

import ast
import json
import re
import textwrap
import tomllib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from rebug.intake.lines import looks_logged
from rebug.intake.tracebacks import parse_tracebacks
from rebug.model import BlockKind, Failure

MAX_PARSED = 200_000  # characters given to a parser of a language

REPL_PROMPT = re.compile(r"^\s{0,12}(?:>>>(?: |$)|In ?\[\d{1,5}\]: ?)")
SHELL_PROMPT = re.compile(
    r"^\s{0,8}(?:\([\w.-]{1,40}\) ?)?(?:[\w.-]{1,40}@[\w.-]{1,60}[ :][^\n$#%>]{0,120}[$#%]|\[[^\]\n]{1,80}\][$#%]"
    r"|[~/][\w./-]{0,80} ?[$%]"
    r"|[$%❯➜]|PS [A-Z]:\\[^>\n]{0,200}>|[A-Z]:\\?[^>\n]{0,200}>)(?: ?)(?P<command>\S.*)$"
)
_ROOT_PROMPT = re.compile(r"^\s{0,8}# (?P<command>\S.*)$")
_COMMAND = re.compile(
    r"^(?:sudo |env (?:\w+=\S+ )*|(?:[A-Z_]+=\S+ )+)?(?:pip3?|python[\d.]*|py|uv|uvx|poetry|pipx|conda"
    r"|apt(?:-get)?|brew|git|cd|mkdir|echo|cat|"
    r"curl|wget|docker|make|npm|node|pytest|tox|nox|touch|export|ls|rm|cp|mv|dd|aws|flask|gunicorn|uvicorn|celery"
    r"|source|\./\S+)(?: \S.*)?$"
)
_PYTEST = re.compile(
    r"^(?:E {3,}\S|={3,} .{0,80}(?:FAILURES|ERRORS|test session starts|short test summary)|FAILED \S+::"
    r"|_{3,} .{1,200} _{3,}$)",
    re.MULTILINE,
)
_PYTHON_LINE = re.compile(
    r"^\s*(?:import [\w.]+|from [\w.]+ import |def \w+\s?\(|class \w+[:(]|async def |@\w|with .+:$|for .+ in .+:"
    r"|while .+:|if .+:$|elif .+:|else:|try:|except\b.*:|"
    r"finally:|return\b|raise \w|assert |await |yield\b|print\s?\(|[\w.\[\]'\"]+(?:: ?[\w.\[\], |]+)? ?[-+*/"
    r"|]?= ?\S|[\w.]+\(.*\)?[:,]?$|[)\]}]+,?$|#)"
)
_SECTION = re.compile(r"^\s*\[\[?[\w.\"' :-]+\]?\]\s*(?:#.*)?$")
_YAML_LINE = re.compile(r"^\s*(?:- )?[\w.\"'/-]+:(?: .*)?$|^\s*- \S|^---$")
_ENV_LINE = re.compile(r"^(?:export )?[A-Z][A-Z0-9_]*=\S*")
_INI_LINE = re.compile(r"^[\w.-]+\s*[=:]\s*\S*")
_SQL = re.compile(
    r"^\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE (?:TABLE|OR|VIEW|INDEX|FUNCTION)|ALTER TABLE"
    r"|WITH \w+ AS|BEGIN|DROP)\b",
    re.IGNORECASE,
)
_HTTP = re.compile(r"^(?:(?:GET|POST|PUT|DELETE|HEAD|PATCH|OPTIONS) \S+ HTTP/|HTTP/[\d.]+ \d{3})")
_DMESG = re.compile(r"segfault at [0-9a-f]+|general protection")
_OUTPUT_MARK = re.compile(
    r"^(?:#{1,3}|//)? ?(?:[-=]{2,8}>?|>{1,2})? ?(?:output|actual(?: output| result)?|result|prints|gives|returns"
    r"|expected(?: output| result)?|traceback|error|got)(?: is)? ?:? ?[-=]{0,8}$",
    re.IGNORECASE,
)
OUTPUT_LEAD = re.compile(
    r"\b(?:outputs?|results?|prints?|printed|gives?|gave|returns?|yields?|produces?|shows?|displays?|actual"
    r"|expect(?:ed)?|instead|i get|we get|i got|get(?:s|ting)?|"
    r"see|becomes?|should (?:be|have|give|print|return|look)|ends? (?:like|with)|looks like|happens)\b",
    re.IGNORECASE,
)
_PYTHON_LABELS = frozenset(
    {"python", "py", "python3", "py3", "pycon", "ipython", "python-repl", "python2", "pyi", "pyth", "sage"}
)
_SHELL_LABELS = frozenset(
    {"bash", "sh", "shell", "zsh", "fish", "powershell", "bat", "cmd", "shell-session", "shellsession"}
)
_CONFIG_LABELS = frozenset(
    {"toml", "ini", "cfg", "yaml", "yml", "env", "dotenv", "conf", "properties", "dockerfile", "docker"}
)
_DATA_LABELS = frozenset(
    {
        "json",
        "jsonc",
        "xml",
        "html",
        "csv",
        "sql",
        "svg",
        "css",
        "graphql",
        "http",
        "po",
        "rst",
        "md",
        "markdown",
        "jinja",
        "jinja2",
        "jsonl",
        "tsv",
    }
)
_OTHER_LABELS = frozenset(
    {"diff", "patch", "c", "cpp", "rust", "go", "java", "javascript", "js", "ts", "typescript", "ruby", "mermaid"}
)
_BY_LABEL = {
    **dict.fromkeys(_SHELL_LABELS, BlockKind.SHELL),
    **dict.fromkeys(_CONFIG_LABELS, BlockKind.CONFIG),
    **dict.fromkeys(_DATA_LABELS, BlockKind.DATA),
    **dict.fromkeys(_OTHER_LABELS, BlockKind.OTHER),
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a block: its text, its kind, and by how many lines it is below the block's first."""

    text: str
    kind: BlockKind
    offset: int


def parse_python(text: str) -> ast.Module | None:
    """The module, or None when `text` is not Python 3 (or too long or deep for the parser)."""
    if len(text) > MAX_PARSED:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(textwrap.dedent(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def does_something(tree: ast.Module) -> bool:
    """Whether a module has a statement that no mere output has: not only names, literals and reprs."""
    for node in tree.body:
        if not isinstance(node, ast.Expr | ast.AnnAssign | ast.Pass):
            return True
        value = node.value if not isinstance(node, ast.Pass) else None
        if isinstance(node, ast.AnnAssign) and value is not None:
            return True
        if isinstance(value, ast.Await):
            return True
        if isinstance(value, ast.Call):
            called = value.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "A")
            if not name[:1].isupper():
                return True
    return False


def python_share(lines: Sequence[str]) -> float:
    """How much of the non-blank lines look like Python source, 0 to 1."""
    used = [line for line in lines if line.strip()][:400]
    if not used:
        return 0.0
    return sum(bool(_PYTHON_LINE.match(line)) for line in used) / len(used)


def pieces_of(text: str, language: str, lead: str, *, after_code: bool) -> list[Piece]:
    """The block cut where it changes from code to output to traceback. `after_code`: Python was shown just before."""
    lines = text.split("\n")
    if any(REPL_PROMPT.match(line) for line in lines):
        return [Piece(text, BlockKind.REPL, 0)]
    if is_shell(lines, language):
        return [Piece(text, BlockKind.SHELL, 0)]
    if _PYTEST.search(text[:MAX_PARSED]):
        return (
            _cut(lines, language, lead, after_code) if "Traceback (most" in text else [Piece(text, BlockKind.TEST, 0)]
        )
    return _cut(lines, language, lead, after_code)


def is_shell(lines: Sequence[str], language: str) -> bool:
    """Whether a block is a session at a shell: prompts, or nothing but commands."""
    used = [line for line in lines if line.strip()]
    if not used:
        return False
    prompts = sum(bool(SHELL_PROMPT.match(line)) for line in used[:200])
    if prompts and (SHELL_PROMPT.match(used[0]) or prompts > 1 or language in _SHELL_LABELS or language == "console"):
        return parse_python("\n".join(lines)) is None or language in _SHELL_LABELS
    commands = [line for line in used if _COMMAND.match(line.strip())]
    if language in _SHELL_LABELS | {"console"} and commands:
        return True
    rooted = _ROOT_PROMPT.match(used[0])
    if rooted and _COMMAND.match(rooted["command"]) and parse_python("\n".join(lines)) is None:
        return True
    bare = [line for line in commands if " " in line.strip() or line.strip().startswith("./")]
    return len(bare) == len(used) and parse_python("\n".join(lines)) is None


def _cut(lines: list[str], language: str, lead: str, after_code: bool) -> list[Piece]:
    """Pieces around the tracebacks of a block that is no transcript."""
    failures = [f for f in parse_tracebacks("\n".join(lines)) if f.frames or f.members]
    if not failures:
        return _cut_output(lines, language, lead, after_code)
    first = min(_first_line(failure) for failure in failures)
    start = max(first - 1, 0)
    while start and re.search(
        r"xception (?:in|ignored)|never retrieved|^(?:future: <|[-─╭]{5})|Fatal Python", lines[start - 1]
    ):
        start -= 1
    whole = parse_python("\n".join(lines))
    if whole and does_something(whole):  # the traceback stands in comments or in a string
        return [Piece("\n".join(lines), BlockKind.PYTHON, 0)]
    head = lines[:start]
    if not any(line.strip() for line in head):
        return [Piece("\n".join(lines), BlockKind.TRACEBACK, 0)]
    if sum(looks_logged(line) for line in head if line.strip()) * 2 > len([x for x in head if x.strip()]):
        return [Piece("\n".join(lines), BlockKind.LOG, 0)]
    before = _cut_output(_trim(head), language, lead, after_code)
    return [*before, Piece("\n".join(lines[start:]), BlockKind.TRACEBACK, start)]


def _first_line(failure: Failure) -> int:
    while failure.cause:
        failure = failure.cause
    return failure.line


def _is_output_mark(line: str) -> bool:
    """Whether a line announces output: "# Output:", "---- result ----"."""
    stripped = line.strip()
    return len(stripped) < 60 and bool(_OUTPUT_MARK.match(stripped))


def _trim(lines: list[str]) -> list[str]:
    end = len(lines)
    while end and (not lines[end - 1].strip() or _is_output_mark(lines[end - 1])):
        end -= 1
    return lines[:end] or lines


def _cut_output(lines: list[str], language: str, lead: str, after_code: bool) -> list[Piece]:
    """Code followed by what it printed becomes two pieces; anything else is one."""
    text = "\n".join(lines)
    kind = kind_of(text, language, lead, after_code=after_code)
    if kind is not BlockKind.PYTHON or parse_python(text):
        return [Piece(text, kind, 0)]
    at = _output_start(lines)
    if not at:
        return [Piece(text, kind, 0)]
    code = _trim(lines[:at])
    start = at
    while start < len(lines) and (not lines[start].strip() or _is_output_mark(lines[start])):
        start += 1
    return [Piece("\n".join(code), BlockKind.PYTHON, 0), Piece("\n".join(lines[start:]), BlockKind.OUTPUT, start)]


def _output_start(lines: list[str]) -> int:
    """Index of the line at which code ends and its output begins, 0 when that cannot be told."""
    for i, line in enumerate(lines):
        if i and line.strip() and not line[:1].isspace() and (_is_output_mark(line) or not lines[i - 1].strip()):
            rest = lines[i + 1 :] if _is_output_mark(line) else lines[i:]
            if not any(x.strip() for x in rest) or python_share(rest) > 0.34:
                continue
            before = parse_python("\n".join(lines[:i]))
            if before and does_something(before):
                return i
    return 0


def kind_of(text: str, language: str, lead: str, *, after_code: bool = False) -> BlockKind:
    """The kind of a piece that is no transcript and holds no traceback."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return BlockKind.OTHER
    logged = sum(looks_logged(line) for line in lines[:400])
    if logged * 2 >= min(len(lines), 400) or _DMESG.search(text[:20_000]):
        return BlockKind.LOG
    if language in _OTHER_LABELS:
        return BlockKind.OTHER
    structured = _structured(text, lines, language)
    if structured:
        return structured
    tree = parse_python(text)
    outputs = bool(OUTPUT_LEAD.search(lead[-160:]))
    if tree and does_something(tree):
        return BlockKind.PYTHON
    if language in _PYTHON_LABELS:
        literal = tree is not None and (outputs or after_code)
        return BlockKind.OUTPUT if literal else BlockKind.PYTHON
    if language in _BY_LABEL:
        return _BY_LABEL[language]
    if tree is None and python_share(lines) >= 0.6 and re.search(r"\bimport \w|def \w+\(|\w+\(.*\)|= ", text):
        return BlockKind.PYTHON
    if (
        tree is not None
        and not outputs
        and not after_code
        and any(isinstance(node, ast.Call) for node in ast.walk(tree))
    ):
        return BlockKind.PYTHON
    return BlockKind.OUTPUT if outputs or after_code else BlockKind.OTHER


def _structured(text: str, lines: Sequence[str], language: str) -> BlockKind | None:
    """CONFIG or DATA where the text has the grammar of one."""
    sample = text.strip()
    if sample[0] in "{[" and _is_json(sample):
        return BlockKind.DATA if len(lines) > 1 or language in _DATA_LABELS else None
    if (
        sample.startswith("<")
        and re.search(r"</\w|/>|<!DOCTYPE|<\?xml", sample[:20_000])
        and language not in _PYTHON_LABELS
    ):
        return None if re.match(r"<[\w.]+ (?:object|at) ", sample) else BlockKind.DATA
    if (_SQL.match(sample) and parse_python(sample) is None) or _HTTP.match(sample):
        return BlockKind.DATA
    if language in _PYTHON_LABELS:
        return None
    if any(_SECTION.match(line) for line in lines) and sum(
        bool(_INI_LINE.match(x) or _SECTION.match(x)) for x in lines
    ) * 2 >= len(lines):
        return BlockKind.CONFIG
    if all(_ENV_LINE.match(line) or line.startswith("#") for line in lines):
        return BlockKind.CONFIG
    if language == "toml" and _is_toml(text):
        return BlockKind.CONFIG
    yaml = sum(bool(_YAML_LINE.match(line)) for line in lines)
    if yaml * 10 >= len(lines) * 8 and len(lines) > 1 and parse_python(text) is None and language not in _SHELL_LABELS:
        return BlockKind.CONFIG if language in _CONFIG_LABELS or any(x[:1].isspace() for x in lines) else None
    return None


def _is_json(text: str) -> bool:
    if len(text) > 2_000_000:
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
