"""Two journals with one behaviour: a file that survives the process, and a list for tests and embedding."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

from rebug.errors import InputError
from rebug.store.convert import plain

_SCHEMA = "CREATE TABLE IF NOT EXISTS event (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, data TEXT NOT NULL)"
_PAGE = 256  # events read per query, so that a reader holds no lock and no long transaction


class MemoryJournal:
    """A journal that lives as long as the object. Events are copies: later changes to `data` do not show."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: list[tuple[int, str, str]] = []

    def append(self, kind: str, data: Mapping[str, object]) -> int:
        """Remembers one event; returns its number, from 1 upwards without gaps."""
        text = _dump(data)
        with self._lock:
            seq = len(self._events) + 1
            self._events.append((seq, kind, text))
        return seq

    def events(self) -> Iterator[tuple[int, str, Mapping[str, object]]]:
        """All events in order, those appended during the iteration included."""
        position = 0
        while position < len(self._events):
            seq, kind, text = self._events[position]
            yield seq, kind, json.loads(text)
            position += 1


class SqliteJournal:
    """A journal in one SQLite file (WAL), which other processes may read while it is being written.

    When `append` returns, the event survives the end of this process, kill -9 included. A power cut may cost the last
    events (`synchronous=NORMAL`), never the file. Safe to use from several threads.
    """

    def __init__(self, path: Path) -> None:
        """Opens `path`, or creates it. Raises InputError when it is not a journal or cannot be opened."""
        self.path = path
        self._lock = threading.Lock()
        try:
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10.0)
        except sqlite3.Error as error:
            raise InputError(f"{path}: cannot be opened as a journal: {error}") from error
        try:
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute(_SCHEMA)
        except sqlite3.Error as error:
            self._connection.close()
            raise InputError(f"{path}: is not a journal of rebug: {error}") from error

    def append(self, kind: str, data: Mapping[str, object]) -> int:
        """Remembers one event; returns its number, from 1 upwards without gaps."""
        text = _dump(data)
        with self._lock:
            cursor = self._connection.execute("INSERT INTO event (kind, data) VALUES (?, ?)", (kind, text))
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def events(self) -> Iterator[tuple[int, str, Mapping[str, object]]]:
        """All events in order, those appended during the iteration included."""
        last = 0
        while page := self._page(last):
            for seq, kind, text in page:
                yield seq, kind, json.loads(text)
                last = seq

    def _page(self, after: int) -> list[tuple[int, str, str]]:
        query = "SELECT seq, kind, data FROM event WHERE seq > ? ORDER BY seq LIMIT ?"
        with self._lock:
            return self._connection.execute(query, (after, _PAGE)).fetchall()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _dump(data: Mapping[str, object]) -> str:
    return json.dumps(plain(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
