# ruff: noqa: E501 - tables of names
"""Values for parameters and variables of which only a name, an annotation or a use is known; likely ones first.

A value is Python text. Where it needs something around it (a file, a directory, a listening server) that comes along as
set-up lines, which end with the program: nothing stays behind.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rebug.ports import Parameter
from rebug.propose.literals import Literals

FOLDER = ("folder = tempfile.mkdtemp()", "atexit.register(shutil.rmtree, folder, ignore_errors=True)")
FOLDER_IMPORTS = ("import atexit", "import os", "import shutil", "import tempfile")
SERVER = (
    "class Answer(http.server.BaseHTTPRequestHandler):",
    "    def do_GET(self):",
    "        self.send_response(200)",
    '        self.send_header("Content-Length", "2")',
    "        self.end_headers()",
    '        self.wfile.write(b"{}")',
    "    do_POST = do_PUT = do_GET",
    "    def log_message(self, *args):",
    "        pass",
    'server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)',
    "threading.Thread(target=server.serve_forever, daemon=True).start()",
)
SERVER_IMPORTS = ("import http.server", "import threading")


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One way to make a value."""

    expression: str
    setup: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()


def texts(name: str, known: Literals) -> list[str]:
    """Texts for a parameter of this name: the report's data, what it quotes, and at last a plain word."""
    data = list(known.data[:3]) if re.search(r"data|text|content|source|string|doc|src|raw|body|payload", name) else []
    return list(dict.fromkeys([*data, *known.quoted[:4], *known.spans[:3], "a"]))


def _plain(*expressions: str) -> list[Made]:
    return [Made(expression=e) for e in expressions]


def _file(name: str, known: Literals) -> Made:
    """A path in a directory of its own; the file exists when the report gives something to put into it."""
    filename = next(iter(known.files), f"{name or 'data'}.txt")
    lines = [*FOLDER, f"{name} = os.path.join(folder, {filename!r})"]
    if known.data:
        lines += [f'with open({name}, "w", encoding="utf-8") as written:', f"    written.write({known.data[0]!r})"]
    return Made(expression=name, setup=tuple(lines), imports=FOLDER_IMPORTS)


def _zip(name: str, known: Literals) -> Made:
    """A zip file whose members have the names of files that the report gives."""
    members = [
        text for text in (*known.quoted, *known.spans) if re.fullmatch(r"[^\s()]*[\w/]\.[a-z0-9]{1,5}|\S*/\S*", text)
    ]
    lines = [
        *FOLDER,
        f"{name} = os.path.join(folder, 'archive.zip')",
        f"with zipfile.ZipFile({name}, 'w') as written:",
        f"    for member in {members[:6] or ['a.txt', 'b/c.txt']!r}:",
        "        written.writestr(member, 'a')",
    ]
    return Made(expression=name, setup=tuple(lines), imports=(*FOLDER_IMPORTS, "import zipfile"))


def _folder() -> Made:
    return Made(expression="folder", setup=FOLDER, imports=FOLDER_IMPORTS)


def _server() -> Made:
    url = 'f"http://127.0.0.1:{server.server_address[1]}/"'
    return Made(expression=url, setup=SERVER, imports=SERVER_IMPORTS)


_NAMES: tuple[tuple[str, str], ...] = (
    (r"(^|_)(dir|directory|folder|root|basedir|cwd)$", "folder"),
    (r"(^|_)(archive|zip|zip_?(file|path|archive)|zf)$", "zip"),
    (r"(path|file|filename|fname|filepath|dest|destination)$|_file$|^file_", "file"),
    (r"(^|_)(fp|fh|stream|f|buffer|buf|fileobj|infile|outfile)$", "stream"),
    (r"(url|uri|endpoint|base_url|href|link)$", "url"),
    (r"(^|_)(host|hostname|address|addr)$", "host"),
    (r"(^|_)(bytes|blob|chunk|raw|packet|buff)$|_bytes$", "bytes"),
    (r"(callback|func|function|fn|hook|handler|factory|key_func|predicate|callable)$|^on_", "function"),
    (r"(^|_)(n|count|size|limit|num|number|index|idx|i|width|height|length|depth|level|max|min|port|year|day|month|start|stop|end|step)$|^(n|num|max|min)_", "int"),
    (r"(timeout|delay|interval|ratio|rate|seconds|amount|price|tolerance)$", "float"),
    (r"^(is|has|use|with|allow|enable|disable|no|should|force|strict|ignore|skip|include|keep)_|flag$|^(strict|verbose|force|recursive|quiet|debug)$", "bool"),
    (r"(items|values|list|args|rows|names|keys|elements|records|fields|columns|paths|sequence|iterable|data_list)$|_list$", "list"),
    (r"(mapping|options|kwargs|dict|headers|params|config|settings|context|env|environ|attrs|metadata|extra|meta|document|obj|payload|json|schema)$", "dict"),
    (r"(date|datetime|when|timestamp|dt|now)$", "datetime"),
    (r"(cls|klass|type|class_|typ)$", "type"),
    (r"(exc|exception|error|err)$", "exception"),
    (r"(pattern|regex|regexp)$", "pattern"),
    (r"(locale|lang|language)$", "locale"),
    (r"(encoding|charset)$", "encoding"),
)  # fmt: skip


def kind_by_name(name: str) -> str:
    """What a parameter of this name usually takes; "text" when the name says nothing."""
    lowered = name.lower().strip("_")
    return next((kind for pattern, kind in _NAMES if re.search(pattern, lowered)), "text")


def of_kind(kind: str, name: str, known: Literals) -> list[Made]:
    """Values of one kind, likely ones first, boundary values last."""
    match kind:
        case "text":
            return _plain(*map(repr, texts(name, known)), "''", "'é ü 日本'")
        case "bytes":
            given = [repr(t.encode("utf-8", "surrogatepass")) for t in texts(name, known)]
            return _plain(*given, "b''", "b'\\xff\\x00'")
        case "int":
            numbers = [n for n in known.numbers if "." not in n and not re.match(r"-?0\d", n)]
            return _plain(*numbers[:3], "1", "2", "10", "0", "-1", "10**12")
        case "float":
            return _plain(*known.numbers[:3], "1.0", "0.1", "0", "-1.0", "1e300", "float('nan')")
        case "list":
            return _plain(repr(list(known.quoted[:3]) or ["a", "b"]), "[1, 2, 3]", "[]", "[None]", "[[1, 2], [3, 4]]")
        case "dict":
            first = known.quoted[0] if known.quoted else "a"
            return _plain(repr({first: 1}), "{}", "{'a': {'b': [1, 2]}}", "{'a': None}")
        case "file":
            return [_file(name if name.isidentifier() else "path", known)]
        case "folder":
            return [_folder()]
        case "zip":
            return [_zip(name, known)]
        case "stream":
            return _streams(name, known)
        case "url":
            given = [q for q in (*known.spans, *known.quoted) if re.match(r"[a-z]{2,10}://", q)]
            return [*_plain(*map(repr, given[:2])), _server(), *_plain("'http://127.0.0.1/a?b=c#d'", "'/'")]
    return _rare(kind)


def _streams(name: str, known: Literals) -> list[Made]:
    text = next(iter(texts(name, known)))
    made = [f"io.StringIO({text!r})", f"io.BytesIO({text.encode('utf-8', 'surrogatepass')!r})"]
    return [Made(expression=e, imports=("import io",)) for e in made]


_RARE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "bool": (("True", "False"), ()),
    "none": (("None",), ()),
    "tuple": (("('a', 1)", "()", "(1, 2)"), ()),
    "set": (("{'a', 'b'}", "set()"), ()),
    "function": (("lambda *args, **kwargs: args[0] if args else None", "print", "str"), ()),
    "host": (("'127.0.0.1'", "'localhost'"), ()),
    "datetime": (
        ("datetime.datetime(2024, 2, 29, 12, 30)", "datetime.date(2024, 2, 29)",
         "datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)"),
        ("import datetime",),
    ),
    "date": (("datetime.date(2024, 2, 29)", "datetime.date(1, 1, 1)"), ("import datetime",)),
    "time": (("datetime.time(12, 30)",), ("import datetime",)),
    "timedelta": (("datetime.timedelta(days=1)", "datetime.timedelta(0)", "-datetime.timedelta(hours=1)"), ("import datetime",)),
    "decimal": (("decimal.Decimal('1.50')", "decimal.Decimal('NaN')"), ("import decimal",)),
    "fraction": (("fractions.Fraction(1, 3)",), ("import fractions",)),
    "uuid": (("uuid.UUID(int=1)",), ("import uuid",)),
    "pattern": (("re.compile('a+')", "'a+'"), ("import re",)),
    "path": (("pathlib.Path('a.txt')",), ("import pathlib",)),
    "type": (("int", "str", "dict", "list[int]"), ()),
    "exception": (("ValueError('a')",), ()),
    "locale": (("'en'", "'de_DE'", "'nl'"), ()),
    "encoding": (("'utf-8'", "'latin-1'"), ()),
}  # fmt: skip


def _rare(kind: str) -> list[Made]:
    expressions, imports = _RARE.get(kind, (("None", "object()"), ()))
    return [Made(expression=e, imports=imports) for e in expressions]


# --------------------------------------------------------------------------------------------------------- annotations

_TYPES = {
    "str": "text", "AnyStr": "text", "Text": "text", "LiteralString": "text", "bytes": "bytes", "bytearray": "bytes",
    "memoryview": "bytes", "Buffer": "bytes", "ReadableBuffer": "bytes", "int": "int", "SupportsInt": "int", "SupportsIndex": "int", "float": "float", "complex": "float",
    "Number": "float", "Real": "float", "bool": "bool", "None": "none", "list": "list", "List": "list",
    "Sequence": "list", "Iterable": "list", "Collection": "list", "MutableSequence": "list", "Iterator": "list",
    "Generator": "list", "tuple": "tuple", "Tuple": "tuple", "set": "set", "Set": "set", "AbstractSet": "set",
    "frozenset": "set", "FrozenSet": "set", "dict": "dict", "Dict": "dict", "Mapping": "dict",
    "MutableMapping": "dict", "OrderedDict": "dict", "Callable": "function", "Path": "file", "PathLike": "file",
    "StrPath": "file", "StrOrBytesPath": "file", "FilePath": "file", "IO": "stream", "TextIO": "stream", "BinaryIO": "stream", "StringIO": "stream",
    "BytesIO": "stream", "TextIOBase": "stream", "datetime": "datetime", "date": "date", "time": "time",
    "timedelta": "timedelta", "Decimal": "decimal", "Fraction": "fraction", "UUID": "uuid", "Pattern": "pattern",
    "type": "type", "Type": "type", "Exception": "exception", "BaseException": "exception",
}  # fmt: skip


def annotation_parts(annotation: str) -> list[ast.expr]:
    """The alternatives of an annotation (`A | B`, `Optional[A]`, `Union[A, B]`); empty when it cannot be read."""
    try:
        node: ast.expr = ast.parse(annotation.strip().strip("\"'"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return list(_alternatives(node, 0))


def _alternatives(node: ast.expr, depth: int) -> Iterator[ast.expr]:
    if depth > 10:
        return
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _alternatives(left, depth + 1)
            yield from _alternatives(right, depth + 1)
        case ast.Subscript(value=head, slice=inner) if last_name(head) in {
            "Optional",
            "Union",
            "Annotated",
            "Final",
            "ClassVar",
        }:
            items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            for item in items[:1] if last_name(head) == "Annotated" else items:
                yield from _alternatives(item, depth + 1)
            if last_name(head) == "Optional":
                yield ast.Constant(value=None)
        case ast.Constant(value=str(text)):
            yield from annotation_parts(text)
        case _:
            yield node


def last_name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Constant(value=None):
            return "None"
        case ast.Subscript(value=value):
            return last_name(value)
    return ""


def of_annotation(node: ast.expr, name: str, known: Literals, depth: int = 0) -> list[Made]:
    """Values of one alternative of an annotation; empty for types that are not known here (the subject's own)."""
    head = last_name(node)
    if head == "Literal" and isinstance(node, ast.Subscript):
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return _plain(*[ast.unparse(item) for item in items])
    if isinstance(node, ast.Subscript) and depth < 3 and (made := _container(head, node.slice, name, known, depth)):
        return made
    kind = _TYPES.get(head)
    if kind == "text" and kind_by_name(name) in {"file", "folder", "url", "host", "locale", "encoding", "pattern"}:
        kind = kind_by_name(name)
    return of_kind(kind, name, known) if kind else []


def _container(head: str, inner: ast.expr, name: str, known: Literals, depth: int) -> list[Made]:
    kind = _TYPES.get(head)
    items = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
    firsts = [next(iter(_first(item, name, known, depth)), None) for item in items[:4]]
    if not firsts or any(first is None for first in firsts) or kind not in {"list", "tuple", "set", "dict"}:
        return []
    made = [first for first in firsts if first is not None]
    body = ", ".join(m.expression for m in made)
    expression = {"list": f"[{body}]", "tuple": f"({body},)", "set": f"{{{body}}}"}.get(kind, "")
    if kind == "dict":
        expression = f"{{{made[0].expression}: {made[-1].expression}}}"
    full = Made(
        expression=expression, setup=sum((m.setup for m in made), ()), imports=sum((m.imports for m in made), ())
    )
    return [full, *_plain({"list": "[]", "tuple": "()", "set": "set()", "dict": "{}"}[kind])]


def _first(node: ast.expr, name: str, known: Literals, depth: int) -> list[Made]:
    for part in _alternatives(node, 0):
        if made := of_annotation(part, name, known, depth + 1):
            return made
    return []


def values(parameter: Parameter, known: Literals) -> list[Made]:
    """Values for a parameter: by its annotation, else by its default's type, else by its name. Never empty."""
    parts = annotation_parts(parameter.annotation) if parameter.annotation else []
    found = [made for part in parts for made in of_annotation(part, parameter.name, known)]
    if not found and parameter.default is not None:
        found = _like_default(parameter, known)
    found = found or of_kind(kind_by_name(parameter.name), parameter.name, known)
    return list(dict.fromkeys(found))


def _like_default(parameter: Parameter, known: Literals) -> list[Made]:
    try:
        value = ast.literal_eval(parameter.default or "")
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return []
    kind = {"str": "text", "bytes": "bytes", "bool": "bool", "int": "int", "float": "float"}.get(type(value).__name__)
    return of_kind(kind, parameter.name, known) if kind else []


def required(parameters: Sequence[Parameter]) -> list[Parameter]:
    """The parameters that a call must give, without self, cls, * and **."""
    return [
        p
        for p in parameters
        if p.default is None and "var_" not in p.kind and p.name not in {"self", "cls", "mcs", "mcls"}
    ]


def merged(made: Sequence[Made]) -> Made:
    """The set-up and imports of several values, each set-up once, and an empty expression."""
    lines: list[str] = []
    for setup in dict.fromkeys(m.setup for m in made):
        shared = len(FOLDER) if setup[: len(FOLDER)] == FOLDER and FOLDER[0] in lines else 0
        lines += setup[shared:]
    return Made(expression="", setup=tuple(lines), imports=tuple(dict.fromkeys(i for m in made for i in m.imports)))


def named(made: Made, name: str) -> Made:
    """The value under a name, as set-up."""
    if made.expression == name:
        return replace(made, expression="")
    return replace(made, expression="", setup=(*made.setup, f"{name} = {made.expression}"))
