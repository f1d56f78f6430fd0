"""The job server in its four variants, as directories that rebug is given as source."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
VARIANTS = ("contention", "previews", "gil")


@pytest.fixture
def jobserver(tmp_path: Path) -> Callable[[str], Path]:
    """Makes the job server of that variant; "sound" is the one without a fault."""

    def make(variant: str) -> Path:
        place = tmp_path / variant
        shutil.copytree(HERE / "jobserver", place, ignore=shutil.ignore_patterns("__pycache__"))
        if variant != "sound":
            shutil.copytree(HERE / "variants" / variant, place, dirs_exist_ok=True)
        return place

    return make


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The whole way takes minutes: it is gone only when asked for, by `-m slow`."""
    if "slow" in config.getoption("-m"):
        return
    for item in items:
        if item.path.parent == HERE and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="takes minutes; run with `pytest -m slow`"))
