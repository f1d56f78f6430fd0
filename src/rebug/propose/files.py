"""Files that a program of a report opens, taken from the report's other blocks."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from rebug.model import Block, BlockKind
from rebug.propose.code import add_imports, parse

_FILE_LIKE = re.compile(r"[\w./\\~:-]*[\w-]\.[A-Za-z][A-Za-z0-9]{0,9}\Z|\.[A-Za-z][\w.-]{1,20}\Z")
_FORMATS = {
    "toml": "toml",
    "ini": "ini cfg conf",
    "yaml": "yaml yml",
    "yml": "yaml yml",
    "json": "json",
    "csv": "csv tsv",
    "xml": "xml svg",
    "html": "html htm",
    "sql": "sql",
    "md": "md",
    "markdown": "md",
    "rst": "rst",
    "txt": "txt",
    "text": "txt log",
    "env": "env",
    "dotenv": "env",
    "python": "py",
    "py": "py",
}
_OPENERS = re.compile(r"open|Path|read|load|parse|from_|file|File|import|path")


def opened_names(program: str) -> list[str]:
    """Literals in a program that name files which it reads, in order of appearance."""
    tree = parse(program)
    if tree is None:
        return []
    names: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _OPENERS.search(ast.unparse(node.func)) and not _writes(node):
            arguments = [*node.args[:2], *(k.value for k in node.keywords)]
            for argument in arguments:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and len(argument.value) < 200:
                    names.update({argument.value: None} if _FILE_LIKE.match(argument.value) else {})
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            value = node.value.value
            named = any(re.search(r"file|path|FILE|PATH", ast.unparse(t)) for t in node.targets)
            if named and isinstance(value, str) and len(value) < 200 and _FILE_LIKE.match(value):
                names[value] = None
    return list(names)


def _writes(call: ast.Call) -> bool:
    mode = call.args[1] if len(call.args) > 1 else None
    return isinstance(mode, ast.Constant) and isinstance(mode.value, str) and mode.value[:1] in {"w", "x", "a"}


def content_for(name: str, blocks: Sequence[Block]) -> Block | None:
    """The block that most likely is the file of this name: by its name first, then by its format."""
    base = re.split(r"[/\\]", name)[-1]
    for block in blocks:
        if block.filename and re.split(r"[/\\]", block.filename)[-1] == base:
            return block
    mentioned = [b for b in blocks if base in b.lead or base in b.text.partition("\n")[0]]
    data = [b for b in blocks if b.kind in {BlockKind.CONFIG, BlockKind.DATA, BlockKind.OTHER, BlockKind.OUTPUT}]
    for block in mentioned:
        if block in data:
            return block
    extension = base.rpartition(".")[2].lower()
    fitting = [b for b in data if extension in _FORMATS.get(b.language, "").split()]
    likely = fitting or [b for b in data if b.kind in {BlockKind.CONFIG, BlockKind.DATA} and _looks_like(b, extension)]
    return likely[0] if likely else None


def _looks_like(block: Block, extension: str) -> bool:
    text = block.text.lstrip()
    if extension == "json":
        return text.startswith(("{", "["))
    if extension in {"toml", "ini", "cfg", "conf"}:
        return bool(re.search(r"^\s*\[[\w.\"'\[\] -]+\]\s*$|^\s*[\w.\"-]+\s*=", text, re.MULTILINE))
    if extension in {"yaml", "yml"}:
        return bool(re.search(r"^\s*(?:- )?[\w.\"'-]+:(?:\s|$)", text, re.MULTILINE))
    if extension in {"xml", "html", "htm", "svg"}:
        return text.startswith("<")
    if extension in {"csv", "tsv"}:
        return "," in text.partition("\n")[0] or "\t" in text.partition("\n")[0]
    return not block.language


def files_for(program: str, blocks: Sequence[Block]) -> dict[str, str]:
    """File name → content, for every file that a program opens or imports and that the report holds."""
    found: dict[str, str] = {}
    for name in opened_names(program):
        block = content_for(name, blocks)
        if block is not None and block.text not in program:
            found[name] = block.text
    tree = parse(program)
    imported = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module} if tree else set()
    imported |= {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names} if tree else set()
    for block in blocks:
        base = block.filename.rpartition("/")[2]
        if base.endswith(".py") and base[:-3] in imported and block.text not in program:
            found[base] = block.text
    return found


def with_files(script: str, files: Mapping[str, str]) -> str:
    """The script run in a directory of its own that holds these files. Directories in the names are flattened."""
    if not files:
        return script
    lines = ["_directory = tempfile.TemporaryDirectory()", "os.chdir(_directory.name)"]
    if any(name.endswith(".py") for name in files):
        lines.append("sys.path.insert(0, _directory.name)")
    text = script
    for name, content in files.items():
        base = relative(name)
        if base != name:
            text = text.replace(repr(name), repr(base)).replace(f'"{name}"', f'"{base}"')
        if "/" in base:
            lines.append(f"os.makedirs({base.rpartition('/')[0]!r}, exist_ok=True)")
        lines.append(f"with open({base!r}, 'w', encoding='utf-8') as _file:\n    _file.write({quoted(content)})")
    imports = ["import os", "import tempfile", *(["import sys"] if any("sys.path" in line for line in lines) else [])]
    return add_imports(put_first(text, "\n".join(lines) + "\n"), imports)


def relative(name: str) -> str:
    """A file name within the working directory: absolute and parent parts are dropped."""
    flat = name.replace("\\", "/")
    if flat.startswith(("/", "~")) or ":" in flat[:3] or ".." in flat.split("/"):
        return flat.rpartition("/")[2]
    return flat.removeprefix("./")


def quoted(text: str) -> str:
    """Python source of a text: over several lines where that reads better."""
    printable = all(c.isprintable() or c == "\n" for c in text)
    if "\n" not in text.strip("\n") or not printable or "\\" in text or '"""' in text or text.endswith('"'):
        return repr(text)
    return f'"""\\\n{text}"""'


def put_first(script: str, lines: str) -> str:
    """The script with statements put before its own, after `from __future__` and the docstring."""
    marker = "_here_ = None"
    text = lines.strip("\n")
    if re.search(r"^(?:class|def|async def) ", text, re.MULTILINE):
        text = f"\n\n{text}\n\n"
    return add_imports(script, [marker]).replace(marker, text, 1)
