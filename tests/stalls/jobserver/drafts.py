"""What the user is typing, checked as it comes in."""

from __future__ import annotations

WORDS = {"photo", "of", "a", "cat", "in", "the", "style"}


def check(text: str, queue) -> list[str]:
    """The words that no node knows."""
    return [word for word in text.lower().split() if word not in WORDS]
