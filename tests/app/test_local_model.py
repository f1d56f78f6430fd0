"""The whole loop on a real small model behind an OpenAI-compatible server of the user's own. Optional and slow:

REBUG_TEST_MODEL=http://127.0.0.1:8080/v1 pytest -m local_model
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rebug.app import Options, reproduce
from rebug.report import JOURNAL
from rebug.store import SqliteJournal

pytestmark = [pytest.mark.local_model, pytest.mark.slow]


@pytest.fixture
def address() -> str:
    given = os.environ.get("REBUG_TEST_MODEL", "")
    if not given:
        pytest.skip("REBUG_TEST_MODEL names no server")
    return given


def test_a_small_model_is_asked_within_its_means(application: Path, address: str) -> None:
    """What the model says is its own affair; that it is asked well, heard, run, judged and billed is ours."""
    out = application.parent / "out"
    report = str(application.parent / "report.md")
    done = reproduce(
        Options(report=report, source=str(application), model=address, out=out, rounds=2, population=16, effort="low")
    )
    cost = done.result.cost
    assert cost.calls >= 4
    assert cost.usd in (None, 0.0)
    assert cost.cached_tokens > 0.5 * cost.input_tokens, "the shared context was read anew"
    assert cost.input_tokens < 4_000 * cost.calls
    sent = [path.read_text() for path in (out / "model").rglob("*") if path.is_file()]
    assert any("renamed item" in text for text in sent)
    with SqliteJournal(out / JOURNAL) as journal:
        run = [json.dumps(data) for _, kind, data in journal.events() if kind == "candidate"]
    assert any('"model:' in candidate for candidate in run), "nothing that the model wrote was run"
    if done.result.status == "reproduced":
        assert "assert" in (out / "repro.py").read_text()
