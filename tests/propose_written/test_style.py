from __future__ import annotations

import pytest

from rebug.propose.written import SECTIONS, SINGLE, style_for


@pytest.mark.parametrize(
    ("model", "local", "style"),
    [
        ("qwen2.5-coder-1.5b", True, SINGLE),
        ("qwen2.5-coder:7b", True, SINGLE),
        ("Qwen/Qwen3-Coder-30B-A3B", True, SECTIONS),
        ("llama3.3:70b", True, SECTIONS),
        ("my-model", True, SINGLE),
        ("gpt-4o-mini", False, SECTIONS),
        ("gemma-3-4b", False, SECTIONS),
    ],
)
def test_a_local_model_is_spoken_to_by_its_size(model: str, local: bool, style: object) -> None:
    assert style_for(model, local=local) is style


def test_independent_sampling_asks_in_one_of_the_styles_own_ways() -> None:
    assert all(style.fresh in style.writers for style in (SECTIONS, SINGLE))
