"""The index: symbols, re-exports, frames, passages and tests of small trees."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from subject_making import write_tree

from rebug.subject import SourceIndex, build_index
from rebug.subject.installed import modules_of, roots_of
from rebug.subject.retrieval import words

TREE = {
    "src/shop/__init__.py": (
        "from ._basket import Basket as Basket, _hidden\nfrom .prices import *\nfrom . import money\n"
        "import shop.deep.nested as nested\nOldBasket = Basket\n__all__ = ['Basket', 'total', 'OldBasket', 'money']\n"
    ),
    "src/shop/_basket.py": '''
"""Baskets."""
from typing import overload
from .money import Money

class Basket(dict):
    """Holds things."""

    @overload
    def add(self, thing: int) -> None: ...
    def add(self, thing, /, count: int = 1, *rest, colour="red", **more) -> None:
        """Put a thing in."""
        def inner():
            raise KeyError(thing)
        inner()

    async def check_out(self):
        return await self._pay()

    async def _pay(self): ...

def _hidden(): ...
''',
    "src/shop/prices.py": "def total(basket):\n    return sum(basket.values())\n\ndef rebate(percent): ...\n",
    "src/shop/money.py": "class Money:\n    def convert(self, currency): ...\n",
    "src/shop/deep/__init__.py": "",
    "src/shop/deep/nested.py": "def reach(): ...\n",
    "src/shop/test.py": "class Client:\n    def open(self): ...\n",
    "src/shop/legacy.py": "import os\nclass Old(object):\n    def run(self, a, b=1):\n"
    "        print a\n\ndef last(x):\n    exec x\n",
    "src/shop/_vendor/six.py": "def vendored(): ...\n",
    "setup.py": "from setuptools import setup\nsetup(name='shop')\n",
    "docs/guide.rst": "Guide\n=====\n\nVouchers are applied at the till by the cashier.\n",
    "tests/conftest.py": "import pytest\nimport json\n\nRATE = 2\n\n@pytest.fixture\ndef rate():\n    return RATE\n",
    "tests/test_basket.py": '''
from __future__ import annotations
import os
import unittest
from shop import Basket, total
from .helpers import make

LIMIT = 3
UNUSED = 4

def fill(count=LIMIT):
    return make(count)

@mark
def test_add_to_basket(rate, tmp_path):
    """Not a literal."""
    basket = fill()
    assert basket == {"apple": 1, 'pear': rate}

class TestTotals(unittest.TestCase):
    kind = "plain"

    def setUp(self):
        self.basket = Basket()

    def test_total_of_empty(self):
        self.assertEqual(total(self.basket), 0)

    def test_other(self):
        os.getcwd()
''',
}


@pytest.fixture
def index(tmp_path: Path) -> SourceIndex:
    return build_index(write_tree(tmp_path / "tree", TREE))


def test_modules_and_symbols(index: SourceIndex) -> None:
    assert index.modules == ("shop",)
    assert {symbol.module for symbol in index.symbols} >= {"shop", "shop._basket", "shop.deep.nested", "shop.test"}
    assert not index.find("vendored")
    assert not index.find("test_add_to_basket")


def test_a_signature_is_kept_as_written(index: SourceIndex) -> None:
    (add,) = index.find("Basket.add")
    assert [(p.name, p.kind, p.annotation, p.default) for p in add.parameters] == [
        ("self", "positional_only", "", None),
        ("thing", "positional_only", "", None),
        ("count", "positional_or_keyword", "int", "1"),
        ("rest", "var_positional", "", None),
        ("colour", "keyword_only", "", "'red'"),
        ("more", "var_keyword", "", None),
    ]
    assert (add.doc, add.kind, add.file) == ("Put a thing in.", "method", "src/shop/_basket.py")
    assert index.find("check_out")[0].is_async


def test_names_are_found_at_their_shortest_import(index: SourceIndex) -> None:
    def exported(name: str) -> str:
        return index.find(name)[0].exported_as

    assert exported("Basket") == "shop.Basket"
    assert exported("Basket.add") == "shop.Basket.add"
    assert exported("total") == "shop.total"  # through a star
    assert exported("rebate") == "shop.prices.rebate"  # not in __all__
    assert exported("reach") == "shop.deep.nested.reach"
    assert index.find("shop.Basket") == index.find("shop._basket.Basket")
    assert index.find("Basket")[0].public
    assert not index.find("_hidden")[0].public
    assert not index.find("_pay")[0].public
    assert index.find("nothing at all") == ()


def test_a_circle_of_re_exports_ends(tmp_path: Path) -> None:
    files = {
        "a/__init__.py": "from .b import *\nfrom .c import thing\n",
        "a/b.py": "from a import *\nfrom .c import thing\n",
        "a/c.py": "from .b import thing\n",
    }
    assert build_index(write_tree(tmp_path, files)).find("a.b")


@pytest.mark.parametrize(
    ("file", "line", "function", "qualname"),
    [
        ("/home/x/.venv/lib/python3.9/site-packages/shop/_basket.py", 12, "add", "Basket.add"),
        ("C:\\Users\\x\\Lib\\site-packages\\shop\\_basket.py", None, "check_out", "Basket.check_out"),
        ("/build/src/shop/_basket.py", 900, "add", "Basket.add"),
        ("shop/_basket.py", 14, "inner", "Basket.add"),
        ("shop/_basket.py", 14, "Basket.add", "Basket.add"),
        ("/x/shop/_basket.py", 18, "<listcomp>", "Basket.check_out"),
        ("/x/shop/_basket.py", 4, "<module>", ""),
        ("_basket.py", 18, "_pay", "Basket._pay"),
        ("/x/shop/legacy.py", 4, "run", "Old.run"),
    ],
)
def test_frames_of_other_machines(
    index: SourceIndex, file: str, line: int | None, function: str, qualname: str
) -> None:
    symbol = index.at(file, line, function)
    assert symbol is not None
    assert symbol.qualname == qualname


@pytest.mark.parametrize("file", ["/usr/lib/python3.11/logging/__init__.py", "/x/other/prices.py", "", "<string>", "/"])
def test_frames_of_other_code(index: SourceIndex, file: str) -> None:
    assert index.at(file, 1, "total") is None


def test_python_2_is_read_by_its_lines(index: SourceIndex) -> None:
    (run,) = index.find("Old.run")
    assert (run.line, run.end_line, [p.name for p in run.parameters]) == (3, 5, ["self", "a", "b"])
    assert index.find("last")[0].kind == "function"


def test_retrieval_ranks_by_words_and_identifiers(index: SourceIndex) -> None:
    best = index.retrieve("await when I check out, the basket is not paid: `checkOut`", 3)[0]
    assert (best.file, best.symbol) == ("src/shop/_basket.py", "Basket.check_out")
    assert index.retrieve("vouchers cashier", 1)[0].file == "docs/guide.rst"
    assert index.retrieve("zzzz qqqq", 5) == []
    assert index.retrieve("", 5) == []
    assert len(index.retrieve("basket", 2)) == 2


def test_retrieval_starts_with_the_innermost_frame(index: SourceIndex) -> None:
    query = (
        "vouchers vouchers cashier\n"
        'File "/x/site-packages/shop/prices.py", line 2, in total\n'
        'File "/x/site-packages/shop/money.py", line 2, in convert\n'
    )
    assert [passage.symbol for passage in index.retrieve(query, 2)] == ["Money.convert", "total"]


def test_existing_tests_bring_what_they_use(index: SourceIndex) -> None:
    tests = {test.qualname: test for test in index.tests}
    assert list(tests) == ["test_add_to_basket", "TestTotals.test_total_of_empty", "TestTotals.test_other"]
    add = tests["test_add_to_basket"]
    assert add.source.startswith("@mark\ndef test_add_to_basket(rate, tmp_path):")
    assert add.fixtures == ("rate", "tmp_path")
    assert add.literals == ("apple", "pear")
    assert add.preamble.splitlines() == [
        "import pytest",
        "RATE = 2",
        "@pytest.fixture",
        "def rate():",
        "    return RATE",
        "from __future__ import annotations",
        "from .helpers import make",
        "LIMIT = 3",
        "def fill(count=LIMIT):",
        "    return make(count)",
    ]


def test_a_methods_class_comes_without_its_other_tests(index: SourceIndex) -> None:
    test = next(test for test in index.tests if test.name == "test_total_of_empty")
    assert test.source == "def test_total_of_empty(self):\n    self.assertEqual(total(self.basket), 0)"
    assert 'class TestTotals(unittest.TestCase):\n    kind = "plain"\n    def setUp(self):' in test.preamble
    assert "test_other" not in test.preamble
    assert "import unittest" in test.preamble
    assert "import os" not in test.preamble


def test_the_nearest_test_is_found_by_parts_of_names(index: SourceIndex) -> None:
    assert index.nearest_tests("addToBasket fails", 1)[0].name == "test_add_to_basket"
    assert index.nearest_tests("total is wrong when empty", 1)[0].name == "test_total_of_empty"


def test_words_split_identifiers() -> None:
    assert words("parseHTTPHeader") == ["parsehttpheader", "parse", "http", "header"]
    assert words("snake_case the 404") == ["snake_case", "snake", "case", "404"]


def test_compiled_code_is_known_by_its_stubs(tmp_path: Path) -> None:
    files = {
        "pysrc/fast/__init__.py": "from .fast import *\n",
        "pysrc/fast/__init__.pyi": "def dumps(obj: object, default: int | None = ...) -> bytes: ...\n",
        "src/lib.rs": "fn main() {}\n",
    }
    index = build_index(write_tree(tmp_path, files), package="fast")
    (dumps,) = index.find("dumps")
    assert (dumps.exported_as, [p.name for p in dumps.parameters]) == ("fast.dumps", ["obj", "default"])


@pytest.mark.parametrize(
    ("files", "modules"),
    [
        ({"single.py": "def f(): ...\n", "setup.py": "", "test_single.py": ""}, ("single",)),
        ({"lib/inner/__init__.py": "", "tests/__init__.py": ""}, ("inner",)),
        ({"space/part/__init__.py": "def f(): ...\n", "docs/conf.py": ""}, ("space",)),
        ({"src/space/part/__init__.py": ""}, ("space",)),
        ({"README.md": "nothing here"}, ()),
    ],
)
def test_layouts(tmp_path: Path, files: dict[str, str], modules: tuple[str, ...]) -> None:
    index = build_index(write_tree(tmp_path, files))
    assert index.modules == modules
    assert index.retrieve("anything", 3) == []


def test_text_stays_within_the_tree(index: SourceIndex, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("S = 1\n")
    (index.root / "link.py").symlink_to(tmp_path / "secret.py")
    assert index.text("src/shop/money.py").startswith("class Money")
    assert [index.text(name) for name in ("../secret.py", "link.py", "/etc/passwd", "nothing.py", "a\0b")] == [""] * 5


def test_hostile_files_are_read_in_bounded_time(tmp_path: Path) -> None:
    files = {
        "odd/__init__.py": "",
        "odd/deep.py": "x = " + "(" * 50_000 + ")" * 50_000,
        "odd/long.py": "def " * 100_000,
        "odd/nest.py": "".join(" " * depth + f"def f{depth}():\n" for depth in range(80)) + "?",
        "odd/nul.py": "a = 1\0",
        "odd/spaces.py": " " * 500_000 + "def",
        "odd/minus.py": "x = " + "-" * 200_000 + "1",
    }
    started = time.monotonic()
    index = build_index(write_tree(tmp_path, files))
    assert index.find("odd.deep")
    index.retrieve("def deep", 3)
    assert time.monotonic() - started < 10


def test_what_a_wheel_recorded() -> None:
    recorded = ["google/cloud/a/__init__.py", "google/cloud/a/b.py", "google/cloud/loose.py", "tests/__init__.py"]
    recorded += ["one.py", "x-1.dist-info/RECORD", "../../bin/tool", "fast.cpython-311-x86_64-linux-gnu.so"]
    assert modules_of("", recorded) == ("fast", "google", "one")
    assert roots_of(recorded) == (
        "fast.cpython-311-x86_64-linux-gnu.so",
        "google/cloud/a",
        "google/cloud/loose.py",
        "one.py",
        "tests",
    )
    assert modules_of("tests\n", ["tests/__init__.py"]) == ("tests",)
