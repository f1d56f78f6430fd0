"""What a script hands to an instrument: the function whose calls it measures. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from rebug.judge.gate import names_of_subject

_KEEPING = {"append", "add", "extend", "insert", "setdefault", "update", "put", "put_nowait", "appendleft"}
_FILLING = _KEEPING | {"push", "register", "subscribe", "connect", "set", "store", "save", "write", "enqueue", "send"}
_DISPLAYS = ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp | ast.Tuple
_CONTAINERS = {"list", "dict", "set", "deque", "defaultdict", "OrderedDict", "Counter", "Queue", "SimpleQueue", "array"}

_BEGINNING = {
    "open",
    "socket",
    "create_task",
    "ensure_future",
    "mkstemp",
    "start",
    "run_in_executor",
    "create_connection",
}
_ENDING = {
    "close", "aclose", "stop", "shutdown", "disconnect", "release", "terminate", "cancel", "dispose", "quit", "join",
    "wait", "kill", "exit", "cleanup", "wait_closed", "gather", "__exit__", "__aexit__", "detach", "unlink",
}  # fmt: skip

Function = ast.FunctionDef | ast.AsyncFunctionDef


def act_of(tree: ast.Module, instrument: str) -> Function | None:
    """The function that the script hands to the instrument's entry function (`leak(act)`), None when that cannot be
    told: it is passed by name, and of one name there is one definition."""
    entries = {instrument, f"{instrument}_async"}
    own = [node for node in tree.body if not (isinstance(node, Function) and node.name in entries)]
    passed = [
        node.args[0].id
        for part in own
        for node in ast.walk(part)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in entries
        and node.args
        and isinstance(node.args[0], ast.Name)
    ]
    functions = [node for node in ast.walk(tree) if isinstance(node, Function) and node.name in passed]
    return functions[0] if len(functions) == 1 and len(set(passed)) == 1 else None


def calls_subject(act: Function, tree: ast.Module, modules: Sequence[str]) -> bool:
    """Whether the function uses a name that came from the subject."""
    return bool(names_of_subject(tree, modules) & _names(act))


def keeps(act: Function, tree: ast.Module) -> str:
    """How the script itself keeps what the function makes, in a container or a variable of its own; "" when it does
    not. Functions of the script that it calls count as its own code."""
    containers = _containers(tree)
    for function in _reached(act, tree):
        local = _bound(function)
        for holder in _stored_into(function, _KEEPING):
            root = _root(holder)
            if root in containers and (root not in local or root in _declared(function)):
                return f"the script itself keeps things in `{root}`"
        for node in ast.walk(function):
            if isinstance(node, ast.Assign | ast.AugAssign) and _grows_on(node, _declared(function)):
                return f"the script itself builds on `{ast.unparse(node).partition('=')[0].strip()}` with every call"
            if isinstance(node, ast.Yield | ast.YieldFrom):
                return "the function that is repeated is a generator"
    return ""


def fills(act: Function, tree: ast.Module) -> str:
    """Which object made outside the function it puts things into, whose growth is then its purpose; "" for none."""
    for function in _reached(act, tree):
        local = _bound(function) - _declared(function)
        for holder in _stored_into(function, _FILLING):
            root = _root(holder)
            if root and root not in local and not root[:1].isupper() and root not in _imported(tree):
                return f"`{root}` is not made anew with each call, so that it may rightly grow with what is put into it"
    return ""


def leaves_open(act: Function, tree: ast.Module) -> str:
    """What the script's own code opens, starts or makes without seeing to its end; "" for nothing."""
    for function in _reached(act, tree):
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
        names = {ast.unparse(node.func).rpartition(".")[2] for node in calls}
        managed = any(
            isinstance(node, ast.With | ast.AsyncWith) and not _suppresses(node) for node in ast.walk(function)
        )
        if managed or names & _ENDING:
            continue
        begun = sorted(name for name in names if name in _BEGINNING or (name[:1].isupper() and name != "Exception"))
        if begun:
            return f"the script calls {begun[0]} and closes nothing"
    return ""


def _suppresses(node: ast.With | ast.AsyncWith) -> bool:
    return all("suppress" in ast.unparse(item.context_expr) for item in node.items)


def stands_in(act: Function, text: str) -> bool:
    """Whether every statement of the function that calls something stands in the text, white space and quotes aside."""
    plain = _plain(text)
    simple = [
        node
        for node in ast.walk(act)
        if isinstance(node, ast.Expr | ast.Assign | ast.Return) and any(isinstance(x, ast.Call) for x in ast.walk(node))
    ]
    wanted = [_plain(ast.unparse(node)) for node in simple if "_numbers" not in ast.unparse(node)]
    return bool(wanted) and all(len(one) >= 6 and one in plain for one in wanted)


def _plain(text: str) -> str:
    return re.sub(r"[\s\"']", "", text)


def _reached(act: Function, tree: ast.Module) -> list[Function]:
    """The function, and those of the script that it calls by name, and so on."""
    known = {node.name: node for node in ast.walk(tree) if isinstance(node, Function)}
    found = [act]
    for function in found:
        called = {leaf.id for leaf in ast.walk(function) if isinstance(leaf, ast.Name)}
        found += [known[name] for name in sorted(called & set(known)) if known[name] not in found]
    return found


def _containers(tree: ast.Module) -> set[str]:
    """Names that the script binds to containers of its own."""
    found: set[str] = set()
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        call = ast.unparse(value.func).rpartition(".")[2] if isinstance(value, ast.Call) else ""
        if isinstance(value, _DISPLAYS) or call in _CONTAINERS:
            found |= {
                leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Store)
            }
    return found


def _stored_into(function: Function, methods: set[str]) -> list[ast.expr]:
    """The expressions into which a function stores: by a method, an index or an attribute."""
    found: list[ast.expr] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods:
            found.append(node.func.value)
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.append(node.value)
    return found


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _bound(function: Function) -> set[str]:
    arguments = {leaf.arg for leaf in ast.walk(function.args) if isinstance(leaf, ast.arg)}
    stored = {leaf.id for leaf in ast.walk(function) if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Store)}
    return arguments | stored


def _declared(function: Function) -> set[str]:
    return {name for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}


def _grows_on(node: ast.Assign | ast.AugAssign, shared: set[str]) -> bool:
    """Whether a shared variable is given a value made of itself (a count may go on counting)."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = {target.id for target in targets if isinstance(target, ast.Name)} & shared
    if not names or (isinstance(node, ast.AugAssign) and isinstance(node.value, ast.Constant)):
        return False
    used = {leaf.id for leaf in ast.walk(node.value) if isinstance(leaf, ast.Name)}
    return isinstance(node, ast.AugAssign) or bool(used & names)


def _imported(tree: ast.Module) -> set[str]:
    aliases = [
        alias for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names
    ]
    return {alias.asname or alias.name.partition(".")[0] for alias in aliases}


def names_told(act: Function, text: str) -> set[str]:
    """Identifiers of at least three letters that the function uses and that stand in the text as words."""
    used = {leaf.attr for leaf in ast.walk(act) if isinstance(leaf, ast.Attribute)} | _names(act)
    words = set(re.findall(r"[A-Za-z_]\w{2,60}", text))
    return {name for name in used if len(name) > 2} & words


def _names(act: Function) -> set[str]:
    return {leaf.id for leaf in ast.walk(act) if isinstance(leaf, ast.Name)}
