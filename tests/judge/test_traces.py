import pytest

from rebug.judge.traces import chain, crash_distance, in_subject, innermost_met, trace_distance, unreached
from rebug.model import Failure, Frame


def frame(file: str, function: str) -> Frame:
    return Frame(file=file, line=1, function=function)


def test_a_frame_belongs_to_the_subject_on_any_machine() -> None:
    assert in_subject(frame("/srv/.venv/lib/python3.11/site-packages/box/core.py", "f"), ["box"])
    assert in_subject(frame(r"C:\Python\Lib\site-packages\box\core.py", "f"), ["box"])
    assert in_subject(frame("/srv/site-packages/single.py", "f"), ["single"])
    assert in_subject(frame("box/core.py", "f"), ["box"])
    assert not in_subject(frame("/srv/site-packages/other/box.py", "f"), ["box"])
    assert not in_subject(frame("repro.py", "<module>"), ["box"])


def test_trace_distance_counts_frames_in_order() -> None:
    reported = [frame("a.py", "outer"), frame("b.py", "middle"), frame("c.py", "inner")]
    assert trace_distance(reported, reported) == 0
    assert trace_distance(reported, [reported[0], frame("x.py", "new"), reported[2]]) == pytest.approx(1 / 3)
    assert trace_distance(reported, list(reversed(reported))) == pytest.approx(2 / 3)
    assert trace_distance([], reported) == 0
    assert trace_distance(reported, []) == 1


def test_innermost_frame_decides_the_place() -> None:
    reported = [frame("a.py", "outer"), frame("b.py", "inner")]
    assert innermost_met(reported, [frame("lib/b.py", "inner")])
    assert not innermost_met(reported, [frame("lib/b.py", "other")])
    assert innermost_met([], [])


def test_unreached_share_and_botsing_weights() -> None:
    assert unreached(["load", "parse"], ["box/core.py:load"]) == 0.5
    assert crash_distance(0, 0, 0) == 0
    assert crash_distance(0, 0, 1) == 1 / 6
    assert crash_distance(0, 1, 0) == 0.5  # the trace counts in full until the exception is met
    assert crash_distance(1, 0, 0) == 1


def test_chain_goes_through_groups_and_causes() -> None:
    cause = Failure(type="KeyError")
    group = Failure(type="ExceptionGroup", members=(Failure(type="ValueError", cause=cause),))
    assert [failure.type for failure in chain(group)] == ["ExceptionGroup", "ValueError", "KeyError"]
