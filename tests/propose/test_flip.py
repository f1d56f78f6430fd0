from __future__ import annotations

import pytest

from rebug.propose.flip import flipped


@pytest.mark.parametrize(
    ("assertion", "turned"),
    [
        ("assert f(1) == 2", 'actual = f(1)\nassert actual != 2, f"expected another value, got {actual!r}"'),
        (
            'assert "x" == f(1), "no"',
            "actual = f(1)\nassert actual != 'x', f\"expected another value, got {actual!r}\"",
        ),
        ("assert not f(1)", "assert f(1), 'this should not hold: not f(1)'"),
        ("assert f(1)", "assert not (f(1)), 'this should not hold: f(1)'"),
        ("assert 3 in f(1)", "assert not (3 in f(1)), 'this should not hold: 3 in f(1)'"),
    ],
)
def test_an_assertion_is_turned_round(assertion: str, turned: str) -> None:
    ((script, claim),) = flipped(f"from m import f\n{assertion}\n")
    assert script == f"from m import f\n{turned}\n"
    assert claim.startswith("It is wrong that ")


def test_the_last_assertion_is_turned_first_and_the_others_stay() -> None:
    script = "a = f()\nassert a.x == 1\nwith a:\n    assert a.y == 2\nassert True\n"
    first, second = [text for text, _ in flipped(script)]
    assert "assert a.x == 1\nwith a:\n    actual = a.y\n    assert actual != 2" in first
    assert "actual = a.x\nassert actual != 1" in second
    assert "    assert a.y == 2" in second


@pytest.mark.parametrize("script", ["print(1)\n", "assert 1 == 1\n", "x = 1; assert x == 1\n", "def (", ""])
def test_nothing_to_turn(script: str) -> None:
    assert flipped(script) == []
