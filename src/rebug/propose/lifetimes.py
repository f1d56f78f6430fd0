"""Acts for leaks that a report describes in words only: whole lives of objects, and the same call with ever new input.

Each act makes what it uses and lets go of it, so that whatever grows is kept by the software and not by the script.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from rebug.ports import Symbol
from rebug.propose.entry_points import call
from rebug.propose.synthesis import Made
from rebug.propose.workshop import Workshop

_MOST_CLASSES = 4
_CLOSING = ("close", "aclose", "stop", "shutdown", "disconnect", "release", "terminate", "cancel", "dispose", "quit")
_DIFFERENT = re.compile(
    r"\b(?:differ(?:ent|s|ing)|distinct|unique|various|varying|fresh|each new|every new|new (?:one|key|name|value)s?"
    r"|per (?:\w+ )?(?:expression|key|name|value|pattern|url|host|string|class|type|template|query))\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+")


def named(workshop: Workshop) -> list[Symbol]:
    """Public functions, classes and methods of the subject that the report names, most telling first."""
    index = workshop.situation.index
    told = set(re.findall(r"\w+", workshop.situation.report.title + " " + workshop.situation.report.body[:50_000]))
    alike = [module for module in index.modules if module in told]  # a class may be called as its module is
    names = dict.fromkeys([*workshop.situation.symptom.suspects, *alike, *workshop.known.names][:30])
    found = [[s for s in index.find(name) if s.kind != "module" and s.public][:2] for name in names]
    return list(dict.fromkeys(symbol for some in found for symbol in some))


def lifetimes(workshop: Workshop) -> Iterator[tuple[str, str]]:
    """Programs that make an object, use it as a context manager or close it, and drop it."""
    classes = [symbol for symbol in named(workshop) if symbol.kind == "class"]
    for symbol in classes[:_MOST_CLASSES]:
        for made in islice(workshop.instances(symbol), 2):
            for lines, asynchronous in _lives(workshop, symbol, made.expression):
                if program := _program(workshop, made, lines, asynchronous=asynchronous):
                    yield program, f"A {symbol.name} that is made and given up again leaves something behind."


def _lives(workshop: Workshop, symbol: Symbol, expression: str) -> Iterator[tuple[list[str], bool]]:
    """The statements of an object's life, and whether they have to be awaited."""
    if workshop.method(symbol, "__enter__"):
        yield [f"with {expression}:", "    pass"], False
    if workshop.method(symbol, "__aenter__"):
        yield [f"async with {expression}:", "    pass"], True
    for name in _CLOSING:
        method = workshop.method(symbol, name)
        if method is not None:
            wait = "await " if method.is_async else ""
            start = workshop.method(symbol, "start") or workshop.method(symbol, "open")
            begun = [f"{'await ' if start.is_async else ''}subject.{start.name}()"] if start else []
            yield [f"subject = {expression}", *begun, f"{wait}subject.{name}()"], method.is_async
            break
    yield [expression], False


def _program(workshop: Workshop, made: Made, lines: Sequence[str], *, asynchronous: bool) -> str:
    act = [
        f"{'async ' if asynchronous else ''}def act():",
        "    with contextlib.suppress(Exception):",
        *(f"        {line}" for line in lines),
    ]
    text = workshop.program(["import contextlib", *act], [made])
    return f"{text}\n\nleak(act)\n" if text else ""


# ---------------------------------------------------------------------------------------------------- different inputs


def different(workshop: Workshop) -> Iterator[tuple[str, str]]:
    """Programs that call what the report names with another input each time, where it speaks of different ones."""
    report = workshop.situation.report
    if not _DIFFERENT.search(f"{report.title}\n{report.body[:50_000]}"):
        return
    for symbol in named(workshop)[:_MOST_CLASSES]:
        programs = [script for script, _ in islice(call(workshop, symbol), 6) if script]
        for script in sorted(programs, key=_numbers, reverse=True)[:3]:
            if varied := vary(script):
                yield varied, f"Calling {symbol.name} with another input each time keeps something of each."


def _numbers(script: str) -> int:
    texts = [node.value for node in ast.walk(ast.parse(script)) if isinstance(node, ast.Constant)]
    return max((len(_NUMBER.findall(text)) for text in texts if isinstance(text, str)), default=0)


def vary(script: str) -> str:
    """The program with its last statements as the act, in which the first text literal (else the first number) takes a
    new value with each call; "" where there is none. A value that is refused is passed over."""
    tree = ast.parse(script)
    head = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    literals = [leaf for node in body for leaf in ast.walk(node) if isinstance(leaf, ast.Constant)]
    chosen = next((one for one in literals if isinstance(one.value, str) and one.value), None)
    if chosen is None:
        return ""
    pattern = chosen.value if isinstance(chosen.value, str) else ""
    taken = ast.Name(id="text", ctx=ast.Load())
    renamed = [_Replace(chosen, taken).visit(node) for node in body]
    inner = "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in renamed)
    lines = [
        "import itertools",
        "import re",
        *(ast.unparse(node) for node in head),
        "",
        "",
        "def _texts(pattern):",
        '    """Ever new texts like the pattern: other numbers in it, else a number after it."""',
        "    count = len(re.findall(r'\\d+', pattern))",
        "    for number in itertools.count():",
        "        digits = [str(number // 7**n % (7 if n < count - 1 else 10**9) + 1) for n in range(count)]",
        "        yield re.sub(r'\\d+', lambda _: digits.pop(), pattern) if count else pattern + str(number)",
        "",
        "",
        f"_inputs = _texts({pattern!r})",
        "",
        "",
        "def act():",
        "    for text in itertools.islice(_inputs, 50):",
        "        try:",
        *(f"            {line}" for line in inner.splitlines()),
        "        except Exception:",
        "            continue  # no input that it takes",
        "        return",
        "",
        "",
        "leak(act)",
    ]
    return "\n".join(lines) + "\n"


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.expr) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else self.generic_visit(node)
