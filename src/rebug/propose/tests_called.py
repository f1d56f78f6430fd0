"""Tests quoted in a report are run by the script itself: no test runner stands between the bug and the exit status."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from rebug.propose.code import add_imports, parse, source_of

FIXTURES = {
    "tmp_path": ("Path(tempfile.mkdtemp())", ("import tempfile", "from pathlib import Path")),
    "tmpdir": ("Path(tempfile.mkdtemp())", ("import tempfile", "from pathlib import Path")),
    "request": ("types.SimpleNamespace(param=None)", ("import types",)),
    "monkeypatch": ("_Monkeypatch()", ("import os", "import sys")),
    "capsys": ("_Capture()", ("import collections", "import io", "import sys")),
    "capfd": ("_Capture()", ("import collections", "import io", "import sys")),
    "caplog": ("_Caplog()", ("import logging",)),
}
"""Fixtures of pytest that can be had without it: name → (expression, imports)."""

_HELPERS = {
    "_Monkeypatch": '''class _Monkeypatch:
    """What the test may change for its own time (the process ends with the test)."""

    def setattr(self, target, name, value=None, raising=True):
        setattr(target, name, value)

    def delattr(self, target, name, raising=True):
        delattr(target, name)

    def setenv(self, name, value, prepend=None):
        os.environ[name] = str(value)

    def delenv(self, name, raising=True):
        os.environ.pop(name, None)

    def setitem(self, mapping, name, value):
        mapping[name] = value

    def chdir(self, path):
        os.chdir(path)

    def syspath_prepend(self, path):
        sys.path.insert(0, str(path))
''',
    "_Capture": '''class _Capture:
    """Collects what is printed until it is read."""

    def __init__(self):
        self._start()

    def _start(self):
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()

    def readouterr(self):
        seen = collections.namedtuple("Captured", "out err")(sys.stdout.getvalue(), sys.stderr.getvalue())
        self._start()
        return seen
''',
    "_Caplog": '''class _Caplog(logging.Handler):
    """Collects log records."""

    def __init__(self):
        super().__init__(0)
        self.records = []
        logging.getLogger().addHandler(self)

    def emit(self, record):
        self.records.append(record)

    @property
    def messages(self):
        return [record.getMessage() for record in self.records]

    @property
    def text(self):
        return "\\n".join(self.messages)

    def set_level(self, level, logger=None):
        logging.getLogger(logger).setLevel(level)
''',
}


@dataclass(frozen=True, slots=True)
class _Needs:
    """What the calls need: fixtures of the script, and imports and helpers that are collected on the way."""

    fixtures: frozenset[str]
    imports: set[str]
    helpers: dict[str, None]


def calls_for_tests(script: str) -> str:
    """The script with its tests called at the end: functions `test_*`, classes `Test*` and `unittest.TestCase`."""
    tree = parse(script)
    if tree is None or _calls_itself(tree):
        return script
    calls: list[str] = []
    needs = _Needs(frozenset(_own_fixtures(tree)), set(), {})
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            calls += _call(script, node, node.name, needs)
        elif isinstance(node, ast.ClassDef) and _is_test_case(node):
            calls += [f"{node.name}({test.name!r}).debug()" for test in _test_methods(node)]
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test") and _test_methods(node):
            calls += _class_calls(script, node, needs)
    if not calls:
        return script
    added = "".join(_HELPERS[name] + "\n\n" for name in needs.helpers)
    text = f"{_plain_fixtures(script, tree).rstrip()}\n\n\n{added}" + "\n".join(calls) + "\n"
    text = add_imports(text, sorted(needs.imports))
    return text if parse(text) is not None else script


def _calls_itself(tree: ast.Module) -> bool:
    called = {
        n.func.id if isinstance(n.func, ast.Name) else getattr(n.func, "attr", "")
        for top in tree.body
        if isinstance(top, ast.Expr | ast.Assign)
        for n in ast.walk(top)
        if isinstance(n, ast.Call)
    }
    return any(name.startswith("test") for name in called)


def _is_test_case(node: ast.ClassDef) -> bool:
    return any("TestCase" in ast.unparse(base) for base in node.bases)


def _test_methods(node: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [m for m in node.body if isinstance(m, ast.FunctionDef | ast.AsyncFunctionDef) and m.name.startswith("test")]


def _class_calls(script: str, node: ast.ClassDef, needs: _Needs) -> list[str]:
    setups = [m for m in node.body if isinstance(m, ast.FunctionDef) and m.name in {"setup_method", "setup_class"}]
    calls: list[str] = []
    for test in _test_methods(node):
        calls.append(f"_case = {node.name}()")
        calls += [f"_case.{m.name}({'None' if len(m.args.args) > 1 else ''})" for m in setups]
        calls += _call(script, test, f"_case.{test.name}", needs)
    return calls


def _call(script: str, test: ast.FunctionDef | ast.AsyncFunctionDef, name: str, needs: _Needs) -> list[str]:
    """The lines that run one test, over all its parameter sets."""
    loops = [p for d in test.decorator_list if (p := _parametrised(script, d)) is not None]
    given = {name for names, _ in loops for name in names}
    arguments: list[str] = []
    for argument in [*test.args.posonlyargs, *test.args.args, *test.args.kwonlyargs]:
        wanted = argument.arg
        if wanted in {"self", "cls"} or (wanted not in given and _has_default(test, wanted)):
            continue
        arguments.append(f"{wanted}={_argument(wanted, given, needs)}")
    call = f"{name}({', '.join(arguments)})"
    if isinstance(test, ast.AsyncFunctionDef):
        needs.imports.add("import asyncio")
        call = f"asyncio.run({call})"
    lines: list[str] = []
    for depth, (names, values) in enumerate(loops):
        lines.append("    " * depth + f"for {', '.join(names)} in {values}:")
    return [*lines, "    " * len(loops) + call]


def _argument(name: str, given: set[str], needs: _Needs) -> str:
    if name in given:
        return name
    if name in needs.fixtures:
        return f"{name}()"
    expression, needed = FIXTURES.get(name, ("None", ()))
    needs.imports.update(needed)
    if expression.startswith("_"):
        needs.helpers[expression.partition("(")[0]] = None
    return expression


def _has_default(test: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    a = test.args
    positional = [*a.posonlyargs, *a.args]
    optional = {p.arg for p in positional[len(positional) - len(a.defaults) :]} if a.defaults else set()
    optional |= {p.arg for p, default in zip(a.kwonlyargs, a.kw_defaults, strict=True) if default is not None}
    return name in optional


def _parametrised(script: str, decorator: ast.expr) -> tuple[list[str], str] | None:
    """Names and the text of the values of a `parametrize` decorator."""
    if not (isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("parametrize")):
        return None
    if len(decorator.args) < 2:
        return None
    names = decorator.args[0]
    if isinstance(names, ast.Constant) and isinstance(names.value, str):
        found = [n.strip() for n in names.value.split(",") if n.strip()]
    elif isinstance(names, ast.Tuple | ast.List):
        found = [str(e.value) for e in names.elts if isinstance(e, ast.Constant)]
    else:
        return None
    return (found, source_of(script, decorator.args[1])) if found and all(n.isidentifier() for n in found) else None


def _is_pytest_mark(decorator: ast.expr) -> bool:
    text = ast.unparse(decorator)
    return text.startswith(("pytest.mark.", "pytest.fixture", "mark.")) or text == "fixture"


def _own_fixtures(tree: ast.Module) -> set[str]:
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and any("fixture" in ast.unparse(d) for d in node.decorator_list)
        if not node.args.args and not any(isinstance(n, ast.Yield) for n in ast.walk(node))
    }


def _plain_fixtures(script: str, tree: ast.Module) -> str:
    """The script without pytest's decorators: what they say is done by the calls."""
    lines = script.splitlines()
    functions: Sequence[ast.AST] = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in functions:
        for decorator in getattr(node, "decorator_list", ()):
            if _is_pytest_mark(decorator):
                for number in range(decorator.lineno, (decorator.end_lineno or decorator.lineno) + 1):
                    lines[number - 1] = ""
    return "\n".join(lines) + "\n"
