import pytest

from rebug.model import Critique, Ended, Loss, Observation, Stage, Trial, Verdict
from rebug.propose.written.bandit import Arm, gains, order
from tests.search.conftest import candidate


def trial(proposer: str, loss: float) -> Trial:
    return Trial(
        candidate=candidate("x = 1\n", proposer=proposer),
        observation=Observation(ended=Ended.EXITED, exit=0),
        loss=Loss(total=loss, stage=Stage.INSIDE),
        verdict=Verdict.REFUTED,
        critique=Critique(shows=""),
    )


def test_what_was_never_asked_comes_first_in_the_given_order() -> None:
    assert order([Arm(name="a", calls=3, gain=0.9), Arm(name="b"), Arm(name="c")]) == ["b", "c", "a"]


def test_gain_per_cent_decides() -> None:
    arms = [Arm(name="dear", calls=4, gain=0.4, cents=4.0), Arm(name="cheap", calls=4, gain=0.4, cents=1.0)]
    assert order(arms) == ["cheap", "dear"]


def test_free_models_are_compared_by_gain_alone() -> None:
    assert order([Arm(name="a", calls=4, gain=0.1), Arm(name="b", calls=4, gain=0.6)]) == ["b", "a"]


def test_what_was_asked_little_is_tried_again() -> None:
    arms = [Arm(name="often", calls=50, gain=1.0, cents=50.0), Arm(name="seldom", calls=1, gain=0.0, cents=1.0)]
    assert order(arms)[0] == "seldom"


def test_gains_are_improvements_on_the_best_so_far() -> None:
    trials = [
        trial("snippet", 0.8),
        trial("model:refine", 0.5),
        trial("model:refine", 0.6),
        trial("model:cross", 0.4),
    ]
    assert gains(trials) == {"model:refine": pytest.approx(0.3), "model:cross": pytest.approx(0.1)}
