"""Proposers that ask a language model: what it is shown, how it is asked, and how its replies are read."""

from rebug.propose.written.author import EFFORTS, LOCAL, Author, Effort, writers
from rebug.propose.written.context import shared_context
from rebug.propose.written.reply import Written, read_reply

__all__ = ["EFFORTS", "LOCAL", "Author", "Effort", "Written", "read_reply", "shared_context", "writers"]
