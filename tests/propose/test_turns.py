from collections.abc import Iterator

from rebug.propose.turns import in_turn


def test_each_source_gets_its_turn_until_all_are_at_their_end() -> None:
    assert "".join(in_turn(iter("abcd"), iter(""), iter("xy"))) == "axbycd"
    assert "".join(in_turn(iter("abcd"), iter("xy"), at_once=3)) == "abcxyd"
    assert list(in_turn()) == []


def test_a_source_is_asked_only_when_its_turn_comes() -> None:
    asked: list[int] = []

    def source(number: int) -> Iterator[int]:
        asked.append(number)
        yield number

    turns = in_turn(source(1), source(2))
    assert (next(turns), asked) == (1, [1])
