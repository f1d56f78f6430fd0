import pytest

from rebug.confirm import repeats, wilson
from rebug.confirm.statistics import more_runs, stable


@pytest.mark.parametrize(
    ("failures", "runs", "low", "high"),
    [(0, 0, 0.0, 1.0), (4, 4, 0.5101, 1.0), (0, 4, 0.0, 0.4899), (3, 40, 0.0258, 0.1986), (20, 40, 0.3520, 0.6480)],
)
def test_wilson_interval(failures: int, runs: int, low: float, high: float) -> None:
    assert wilson(failures, runs) == pytest.approx((low, high), abs=1e-4)


def test_repeats_state_rate_and_interval() -> None:
    seen = repeats(3, 40)
    assert (seen.runs, seen.failures, seen.rate) == (40, 3, 0.075)


@pytest.mark.parametrize(
    ("failures", "runs", "fickle", "more", "relied"),
    [
        (4, 4, False, False, True),
        (4, 4, True, True, True),  # the rate may still be 51 %
        (3, 4, False, True, False),
        (0, 4, True, False, False),
        (20, 20, True, False, True),
        (19, 20, True, False, True),
        (18, 20, True, True, False),
        (10, 20, False, True, False),
        (3, 40, True, False, False),
        (0, 0, True, False, False),
    ],
)
def test_what_comes_and_goes_is_run_until_its_rate_is_known(
    failures: int, runs: int, fickle: bool, more: bool, relied: bool
) -> None:
    assert more_runs(failures, runs, fickle=fickle) is more
    assert stable(failures, runs) is relied
