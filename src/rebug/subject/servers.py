"""Servers in a subject: how they are started, what they answer to, and what their messages hold; by reading only.

Frameworks differ in how a route is written down, but everywhere a path stands as a text beside the function that
answers it: in a decorator, in a call that adds a route, in a table, or in a comparison.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rebug.ports import Index
from rebug.subject.messages import Key, Program, keys_in, variants

_LARGEST = 400_000  # characters of a file
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_SIGNS = re.compile(
    r"\b(?:start_server|create_server|HTTPServer|run_app|serve_forever|TCPSite|make_server|run_simple|TCPServer"
    r"|WSGIServer|uvicorn\.(?:run|Server|Config)|hypercorn|gunicorn|app\.run|\.listen)\b"
)
_ASGI = {"FastAPI", "Starlette", "Quart", "Litestar", "BlackSheep", "Falcon"}
_WSGI = {"Flask", "Bottle", "Pyramid", "API", "App"}
_ADDERS = {
    "route",
    "api_route",
    "add_route",
    "add_url_rule",
    "add_api_route",
    "Route",
    "HTTPRoute",
    "url",
    "add_resource",
}
_SOCKETS = {"websocket", "websocket_route", "add_websocket_route", "add_api_websocket_route", "WebSocketRoute", "ws"}

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One way to start a server: as the `load` instrument takes it."""

    target: str  # "module", run as a program, or "module:name", called or served
    how: str = ""  # asgi | wsgi | aiohttp for an application object
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One thing that a client can ask for; `method` is "WS" for a message on a websocket."""

    method: str
    path: str
    keys: tuple[Key, ...] = ()
    words: frozenset[str] = frozenset()  # of its path, its handler's name and first line of documentation, its kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """All that was found, the likeliest first."""

    servers: tuple[Server, ...] = ()
    routes: tuple[Route, ...] = ()
    sockets: tuple[str, ...] = ()  # paths of websockets
    names: tuple[str, ...] = ()  # keys of tables of functions: what clients may name


def served(index: Index, scripts: Mapping[str, str] | None = None) -> Served:
    """The servers and routes of the subject's own modules. `scripts`: its console scripts, name → "module:function"."""
    program = Program(_modules(index))
    if not any(_SIGNS.search(text) or "app" in text for text in program.texts.values()):
        return Served()
    routes: list[Route] = []
    sockets: list[str] = []
    for tree in program.trees.values():
        for method, path, body, handler in _entries(tree, program):
            if "{" in path or "<" in path or not path.startswith("/"):
                continue
            if method == "WS":
                sockets.append(path)
                routes += _messages(path, body, program)
            else:
                keys = keys_in(body, program) if method != "GET" else ()
                routes.append(Route(method=method, path=path, keys=keys, words=_words(path, handler, body)))
    return Served(
        servers=tuple(_distinct(_servers(program, scripts or {}))),
        routes=tuple(_distinct(routes)),
        sockets=tuple(dict.fromkeys(sockets)),
        names=tuple(dict.fromkeys(program.registered())),
    )


def _modules(index: Index) -> dict[str, str]:
    found = {symbol.module: symbol.file for symbol in index.symbols if symbol.kind == "module"}
    return {module: text for module, file in found.items() if 0 < len(text := index.text(file)) < _LARGEST}


def _distinct(items: Iterable[_T]) -> list[_T]:
    return list(dict.fromkeys(items))


# -------------------------------------------------------------------------------------------------------------- routes

_Entry = tuple[str, str, Sequence[ast.AST], str]  # method, path, what answers it, its name


def _entries(tree: ast.Module, program: Program) -> Iterator[_Entry]:
    yield from _compared(tree, program, "")
    for node in ast.walk(tree):
        if isinstance(node, _Function):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call):
                    yield from _added(decorator, [node], node.name)
        elif isinstance(node, ast.Call) and len(node.args) > 1:
            handler = next((name for arg in node.args[1:] if (name := _last_name(arg)) in program.functions), "")
            yield from _added(node, program.functions.get(handler, ()), handler) if handler else ()
        elif isinstance(node, ast.Dict):
            yield from _tabled(node, program)


def _added(call: ast.Call, body: Sequence[ast.AST], name: str) -> Iterator[_Entry]:
    """What `@app.get("/x")`, `router.add_post("/x", handler)`, `Route("/x", handler)` and their like add."""
    verb = _last_name(call.func).removeprefix("add_")
    texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    path = next((text for text in texts if text.startswith("/")), "")
    if not path:
        return
    socket = verb in _SOCKETS or f"add_{verb}" in _SOCKETS or _speaks_websocket(body)
    methods = [text.upper() for text in texts if text.upper() in _METHODS]
    for keyword in call.keywords:
        if keyword.arg == "methods":
            methods = [text for text in _texts(keyword.value) if text.upper() in _METHODS]
    if socket:
        yield "WS", path, body, name
    elif verb.upper() in _METHODS:
        yield verb.upper(), path, body, name
    elif verb in _ADDERS or f"add_{verb}" in _ADDERS:
        for method in methods or ["GET"]:
            yield method.upper(), path, body, name


def _tabled(table: ast.Dict, program: Program) -> Iterator[_Entry]:
    """`{("GET", "/x"): handler}` and `{"/x": handler}`."""
    for key, value in zip(table.keys, table.values, strict=True):
        name = _last_name(value)
        texts = _texts(key) if key is not None else []
        path = next((text for text in texts if text.startswith("/")), "")
        if path and name in program.functions:
            body = program.functions[name]
            method = next((text.upper() for text in texts if text.upper() in _METHODS), "")
            yield _method(method, path, body, program), path, body, name


def _compared(node: ast.AST, program: Program, method: str) -> Iterator[_Entry]:
    """`if method == "POST" and path == "/x": …`, and the same by `match`; `method` is that of the tests around."""
    for child in ast.iter_child_nodes(node):
        inner = method
        if isinstance(child, _Function) and child.name.startswith("do_") and child.name[3:] in _METHODS:
            inner = child.name[3:]
        if isinstance(child, ast.If | ast.match_case):
            test = child.test if isinstance(child, ast.If) else child.pattern
            texts = _compared_texts(test)
            inner = next((text for text in texts if text in _METHODS), method)
            for path in (text for text in texts if re.fullmatch(r"/[\w./-]{0,80}", text)):
                name = next((name for part in child.body for name in program.called(part)), "")
                yield _method(inner, path, child.body, program), path, child.body, name
        yield from _compared(child, program, inner)


def _compared_texts(test: ast.AST) -> list[str]:
    found: list[str] = []
    for leaf in ast.walk(test):
        if isinstance(leaf, ast.Compare):
            found += [text for side in (leaf.left, *leaf.comparators) for text in _texts(side)]
        elif isinstance(leaf, ast.MatchValue):
            found += _texts(leaf.value)
        elif isinstance(leaf, ast.Call) and _last_name(leaf.func) == "startswith":
            found += [text for arg in leaf.args for text in _texts(arg)]
    return found


def _method(said: str, path: str, body: Sequence[ast.AST], program: Program) -> str:
    if re.search(r"(?:^|/)(?:ws|websockets?|sockets?)$", path) or (not said and _speaks_websocket(body)):
        return "WS"
    return said or ("POST" if keys_in(body, program) else "GET")


def _speaks_websocket(body: Sequence[ast.AST]) -> bool:
    return any(
        isinstance(leaf, ast.Name | ast.Attribute) and "websocket" in _last_name(leaf).lower()
        for part in body
        for leaf in ast.walk(part)
    )


def _messages(path: str, body: Sequence[ast.AST], program: Program) -> Iterator[Route]:
    for kind, keys, name in variants(body, program):
        yield Route(method="WS", path=path, keys=keys, words=_words(f"{path} {kind}", name, ()))


def _words(path: str, name: str, body: Sequence[ast.AST]) -> frozenset[str]:
    docs = [ast.get_docstring(part) or "" for part in body if isinstance(part, _Function)]
    text = " ".join([path, name.replace("_", " "), *(doc.partition("\n")[0] for doc in docs)])
    return frozenset(word.lower() for word in re.findall(r"[A-Za-z]{2,30}", text))


def _texts(node: ast.AST) -> list[str]:
    return [leaf.value for leaf in ast.walk(node) if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str)]


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


# ------------------------------------------------------------------------------------------------------------- servers


def _servers(program: Program, scripts: Mapping[str, str]) -> Iterator[Server]:
    """Programs that serve, best first: with the server in the same file, then those that lead to one."""
    serving = {module for module, text in program.texts.items() if _SIGNS.search(text)}
    guarded = [module for module, tree in program.trees.items() if _is_program(tree, module)]
    for module in sorted(guarded, key=lambda module: (module not in serving, module.count("."), len(module))):
        if module in serving or any(_imports(program.trees[module], other) for other in serving):
            yield Server(target=module, arguments=_arguments(program.texts[module]))
    for target in scripts.values():
        module = target.partition(":")[0]
        if module in serving or (module in program.trees and any(_imports(program.trees[module], m) for m in serving)):
            yield Server(target=target.replace(" ", ""), arguments=_arguments(program.texts.get(module, "")))
    for module, tree in program.trees.items():
        for node in tree.body:
            yield from _served_by(node, module)


def _is_program(tree: ast.Module, module: str) -> bool:
    guard = any(isinstance(node, ast.If) and "__name__" in ast.unparse(node.test) for node in tree.body)
    return guard or module.endswith("__main__")


def _imports(tree: ast.Module, module: str) -> bool:
    last = module.rpartition(".")[2]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(alias.name == module for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom):
            named = {alias.name for alias in node.names}
            if (node.module or "").rpartition(".")[2] == last or last in named:
                return True
    return False


def _served_by(node: ast.stmt, module: str) -> Iterator[Server]:
    """Applications and functions that serve, at the top level of a module."""
    if isinstance(node, _Function):
        names = [arg.arg for arg in node.args.args]
        required = len(names) - len(node.args.defaults)
        if names == ["scope", "receive", "send"]:
            yield Server(target=f"{module}:{node.name}", how="asgi")
        elif names[:2] == ["environ", "start_response"]:
            yield Server(target=f"{module}:{node.name}", how="wsgi")
        elif _SIGNS.search(ast.unparse(node)) and set(names[:required]) <= {"host", "port", "argv", "args"}:
            yield Server(target=f"{module}:{node.name}")
    elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        kind, name = _last_name(node.value.func), target.id if isinstance(target, ast.Name) else ""
        how = "asgi" if kind in _ASGI else "wsgi" if kind in _WSGI else "aiohttp" if kind == "Application" else ""
        if how and name:
            yield Server(target=f"{module}:{name}", how=how)


def _arguments(text: str) -> tuple[str, ...]:
    return ("--port", "0") if re.search(r"[\"']--port[\"']", text) else ()
