from __future__ import annotations

import ast

import pytest

from rebug.instruments import genuine, inline, readings
from rebug.instruments.kit import resources


def names() -> list[str]:
    folder = resources.files("rebug.instruments").joinpath("scripts")
    return sorted(entry.name[:-3] for entry in folder.iterdir() if entry.name.endswith(".py") and entry.name[0] != "_")


@pytest.mark.parametrize("name", names())
def test_an_instrument_is_genuine_as_pasted_and_not_once_a_number_or_a_name_has_changed(name: str) -> None:
    text = inline(name)
    script = f"import os\n\n{text}\n\nprint(1)\n"
    assert genuine(ast.parse(script), name)
    function = next(node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    assert not genuine(ast.parse(script + f"\n{function} = print\n"), name)
    assert not genuine(ast.parse(script.replace(f"def {function}(", f"def {function}_(")), name)
    assert not genuine(ast.parse("print(1)"), name)


def test_readings_are_found_in_a_message() -> None:
    (reading,) = readings(
        "AssertionError: memory grows by 244 bytes per call [leak resource=memory per_call=244.5 x=nan]"
    )
    assert (reading.kind, reading.sentence) == ("leak", "AssertionError: memory grows by 244 bytes per call")
    assert reading.number("per_call") == 244.5
    assert reading.number("missing", 3.0) == 3.0
    assert reading.number("resource", -1.0) == -1.0
    assert reading.number("x", 7.0) == 7.0


def test_long_brackets_take_no_time() -> None:
    assert readings("[" * 100_000 + "a" * 100_000) == ()
