from __future__ import annotations

import ast

import pytest
from made import Made

from rebug.propose.code import (
    add_imports,
    fingerprint,
    import_line_for,
    imported_modules,
    indented,
    parse,
    undefined_names,
)


def _tree(text: str) -> ast.Module:
    tree = parse(text)
    assert tree is not None
    return tree


@pytest.mark.parametrize("text", ["def f(:", "x = (", "\x00", "a" * 300_000, "(" * 5000, "return 3"])
def test_garbage_does_not_parse(text: str) -> None:
    assert parse(text) is None


def test_undefined_names_are_those_that_nothing_binds_in_order() -> None:
    text = (
        "import os\n"
        "def f(a, b=Default):\n    return [x for x in a if x in Known]\n"
        "class C(Base):\n    size: int = 3\n    def g(self):\n        return Path(self.size)\n"
        "with open(name) as handle:\n    total += (n := 3)\n"
        "print(f(1), n, handle, os)\n"
    )
    assert undefined_names(_tree(text)) == ["Default", "Known", "Base", "Path", "name"]


def test_top_level_await_is_a_program() -> None:
    assert undefined_names(_tree("await fetch(url)\n")) == ["fetch", "url"]


def test_imports_stand_after_docstring_and_future() -> None:
    text = add_imports('"""Doc."""\nfrom __future__ import annotations\nimport os\n', ["import os", "import re"])
    assert text.splitlines() == ['"""Doc."""', "from __future__ import annotations", "import re", "import os"]


def test_fingerprint_ignores_comments_docstrings_and_white_space() -> None:
    assert fingerprint("x=1 # one") == fingerprint('"""Doc."""\n\nx = 1\n')
    assert fingerprint("x = 1") != fingerprint("y = 1")
    assert fingerprint("not python at all") == fingerprint("not  python\nat all")


def test_texts_over_several_lines_keep_their_content_when_indented() -> None:
    assert indented('x = """a\nb"""\ny = 1') == '    x = """a\nb"""\n    y = 1'


def test_imported_modules_are_absolute_and_top_level() -> None:
    assert imported_modules(_tree("import a.b\nfrom c.d import e\nfrom . import f\n")) == {"a", "c"}


def test_names_are_looked_for_in_the_subject_before_the_standard_library(made: Made) -> None:
    index = made.situation("# Title\n\ntext\n").index
    assert import_line_for("Box", index) == "from boxes import Box"
    assert import_line_for("boxes", index) == "import boxes"
    assert import_line_for("Path", index) == "from pathlib import Path"
    assert import_line_for("json", index) == "import json"
    assert import_line_for("np", index) == "import numpy as np"
    assert import_line_for("FIXED", index) == "from boxes import FIXED"
    assert import_line_for("no_such_name", index) is None
