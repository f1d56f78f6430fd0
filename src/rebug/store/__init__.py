"""The run journal: what happened in a run, in order, so that it can be read later and while it is written."""

from rebug.store.convert import Json, decode, encode
from rebug.store.journal import MemoryJournal, SqliteJournal

__all__ = ["Json", "MemoryJournal", "SqliteJournal", "decode", "encode"]
