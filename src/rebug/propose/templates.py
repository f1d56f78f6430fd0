"""A program with its literals taken out, so that a search can put others in: and the program put back together."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rebug.propose.code import parse
from rebug.propose.synthesis import FOLDER, FOLDER_IMPORTS

MOST_HOLES = 12
_NOT_DATA = {"open", "join", "mkdtemp", "Path", "import_module", "getLogger", "getattr", "setattr", "hasattr", "print"}
_READERS = {"open", "Path", "load", "read", "read_text", "from_file", "parse_file", "load_file"}
_SETTINGS = {"encoding", "mode", "errors", "newline", "name"}
_FILE_NAME = re.compile(r"[\w./-]{0,100}?[\w-]{1,60}\.[A-Za-z][A-Za-z0-9]{0,7}\Z")
_HOLE = re.compile(r"\bDATA_(\d{1,2})\b")
_INLINE = 60  # characters of a literal that stays where it is used


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """`text` is the program with names DATA_0, DATA_1, … in the place of `values` (Python text of each)."""

    text: str
    values: tuple[str, ...]
    files: tuple[str, ...] = ()  # for each hole: the file whose content it is, "" for a literal of the program


def template_of(script: str) -> Template | None:
    """The template of a program; files that it reads but nobody wrote become holes too. None without any hole."""
    text = "\n".join(line for line in script.splitlines() if line not in FOLDER)
    tree = parse(text)
    if tree is None or "http.server" in text:
        return None
    files = list(dict.fromkeys(name for name in _read_files(tree)))[:2]
    nodes = [node for node in _literals(tree) if not (isinstance(node, ast.Constant) and node.value in files)]
    nodes = sorted(nodes, key=_weight)[: MOST_HOLES - len(files)]
    if not nodes and not files:
        return None
    nodes.sort(key=lambda node: (node.lineno, node.col_offset))
    values = [repr("")] * len(files) + [ast.get_source_segment(text, node) or ast.unparse(node) for node in nodes]
    text = _cut(text, nodes, len(files))
    head = "".join(_writing(name, f"DATA_{number}") for number, name in enumerate(files))
    return Template(text=_below_future(text, head), values=tuple(values), files=(*files, *[""] * len(nodes)))


def _weight(node: ast.expr) -> tuple[bool, int]:
    """Texts with several lines and collections come first, then what stands later."""
    text = isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" in node.value
    return (not (text or not isinstance(node, ast.Constant)), -node.lineno)


def _read_files(tree: ast.Module) -> Iterator[str]:
    """Names of files that the program mentions as a whole literal and never opens for writing."""
    written = {
        node.value
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and any(isinstance(a, ast.Constant) and a.value in {"w", "wb", "a", "x"} for a in call.args)
        for node in ast.walk(call)
        if isinstance(node, ast.Constant)
    }
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and _callee(call) in _READERS and call.args:
            node = call.args[0]
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in written:
                name = node.value
                if _FILE_NAME.match(name) and not name.startswith("/") and ".." not in name:
                    yield name


def _callee(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _literals(tree: ast.AST) -> Iterator[ast.expr]:
    """The largest literal expressions that are data: no docstrings, no names of modes, encodings or attributes."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.If, ast.Assert)) and not isinstance(
            node, ast.If
        ):
            continue
        if isinstance(node, ast.If) and "__name__" in ast.dump(node.test):
            stack.extend(node.body)
            continue
        if isinstance(node, ast.expr) and _is_data(node):
            yield node
            continue
        if isinstance(node, ast.Compare):
            continue
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.Call):
            children = [
                node.func,
                *([] if _callee(node) in _NOT_DATA else node.args),
                *(k.value for k in node.keywords if k.arg not in _SETTINGS),
            ]
            if _callee(node) in _NOT_DATA:
                children += [a for a in node.args if not isinstance(a, ast.Constant)]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            children = list(node.body)
        elif isinstance(node, ast.AnnAssign):
            children = [node.value] if node.value else []
        stack.extend(reversed(children))


def _is_data(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant) and (node.value is None or node.value is Ellipsis):
        return False
    if not isinstance(node, (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.UnaryOp, ast.BinOp)):
        return False
    if isinstance(getattr(node, "ctx", None), ast.Store):
        return False
    return literal(node)


def literal(node: ast.AST) -> bool:
    """Whether an expression is made of literals only (`float('nan')` and its like count)."""
    match node:
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value="nan" | "inf" | "-inf")], keywords=[]):
            return True
        case ast.Call(func=ast.Name(id="set"), args=[], keywords=[]):
            return True
        case ast.Constant(value=value):
            return value is not Ellipsis
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return all(literal(item) for item in items)
        case ast.Dict(keys=keys, values=items):
            return all(key is not None and literal(key) for key in keys) and all(literal(item) for item in items)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return isinstance(operand, ast.Constant)
        case ast.BinOp(left=ast.Constant(value=str() | bytes()), op=ast.Add() | ast.Mult(), right=ast.Constant()):
            return True
    return False


def _cut(text: str, nodes: Sequence[ast.expr], first: int) -> str:
    """The text with each node replaced by its hole's name (columns of the tree count UTF-8 bytes)."""
    lines = [line.encode() for line in text.split("\n")]
    for number, node in reversed(list(enumerate(nodes))):
        last, end = (node.end_lineno or node.lineno) - 1, node.end_col_offset or 0
        tail = lines[last][end:]
        head = lines[node.lineno - 1][: node.col_offset]
        lines[node.lineno - 1 : last + 1] = [head + f"DATA_{first + number}".encode() + tail]
    return b"\n".join(lines).decode()


def _writing(name: str, value: str) -> str:
    folder = name.rpartition("/")[0]
    make = f"import os\nos.makedirs({folder!r}, exist_ok=True)\n" if folder else ""
    return f'{make}with open({name!r}, "w", encoding="utf-8", newline="") as written:\n    written.write({value})\n'


def _below_future(text: str, head: str) -> str:
    lines = text.splitlines()
    cut = next((n + 1 for n in range(len(lines) - 1, -1, -1) if lines[n].startswith("from __future__")), 0)
    return "\n".join([*lines[:cut], *head.splitlines(), *lines[cut:]]) + "\n"


# ------------------------------------------------------------------------------------------------------------- filling


def filled(text: str, values: Sequence[str]) -> str:
    """The plain program with these values: short ones in place, long ones as names above. "" when it does not parse."""
    uses_folder = bool(re.search(r"\bfolder\b", text)) or "written.write(DATA_" in text
    definitions: list[str] = []
    words = {}
    for number, value in enumerate(values):
        if len(value) > _INLINE and f"DATA_{number}" in text:
            name = "document" if not definitions else f"document_{len(definitions) + 1}"
            definitions.append(f"{name} = {_laid_out(value)}")
            words[number] = name
        else:
            words[number] = value
    body = _HOLE.sub(lambda found: words.get(int(found[1]), found[0]), text)
    setup = [*FOLDER_IMPORTS, *FOLDER, "os.chdir(folder)"] if uses_folder else []
    script = _below_future(body, "\n".join([*setup, *definitions]))
    return script if parse(script) is not None else ""


def _laid_out(value: str) -> str:
    """A text of several lines as one literal per line, for reading; other values as they are."""
    try:
        text = ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return value
    if not isinstance(text, str) or "\n" not in text:
        return value
    return "(\n" + "".join(f"    {line!r}\n" for line in text.splitlines(keepends=True)) + ")"
