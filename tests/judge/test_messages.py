import pytest

from rebug.judge import fragments
from rebug.judge.messages import message_distance, normal, seen_in, template


@pytest.mark.parametrize(
    ("reported", "observed", "distance"),
    [
        ("argument out of range", "argument out of range", 0.0),
        ("", "anything at all", 0.0),
        ("<Box object at 0x7f00aa12> is not callable", "<Box object at 0x1122334455> is not callable", 0.0),
        ("cannot open /home/ann/a/b.txt", "cannot open C:\\Users\\bob\\b.txt", 0.0),
        ('Key "Stop" already exists.', 'Key "Start" already exists.', 0.2),
        ("'1000'", "'17'", 0.7),
        ("maximum recursion depth exceeded", "maximum recursion depth exceeded in comparison", 0.1),
        ("could not convert the very long ...", "could not convert the very long string to a number", 0.0),
    ],
)
def test_distance_of_messages(reported: str, observed: str, distance: float) -> None:
    assert message_distance(reported, observed) == pytest.approx(distance)


def test_another_message_is_never_a_match() -> None:
    assert message_distance("division by zero", "list index out of range") > 0.5


def test_template_masks_what_data_put_in() -> None:
    assert template("expected 3 items, got 'a b'") == "expected <> items, got <>"
    assert normal("  a\n  b. ") == "a b"


def test_fragments_leave_out_addresses() -> None:
    assert fragments("<Foo object at 0x7f1122334455> has no attribute 'x'")[0] == "> has no attribute 'x'"


@pytest.mark.parametrize(
    ("value", "output", "seen"),
    [
        ("4", "4\n---\na", True),
        ("4", "14\n", False),
        ("a\nb", "x\na\nb\n", True),
        ("a\nb", "a\nx\nb\n", False),
        ("", "anything", False),
        ("b'foo'", "bar -> b'foo'", True),
    ],
)
def test_value_seen_in_output(value: str, output: str, seen: bool) -> None:
    assert seen_in(value, output) is seen


def test_long_messages_are_compared_in_bounded_time() -> None:
    assert 0 <= message_distance("ab " * 200_000, "ba " * 200_000) <= 1
