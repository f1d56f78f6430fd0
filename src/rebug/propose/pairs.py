"""A server and a client of the subject that talk to each other on the loopback interface: found by reading only."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from rebug.ports import Parameter, Situation, Symbol
from rebug.propose.code import import_line_for_symbol, parse
from rebug.propose.synthesis import required
from rebug.propose.workshop import Workshop

_SERVERS = re.compile(r"(?:serve|start_server|create_server|listen|serve_tcp|start_serving|\w*Server)")
_CLIENTS = re.compile(r"connect|open_connection|create_connection|open|dial|connect_tcp|\w*Client")
_HANDLER = re.compile(r"\w*(?:handler|callback|handle|cb|on_connect\w*|app|func|service)\w*")
_ADDRESS = re.compile(r"uri|url|address|addr|host|hostname|endpoint|server_url")
_RECEIVING = ("recv", "receive", "read", "readline", "get", "receive_bytes", "recv_bytes", "read_message")
_SENDING = ("send", "write", "put", "send_bytes", "sendall", "send_message", "write_message")
_CLOSING = ("close", "aclose", "disconnect", "shutdown", "stop")
_STOPPING = ("shutdown", "stop", "close", "aclose")
_SCHEME = re.compile(r"\b([a-z][a-z0-9+.-]{1,9})://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """How one end of a connection is spoken to: the names of its methods, "" for those it does not have."""

    receive: str = ""
    send: str = ""
    close: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A way to serve and a way to connect, as expressions; `port` and `listener` are names they may use."""

    imports: tuple[str, ...]
    serve: str
    connect: str
    served: Ends
    client: Ends
    asynchronous: bool = False
    server_enters: bool = True  # it is a context manager; else it is closed by `stop`
    client_enters: bool = True
    awaited: tuple[bool, bool] = (False, False)  # whether the calls that serve and connect are coroutines
    stop_awaited: bool = False
    forever: str = ""  # the server's method that serves until it is stopped, "" when serving has begun already
    stop: str = ""


def pairs(workshop: Workshop) -> Iterator[Pair]:
    """The pairs of the subject, those of the reported files first, then those closest to each other."""
    index = workshop.situation.index
    usable = [s for s in index.symbols if s.kind in {"function", "class"} and s.public and "test" not in s.file]
    servers = [s for s in usable if _SERVERS.fullmatch(s.name) and _handler(_parameters(workshop, s)) is not None]
    clients = [s for s in usable if _CLIENTS.fullmatch(s.name) and _address(_parameters(workshop, s)) is not None]
    near = _folders(workshop.situation)
    ways = [(s, c) for s, c in product(servers[:20], clients[:20]) if _package(s) == _package(c) or len(clients) == 1]
    for server, client in sorted(ways, key=lambda way: _rank(way, near)):
        if made := _pair(workshop, server, client):
            yield made


def _rank(way: tuple[Symbol, Symbol], near: Counter[str]) -> tuple[int, bool, int]:
    """The reported folders first; of one folder, functions before the classes that they are made for."""
    return -sum(near[_folder(symbol)] for symbol in way), way[0].kind == "class", way[0].line


def _package(symbol: Symbol) -> str:
    return symbol.module.rpartition(".")[0] or symbol.module


def _folder(symbol: Symbol) -> str:
    return symbol.file.rpartition("/")[0].rpartition("/")[2]


def _folders(situation: Situation) -> Counter[str]:
    """How often a directory of the subject stands in the report's stacks and names."""
    stacks = [situation.symptom.failure, *situation.report.failures]
    files = [frame.file for failure in stacks if failure for frame in failure.frames]
    found = Counter(file.replace("\\", "/").rpartition("/")[0].rpartition("/")[2] for file in files)
    for name in situation.symptom.suspects:
        found.update(name.split(".")[:-1])
    return found


def _parameters(workshop: Workshop, symbol: Symbol) -> list[Parameter]:
    listed = workshop.constructor(symbol) if symbol.kind == "class" else symbol.parameters
    return [p for p in listed if p.name not in {"self", "cls"}]


def _handler(parameters: list[Parameter]) -> Parameter | None:
    return next((p for p in parameters if "Callable" in p.annotation or _HANDLER.fullmatch(p.name)), None)


def _address(parameters: list[Parameter]) -> Parameter | None:
    return next((p for p in parameters if _ADDRESS.fullmatch(p.name)), None)


def _pair(workshop: Workshop, server: Symbol, client: Symbol) -> Pair | None:
    given, asked = _parameters(workshop, server), _parameters(workshop, client)
    handler, address = _handler(given), _address(asked)
    if handler is None or address is None:
        return None
    imports = tuple(line for s in (server, client) if (line := import_line_for_symbol(s)))
    serve = _call(server.name, given, {handler.name: "handler", **_where(given)})
    connect = _call(client.name, asked, {address.name: _reached(workshop, client, address), **_port(asked)})
    running, connected = _given_class(workshop, server), _given_class(workshop, client)
    accepted = next(
        (c for name in re.findall(r"\w+", handler.annotation) for c in _class(workshop, name, server)), None
    )
    asynchronous = _asynchronous(workshop, server, running)
    if (
        len(imports) < 2
        or not serve
        or not connect
        or connected is None
        or asynchronous != _asynchronous(workshop, client, connected)
    ):
        return None
    forever = _method(workshop, running, ("serve_forever",)) if not asynchronous else ""
    stop = _method(workshop, running, _STOPPING)
    return Pair(
        imports=imports,
        serve=serve,
        connect=connect,
        served=_ends(workshop, accepted or connected),
        client=_ends(workshop, connected),
        asynchronous=asynchronous,
        server_enters=_enters(workshop, running, asynchronous=asynchronous),
        client_enters=_enters(workshop, connected, asynchronous=asynchronous),
        awaited=(server.is_async, client.is_async),
        stop_awaited=running is not None and bool(stop) and (_find(workshop, running, stop) or running).is_async,
        forever=forever,
        stop=stop,
    )


def _where(parameters: list[Parameter]) -> dict[str, str]:
    """Arguments that have a server listen on a port of its own: by a socket bound already where it takes one."""
    names = {p.name for p in parameters}
    taken = next((name for name in ("sock", "socket", "listener") if name in names), "")
    if taken:
        return {taken: "listener"}
    return {p.name: "'127.0.0.1'" for p in parameters if p.name in {"host", "hostname"}} | _port(parameters)


def _port(parameters: list[Parameter]) -> dict[str, str]:
    return {"port": "port"} if any(p.name == "port" for p in parameters) else {}


def _call(name: str, parameters: list[Parameter], values: dict[str, str]) -> str:
    """The call with these arguments, "" where another one is needed."""
    if any(p.name not in values for p in required(parameters)):
        return ""
    values = {**{p.name: "1" for p in parameters if _patience(p)}, **values}
    written = [
        values[p.name] if p.default is None and "positional" in p.kind else f"{p.name}={values[p.name]}"
        for p in parameters
        if p.name in values
    ]
    return f"{name}({', '.join(written)})"


def _patience(parameter: Parameter) -> bool:
    """Whether a parameter is a time limit of some seconds; what waits for good is told sooner with a lower one."""
    return parameter.name.endswith("timeout") and bool(re.fullmatch(r"\d+(\.\d+)?", parameter.default or ""))


def _reached(workshop: Workshop, client: Symbol, address: Parameter) -> str:
    """The address of the server, with the scheme that the client's module speaks of most often."""
    if "host" in address.name or address.name in {"addr", "address"}:
        return "('127.0.0.1', port)" if "uple" in address.annotation else "'127.0.0.1'"
    text = workshop.situation.index.text(client.file)
    schemes = Counter(scheme for scheme in _SCHEME.findall(text[:400_000]) if scheme != "https")
    scheme = next((name for name, _ in schemes.most_common() if name != "http" or len(schemes) == 1), "http")
    plain = scheme[:-1] if scheme.endswith("s") and scheme[:-1] in schemes else scheme
    return f"f'{plain}://127.0.0.1:{{port}}/'"


# -------------------------------------------------------------------------------------------------------------- classes


def _given_class(workshop: Workshop, symbol: Symbol) -> Symbol | None:
    """The class whose instances a function gives (by its annotation), or the class itself."""
    if symbol.kind == "class":
        return symbol
    node = _definition(workshop, symbol)
    returns = ast.unparse(node.returns) if node is not None and node.returns else ""
    return next((c for name in re.findall(r"\w+", returns) for c in _class(workshop, name, symbol)), None)


def _class(workshop: Workshop, name: str, beside: Symbol) -> list[Symbol]:
    """The class of that name, the one in the same module or package first."""
    found = workshop.classes().get(name, [])
    return sorted(found, key=lambda s: (s.module != beside.module, _package(s) != _package(beside)))[:1]


def _definition(workshop: Workshop, symbol: Symbol) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    tree = parse(workshop.situation.index.text(symbol.file))
    nodes = ast.walk(tree) if tree else ()
    return next(
        (
            node
            for node in nodes
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name == symbol.name
            and symbol.line <= node.lineno <= symbol.end_line
        ),
        None,
    )


def _asynchronous(workshop: Workshop, symbol: Symbol, given: Symbol | None) -> bool:
    return symbol.is_async or (given is not None and _find(workshop, given, "__aenter__") is not None)


def _enters(workshop: Workshop, given: Symbol | None, *, asynchronous: bool) -> bool:
    return given is None or _find(workshop, given, "__aenter__" if asynchronous else "__enter__") is not None


def _find(workshop: Workshop, owner: Symbol, name: str) -> Symbol | None:
    """A method of a class or of its bases in the subject."""
    waiting, seen = [owner], 0
    while waiting and seen < 12:
        current = waiting.pop(0)
        seen += 1
        if found := workshop.method(current, name):
            return found
        waiting += [s for base in current.bases for s in _class(workshop, base.rpartition(".")[2], current)]
    return None


def _method(workshop: Workshop, owner: Symbol | None, names: tuple[str, ...]) -> str:
    return next((name for name in names if owner is not None and _find(workshop, owner, name)), "")


def _ends(workshop: Workshop, owner: Symbol) -> Ends:
    receive, send, close = (_method(workshop, owner, names) for names in (_RECEIVING, _SENDING, _CLOSING))
    return Ends(receive=receive, send=send, close=close)
