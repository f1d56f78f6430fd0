"""Proposers that ask a language model: what it is shown, how it is asked, and how its replies are read."""

from rebug.propose.written.author import Author
from rebug.propose.written.context import shared_context
from rebug.propose.written.reply import Written, read_reply
from rebug.propose.written.style import EFFORTS, SECTIONS, SINGLE, Effort, Style, style_for

__all__ = [
    "EFFORTS",
    "SECTIONS",
    "SINGLE",
    "Author",
    "Effort",
    "Style",
    "Written",
    "read_reply",
    "shared_context",
    "style_for",
]
