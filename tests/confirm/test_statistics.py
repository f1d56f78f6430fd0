import pytest

from rebug.confirm import repeats, wilson


@pytest.mark.parametrize(
    ("failures", "runs", "low", "high"),
    [(0, 0, 0.0, 1.0), (4, 4, 0.5101, 1.0), (0, 4, 0.0, 0.4899), (3, 40, 0.0258, 0.1986), (20, 40, 0.3520, 0.6480)],
)
def test_wilson_interval(failures: int, runs: int, low: float, high: float) -> None:
    assert wilson(failures, runs) == pytest.approx((low, high), abs=1e-4)


def test_repeats_state_rate_and_interval() -> None:
    seen = repeats(3, 40)
    assert (seen.runs, seen.failures, seen.rate) == (40, 3, 0.075)
