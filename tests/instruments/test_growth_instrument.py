"""The growth instrument against code that is quadratic or worse and, beside each, sound code that does the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebug.instruments import Reading

from .conftest import run

BOX = '''
import re


def lines_by_cutting(text):
    """Copies what is left for every line."""
    found = []
    while text:
        line, _, text = text.partition("\\n")
        found.append(line)
    return found


def lines(text):
    return text.split("\\n")


def distinct_by_list(items):
    seen = []
    for item in items:
        if item not in seen:
            seen.append(item)
    return seen


def distinct(items):
    return list(dict.fromkeys(items))


def backtracks(text):
    return re.match(r"(?:a+)+$", text)


def matches(text):
    return re.match(r"a+$", text)


def ordered(items):
    return sorted(items, key=str)
'''


def measured(tmp_path: Path, act: str) -> tuple[int, Reading | None]:
    (tmp_path / "box.py").write_text(BOX)
    status, reading, output = run(tmp_path, "growth", f"import box\n\n\ndef act(n):\n    {act}\n\n\ngrowth(act)")
    assert status in {0, 125} or reading, output
    return status, reading


@pytest.mark.parametrize(
    ("function", "act"),
    [
        ("lines_by_cutting", "box.lines_by_cutting('some line of text\\n' * (8 * n))"),
        ("distinct_by_list", "box.distinct_by_list(range(n))"),
        ("backtracks", "box.backtracks('a' * n + '!')"),
    ],
)
def test_faster_growth_than_the_input_is_measured_and_its_place_named(function: str, act: str, tmp_path: Path) -> None:
    status, reading = measured(tmp_path, act)
    assert status == 1
    assert reading is not None
    assert reading.kind == "slow"
    assert reading.number("order") >= 1.6
    assert reading.number("share") >= 0.5
    assert function in reading.figures["place"] + reading.figures.get("via", "")


@pytest.mark.parametrize(
    "act",
    [
        "box.lines('some line of text\\n' * (8 * n))",
        "box.distinct(range(n))",
        "box.matches('a' * n + '!')",
        "box.ordered(range(n))",
        "if n > 100: raise ValueError(n)",
    ],
)
def test_sound_code_passes(act: str, tmp_path: Path) -> None:
    assert measured(tmp_path, act) == (0, None)
