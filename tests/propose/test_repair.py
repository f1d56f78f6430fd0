from __future__ import annotations

import pytest

from rebug.propose.repair import programs
from rebug.propose.transcript import entries, session_program


def _first(text: str, wanted: str = "") -> str:
    return next((program for program, _ in programs(text, wanted)), "")


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("    x = 1\n    y = 2\n", "x = 1\ny = 2\n"),
        ("$ pip install thing\nimport thing\n", "import thing\n"),
        ("1  import os\n2  print(os)\n", "import os\nprint(os)\n"),
        ("print “hello”\n", 'print("hello")\n'),
        ("print 'a', b\n", "print('a', b)\n"),
        ("if a &lt; b:\n    pass\n", "if a < b:\n    pass\n"),
        ("+x = 1\n-x = 2\n y = 3\n", "x = 1\ny = 3\n"),
        ("call(<your token>)\n", "call('your token')\n"),
        ("values = [1, 2, ...]\n", "values = [1, 2]\n"),
        ("x: tuple[int, ...] = ()\n", "x: tuple[int, ...] = ()\n"),
        ("f(1,\n  2\n", "f(1,\n  2)\n"),
    ],
)
def test_a_text_becomes_the_program_it_was_meant_to_be(text: str, program: str) -> None:
    assert _first(text) == program


def test_output_among_the_code_is_left_out() -> None:
    trace = "Traceback (most recent call last):\n  File 'x'\nKeyError: 'a'\n"
    text = f"import os\nx = 1\nprint(x)\n1 file was found in the place\n{trace}"
    assert _first(text) == "import os\nx = 1\nprint(x)\n"


@pytest.mark.parametrize("text", ["", "no code here at all, only words.", "\x00\x01", "{" * 2000, ">>> \n>>> (\n"])
def test_garbage_gives_no_program(text: str) -> None:
    assert list(programs(text)) == []


def test_a_session_is_typed_in_again_and_shows_what_it_showed() -> None:
    session = ">>> x = 2\n>>> x + 1  # three\n3\n>>> for i in range(2):\n...     print(i)\n...\n0\n1\n>>> None\n"
    assert [e.output for e in entries(session)] == ["", "3", "0\n1", ""]
    program = session_program(entries(session))
    assert "_show(x + 1)  # three" in program
    assert "for i in range(2):\n    print(i)" in program


def test_ipython_prompts_are_read() -> None:
    found = entries("In [1]: import os\n\nIn [2]: os.sep\nOut[2]: '/'\n")
    assert [(e.source, e.output) for e in found] == [("import os", ""), ("os.sep", "'/'")]


def test_only_the_wanted_exception_ends_a_session() -> None:
    session = (
        ">>> int('x')\nTraceback (most recent call last):\n  File \"<stdin>\", line 1\nValueError: x\n"
        '>>> {}[1]\nTraceback (most recent call last):\n  File "<stdin>", line 1\nKeyError: 1\n>>> 1 / 0\n'
    )
    program = session_program(entries(session), "KeyError")
    assert "try:\n    _show(int('x'))" in program
    assert program.rstrip().endswith("_show({}[1])")
