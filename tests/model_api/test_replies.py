"""A run that is resumed pays for nothing twice, and knows what it paid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rebug.errors import CapReached, ModelFailed
from rebug.model_api import JournalReplies, Ledger, ModelRun, Reply, Transcript
from rebug.model_api.scripted import Answer
from rebug.store import MemoryJournal, SqliteJournal

from .conftest import CONTEXT, KEY, Open, Serve, Time, ask


def test_a_second_run_takes_every_reply_from_the_journal(serve: Serve, opened: Open, tmp_path: Path) -> None:
    server = serve("a", "b", "c", otherwise="new")
    model = opened(server)
    with SqliteJournal(tmp_path / "journal.sqlite") as journal:
        ledger = Ledger(model.name)
        first = ModelRun(model, ledger=ledger, replies=JournalReplies(journal, ledger))
        requests = [ask(str(number)) for number in range(3)]
        before = first.complete_all(requests)
        paid = first.cost()
    with SqliteJournal(tmp_path / "journal.sqlite") as journal:
        ledger = Ledger(model.name)
        again = ModelRun(model, ledger=ledger, replies=JournalReplies(journal, ledger))
        assert again.cost() == paid
        after = again.complete_all([*requests, ask("another")])
    assert [reply.text for reply in after if isinstance(reply, Reply)] == ["a", "b", "c", "new"]
    assert [reply.replayed for reply in after if isinstance(reply, Reply)] == [True, True, True, False]
    assert server.answered == 4
    assert again.cost().calls == 4
    first_reply, same = before[0], after[0]
    assert isinstance(first_reply, Reply)
    assert isinstance(same, Reply)
    assert (same.usage, same.usd, same.finish) == (first_reply.usage, first_reply.usd, first_reply.finish)


def test_a_call_that_was_sent_and_never_answered_counts_at_its_worst(serve: Serve, opened: Open) -> None:
    journal = MemoryJournal()
    journal.append("model_sent", {"key": "k", "label": "", "usd": 0.004, "tokens": 30_000})
    journal.append("model_sent", {"key": "j", "label": "", "usd": 0.001, "tokens": 10_000})
    journal.append("model_failed", {"key": "j", "billed": False})
    model = opened(serve(otherwise="x"))
    ledger = Ledger(model.name, max_usd=0.005, max_tokens=40_000)
    run = ModelRun(model, ledger=ledger, replies=JournalReplies(journal, ledger))
    assert run.cost().usd_uncertain == pytest.approx(0.004)
    with pytest.raises(CapReached):
        run.complete(ask())


def test_asking_twice_on_purpose_is_two_calls(serve: Serve, opened: Open) -> None:
    server = serve("a", "b")
    model = opened(server)
    ledger = Ledger(model.name)
    run = ModelRun(model, ledger=ledger, replies=JournalReplies(MemoryJournal(), ledger))
    assert [run.complete(ask(sample=number)).text for number in (0, 1, 0, 1)] == ["a", "b", "a", "b"]
    assert server.answered == 2


def test_failed_attempts_are_journaled(serve: Serve, opened: Open, time: Time) -> None:
    journal = MemoryJournal()
    model = opened(serve(Answer(status=500), Answer(text="y", drop="before"), Answer(status=400)))
    ledger = Ledger(model.name)
    replies = JournalReplies(journal, ledger)
    run = ModelRun(model, ledger=ledger, replies=replies, clock=time.clock, sleep=time.sleep)
    with pytest.raises(ModelFailed):
        run.complete(ask())
    kinds = [(kind, data.get("billed")) for _, kind, data in journal.events()]
    assert kinds == [
        ("model_sent", None),
        ("model_failed", False),
        ("model_sent", None),
        ("model_failed", True),
    ]
    again = Ledger(model.name)
    JournalReplies(journal, again)
    assert again.cost().usd_uncertain == run.cost().usd_uncertain > 0


def test_neither_key_nor_prompt_gets_into_journal_or_files(serve: Serve, opened: Open, tmp_path: Path) -> None:
    model = opened(serve("print('a reply')", Answer(status=401, message="bad key {key}")))
    journal = MemoryJournal()
    ledger = Ledger(model.name)
    transcript = Transcript(tmp_path / "model")
    run = ModelRun(model, ledger=ledger, replies=JournalReplies(journal, ledger), transcript=transcript)
    run.complete_all([ask("first"), ask("second")])
    kept = json.dumps([data for _, _, data in journal.events()])
    assert KEY not in kept
    assert CONTEXT[:80] not in kept
    files = {path.name: path.read_text() for path in (tmp_path / "model").iterdir()}
    assert not [name for name, text in files.items() if KEY in text]


def test_the_transcript_has_all_that_was_sent_and_received(serve: Serve, opened: Open, tmp_path: Path) -> None:
    model = opened(serve("print('a reply')", "another"))
    run = ModelRun(model, transcript=Transcript(tmp_path))
    run.complete(ask("the task", label="diagnose/1 x"))
    ModelRun(model, transcript=Transcript(tmp_path)).complete(ask("the second"))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names[:2] == ["0001-diagnose-1-x.txt", "0002-test.txt"]
    assert (tmp_path / names[2]).read_text() == CONTEXT
    text = (tmp_path / names[0]).read_text()
    assert names[2] in text
    assert "the task" in text
    assert "print('a reply')" in text
    assert "0 cached" in text
