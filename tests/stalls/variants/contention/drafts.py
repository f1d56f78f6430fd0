"""What the user is typing, checked as it comes in."""

from __future__ import annotations

WORDS = [f"word{n}" for n in range(20_000)]


def check(text: str, queue) -> list[str]:
    """The words that no node knows, with the nearest that one does."""
    with queue.lock:  # the nodes must not change meanwhile
        return [nearest(word) for word in text.lower().split()]


def nearest(word: str) -> str:
    return max(WORDS, key=lambda known: sum(a == b for a in word for b in known))
