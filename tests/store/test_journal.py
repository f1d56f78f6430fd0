"""One contract for both journals."""

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rebug.errors import InputError
from rebug.ports import Journal
from rebug.store import MemoryJournal, SqliteJournal


@pytest.fixture(params=["memory", "sqlite"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    if request.param == "memory":
        yield MemoryJournal()
    else:
        with SqliteJournal(tmp_path / "journal.sqlite") as opened:
            yield opened


def test_events_come_back_in_order_with_their_numbers(journal: Journal) -> None:
    assert journal.append("first", {"a": 1}) == 1
    assert journal.append("second", {"b": [1, {"c": None}], "d": 1.5}) == 2

    assert list(journal.events()) == [(1, "first", {"a": 1}), (2, "second", {"b": [1, {"c": None}], "d": 1.5})]


def test_an_event_is_a_copy(journal: Journal) -> None:
    data: dict[str, object] = {"list": [1]}
    journal.append("x", data)
    data["list"] = [2]

    assert [event for _, _, event in journal.events()] == [{"list": [1]}]


def test_any_text_can_be_stored(journal: Journal) -> None:
    journal.append("x", {"text": "zero \0 emoji \U0001f41b half \udc80", "nan": float("nan")})

    assert [event for _, _, event in journal.events()] == [
        {"text": "zero \0 emoji \U0001f41b half \\udc80", "nan": None},
    ]


def test_what_json_lacks_is_refused_and_leaves_no_event(journal: Journal) -> None:
    with pytest.raises(TypeError, match="cannot be stored: object"):
        journal.append("x", {"thing": object()})

    assert list(journal.events()) == []


def test_events_appended_while_reading_are_seen(journal: Journal) -> None:
    for number in range(300):
        journal.append("n", {"n": number})
    seen = []
    for seq, _, _ in journal.events():
        seen.append(seq)
        if seq == 1:
            journal.append("late", {})

    assert seen == list(range(1, 302))


def test_threads_may_append_together(journal: Journal) -> None:
    def work() -> None:
        for number in range(50):
            journal.append("n", {"n": number})

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [seq for seq, _, _ in journal.events()] == list(range(1, 201))


def test_a_file_can_be_read_while_it_is_written_and_continued_later(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with SqliteJournal(path) as writer:
        writer.append("one", {})
        with SqliteJournal(path) as reader:
            assert [kind for _, kind, _ in reader.events()] == ["one"]
            writer.append("two", {})
            assert [kind for _, kind, _ in reader.events()] == ["one", "two"]
    with SqliteJournal(path) as again:
        assert again.append("three", {}) == 3


def test_an_appended_event_survives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    code = (
        "import os, signal, sys; from pathlib import Path; from rebug.store import SqliteJournal\n"
        "journal = SqliteJournal(Path(sys.argv[1]))\n"
        "for number in range(20): journal.append('n', {'n': number})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9

    with SqliteJournal(path) as journal:
        assert [data["n"] for _, _, data in journal.events()] == list(range(20))


def test_a_file_that_is_no_journal_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    path.write_text("not a database, but long enough to be taken for one " * 40)

    with pytest.raises(InputError, match="is not a journal of rebug"):
        SqliteJournal(path)
    with pytest.raises(InputError, match="cannot be opened"):
        SqliteJournal(tmp_path / "missing" / "journal.sqlite")


def test_the_file_is_plain_sqlite_for_other_tools(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with SqliteJournal(path) as journal:
        journal.append("one", {"é": "ü"})
    connection = sqlite3.connect(path)
    try:
        assert connection.execute("SELECT seq, kind, json_extract(data, '$.é') FROM event").fetchall() == [
            (1, "one", "ü")
        ]
    finally:
        connection.close()
