"""What a report's words say of the input's shape."""

import pytest

from rebug.intake.shapes import described, named_characters


def test_characters_are_named_in_words_and_shown_as_code() -> None:
    found = named_characters("Many backslashes behind an opening quote; the backslashes are the problem. `**` is fine.")
    assert found[0] in {"\\", "*"}
    assert {"\\", "*", '"'} <= set(found)


@pytest.mark.parametrize(
    ("piece", "told", "right"),
    [
        ("\\", "a dozen backslashes", True),
        ("some line\n", "a file with many lines", True),
        ("a,", "a list separated by commas", True),
        ("aaaa", "a long name", True),
        ("[a](", "nested links such as `[a](`", True),
        ("\\", "a long name", False),
        ("(", "a file with many lines", False),
        ("a", "nothing of the kind", False),
    ],
)
def test_an_input_is_one_that_the_report_speaks_of(piece: str, told: str, right: bool) -> None:
    assert described(piece, told) is right


def test_long_texts_take_no_time() -> None:
    assert described("x;", "quote " * 100_000 + "`" * 1000) is False
