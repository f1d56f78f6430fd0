"""A small application with a bug, and a provider on loopback that writes scripts about it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rebug.model_api.scripted import Answer, Call, Script, ScriptedServer

SOURCE = '''
class Shelf:
    """Holds items by name."""

    def __init__(self):
        self.items = {}

    def put(self, name, item):
        self.items[name.strip()] = item

    def take(self, name):
        """Gives back the item put under a name, and None when there is none."""
        return self.items.get(name)


def rename(shelf, old, new):
    shelf.put(new, shelf.take(old))
'''

REPORT = """# A renamed item is lost

When I rename an item on a shelf whose name was given with blanks around it, the item is gone and I get nothing at all.
It has to do with `rename` and `Shelf.take`, I think. The item should be found under its new name.
"""

FURTHER = "".join(
    f'''

def shelf_report_{n}(shelf, name, limit={n}):
    """Tells of an item on a shelf, take after take, up to a limit, for the rename report of kind {n}."""
    taken = [shelf.take(name) for _ in range(limit)]
    return {{"name": name, "count": len(taken), "kind": {n}}}
'''
    for n in range(60)
)
"""Enough of a source that the shared context is long enough to be cached."""

HIT = """from shelves import Shelf, rename

shelf = Shelf()
shelf.put(" a ", 7)
rename(shelf, " a ", "b")
actual = shelf.take("b")
assert actual == 7, f"expected 7, got {actual}"
"""


def miss(number: int) -> str:
    put = f"shelf.put('a', {number})"
    calls = "rename(shelf, 'a', 'b')\nprint(shelf.take('b'))"
    return f"from shelves import Shelf, rename\n\nshelf = Shelf()\n{put}\n{calls}\n"


def sections(*scripts: str) -> str:
    return "\n".join(f"## {n}\nclaim: cause {n}\n```python\n{text}```\n" for n, text in enumerate(scripts, 1))


def reviews(call: Call) -> str:
    ids = [line[3:] for line in call.suffix.splitlines() if line.startswith("## c")]
    return "\n".join(f"## {i}\nnearness: 40\nshows: it calls rename\nmissing: blanks\nnext: add blanks\n" for i in ids)


class Writer:
    """Answers as a model would: misses with new values each time, reviews, and a hit in the round asked for."""

    def __init__(self, hit_at: int = 0) -> None:
        self.written = 0
        self.hit_at = hit_at

    def __call__(self, call: Call) -> Answer:
        if "# Task: review" in call.suffix:
            return Answer(text=reviews(call))
        self.written += 1
        if self.written == self.hit_at:
            return Answer(text=sections(HIT))
        return Answer(text=sections(*(miss(10 * self.written + n) for n in range(3))))


@pytest.fixture
def application(tmp_path: Path) -> Path:
    tree = tmp_path / "application"
    tree.mkdir()
    (tree / "shelves.py").write_text(SOURCE + FURTHER)
    (tmp_path / "report.md").write_text(REPORT)
    return tree


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ScriptedServer]:
    """An OpenAI-like provider whose answers all miss; its address is where `openai:` models are looked for."""
    with ScriptedServer(Script(reply=Writer())) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef0123456789")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url("openai"))
        monkeypatch.setenv("REBUG_CACHE", str(tmp_path / "cache"))
        yield server
