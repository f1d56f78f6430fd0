"""What a server's handlers read out of a message: its keys, the values they are compared with, their defaults."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

_DEPTH = 3  # calls that are followed from a handler
_MOST = 400  # functions looked into for one handler
_NOT_MESSAGES = re.compile(r"header|environ|config|setting|cookie|session|match_info|kwargs|params\b|os\.|state|cache")

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key of a message."""

    name: str
    values: tuple[str | int | float | bool, ...] = ()  # it is compared with, or its default
    kind: str = ""  # int | float | bool | str, where the handler converts it
    required: bool = True


@dataclass(frozen=True)
class Program:
    """The subject's modules by name, read: their texts, trees and functions."""

    texts: Mapping[str, str]

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        found = {}
        for module, text in self.texts.items():
            try:
                found[module] = ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
        return found

    @cached_property
    def functions(self) -> dict[str, list[ast.AST]]:
        """Every function and method by its bare name, and classes, for the fields that models declare."""
        found: dict[str, list[ast.AST]] = {}
        for tree in self.trees.values():
            for node in ast.walk(tree):
                if isinstance(node, _Function | ast.ClassDef):
                    found.setdefault(node.name, []).append(node)
        return found

    def called(self, node: ast.AST) -> Iterator[str]:
        """Names of the subject's functions that are used below a node, in order."""
        for leaf in ast.walk(node):
            name = leaf.attr if isinstance(leaf, ast.Attribute) else leaf.id if isinstance(leaf, ast.Name) else ""
            if name in self.functions:
                yield name

    def reach(self, body: Sequence[ast.AST]) -> list[ast.AST]:
        """A handler's statements with the functions that they lead to, nearest first."""
        found, seen, level = list(body), set[str](), list(body)
        for _ in range(_DEPTH):
            names = dict.fromkeys(name for part in level for name in self.called(part) if name not in seen)
            seen |= names.keys()
            level = [node for name in names if len(self.functions[name]) <= 3 for node in self.functions[name]]
            level = [node for node in level if isinstance(node, _Function)]
            found += level
            if not level or len(found) > _MOST:
                break
        return found

    def registered(self) -> Iterator[str]:
        """Keys of tables whose values are the subject's functions or classes, and names given to registering calls."""
        for tree in self.trees.values():
            for node in ast.walk(tree):
                if isinstance(node, ast.Dict):
                    for key, value in zip(node.keys, node.values, strict=True):
                        name = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
                        if isinstance(key, ast.Constant) and isinstance(key.value, str) and name in self.functions:
                            yield key.value
                elif isinstance(node, _Function | ast.ClassDef):
                    yield from _registered_as(node)


def _registered_as(node: _Function | ast.ClassDef) -> Iterator[str]:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and re.search(
            r"regist|node|task|command|handler", ast.unparse(decorator.func)
        ):
            yield from (a.value for a in decorator.args[:1] if isinstance(a, ast.Constant) and isinstance(a.value, str))


def keys_in(body: Sequence[ast.AST], program: Program) -> tuple[Key, ...]:
    """The keys that a handler, and what it calls, read out of a message."""
    found: dict[str, Key] = {}
    for part in program.reach(body):
        for key in (*_read(part), *_declared(part, program)):
            known = found.get(key.name)
            if known is None or (key.values and not known.values):
                found[key.name] = key
    return tuple(found.values())


def variants(body: Sequence[ast.AST], program: Program) -> list[tuple[str, tuple[Key, ...], str]]:
    """The kinds of messages that a websocket's handler tells apart: (kind, keys, name of what deals with it)."""
    found = []
    for part in program.reach(body):
        for node in ast.walk(part):
            if not isinstance(node, ast.If | ast.match_case):
                continue
            for key, value in _told_apart(node):
                inner = [one for one in keys_in(node.body, program) if one.name != key]
                name = next((name for one in node.body for name in program.called(one)), "")
                found.append((value, (Key(name=key, values=(value,)), *inner), name))
    if found:
        return found
    keys = keys_in(body, program)
    return [("", keys, "")]


def _told_apart(node: ast.If | ast.match_case) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.match_case):
        return
    for leaf in ast.walk(node.test):
        if isinstance(leaf, ast.Compare) and len(leaf.ops) == 1 and isinstance(leaf.ops[0], ast.Eq):
            key, value = _key_of(leaf.left), leaf.comparators[0]
            name = getattr(leaf.left, "id", "")
            if key is None and name in {"kind", "type", "event", "action", "op", "command", "cmd", "method"}:
                key = Key(name=name)
            if key is not None and isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield key.name, value.value


def _read(part: ast.AST) -> Iterator[Key]:
    converted = {
        id(node.args[0]): node.func.id
        for node in ast.walk(part)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args
        if node.func.id in {"int", "float", "bool", "str"}
    }
    compared: dict[str, list[str | int | float | bool]] = {}
    for node in ast.walk(part):
        if isinstance(node, ast.Compare) and (key := _key_of(node.left)) is not None:
            constants = (leaf for side in node.comparators for leaf in ast.walk(side) if isinstance(leaf, ast.Constant))
            told = [leaf.value for leaf in constants if isinstance(leaf.value, str | int | float | bool)]
            compared.setdefault(key.name, []).extend(told)
    for node in ast.walk(part):
        key = _key_of(node)
        if key is not None:
            values = (*compared.get(key.name, ()), *key.values)
            yield Key(name=key.name, values=values, kind=converted.get(id(node), ""), required=key.required)


def _key_of(node: ast.AST) -> Key | None:
    """The key that `message["key"]` or `message.get("key", default)` reads."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Constant):
        name, holder = node.slice.value, node.value
        if isinstance(name, str) and not _NOT_MESSAGES.search(ast.unparse(holder)):
            return Key(name=name)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        first, default = node.args[0], node.args[1] if len(node.args) > 1 else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str) and not first.value.startswith("/"):
            if _NOT_MESSAGES.search(ast.unparse(node.func.value)):
                return None
            value = default.value if isinstance(default, ast.Constant) else None
            values = (value,) if isinstance(value, str | int | float | bool) else ()
            return Key(name=first.value, values=values, required=False)
    return None


def _declared(part: ast.AST, program: Program) -> Iterator[Key]:
    """The fields of classes that a handler's parameters are annotated with."""
    if not isinstance(part, _Function):
        return
    for argument in (*part.args.args, *part.args.kwonlyargs):
        name = argument.annotation.id if isinstance(argument.annotation, ast.Name) else ""
        for known in program.functions.get(name, ()):
            for node in known.body if isinstance(known, ast.ClassDef) else ():
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    value = node.value.value if isinstance(node.value, ast.Constant) else None
                    values = (value,) if isinstance(value, str | int | float | bool) else ()
                    kind = node.annotation.id if isinstance(node.annotation, ast.Name) else ""
                    yield Key(name=node.target.id, values=values, kind=kind, required=node.value is None)
