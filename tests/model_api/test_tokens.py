"""Estimates bound the true count from both sides, and learn from it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebug.model_api import estimate, estimate_prompt
from rebug.model_api.scripted.cache import tokens
from rebug.model_api.tokens import Calibration


@pytest.mark.parametrize(
    ("text", "count"),
    # Counted with o200k_base.
    [
        ("Hello, world!", 4),
        ("def add(a, b):\n    return a + b\n", 14),
        ("1234567890", 4),
        ("", 0),
        ("internationalization", 2),
    ],
)
def test_known_counts_lie_within(text: str, count: int) -> None:
    guess = estimate(text)
    assert guess.least <= count <= guess.most


@given(st.text(max_size=300))
def test_the_bounds_are_in_order(text: str) -> None:
    guess = estimate(text)
    assert 0 <= guess.least <= guess.likely <= guess.most
    assert guess.least <= len(tokens(text))


def test_both_parts_count() -> None:
    one, both = estimate("word " * 100), estimate_prompt("word " * 100, "word " * 100)
    assert 2 * one.likely <= both.likely <= 2 * one.likely + 50


def test_the_providers_count_corrects_the_estimates() -> None:
    calibration = Calibration()
    guess = estimate("some text of a report, with code(): " * 200)
    assert calibration.most(guess) == guess.most
    calibration.learn(guess, 0)
    assert calibration.likely(guess) == guess.likely
    true = round(guess.likely * 1.2)
    calibration.learn(guess, true)
    assert calibration.likely(guess) == pytest.approx(true, abs=1)
    assert true <= calibration.most(guess) <= 1.15 * true


def test_a_megabyte_takes_no_time() -> None:
    started = time.process_time()
    estimate("x = {'a': 1}  # é\n" * 55_000)
    assert time.process_time() - started < 5
