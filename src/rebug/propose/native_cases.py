"""Inputs that compiled code often mishandles, as families of calls. Part of the source of a probe: see `native_probe`.

`HELPERS` are the functions that scripts made of a hit carry with them; a case is one call as source text.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

HELPERS = {
    "page": '''\
import mmap
import sys


def at_page_end(tail, fill, gap):
    """Copies of `tail`, filled up on the left, whose memory ends `gap` bytes before a page that is not mapped.

    Large objects have a mapping of their own, each below the one made before it (glibc: 16 bytes of it are malloc's,
    and the end is aligned). With every other one gone, a read past the end of the others is a read of nothing.
    """
    both = fill + tail
    width = (sys.getsizeof(both * 2) - sys.getsizeof(both)) // len(both)
    header = sys.getsizeof(both) - width * len(both)
    copies = [tail.rjust((MAPPED * mmap.PAGESIZE - 16 - header - gap) // width, fill) for _ in range(4)]
    del copies[::2]
    return copies
''',
    "nested": '''\
def nested(kind, depth):
    """An empty container in a container in a container …"""
    value = kind()
    for _ in range(depth):
        value = {"a": value} if kind is dict else kind([value])
    return value
''',
}

SPECIAL = ('"', "a", "\\", "\n", " ", "<", "&", "0", "[", "{", "'", "\x00", "\x7f", "\u00e9", "\u20ac", "\U0001f600")
DOCUMENTS = ('"a"', "[1]", "1", "-1.5e3", "true", '{"a":"b"}', '"\\n"', "<a>b</a>", "a: b", "2024-01-01T00:00:00Z")


def case(target: dict[str, str], body: str, helper: str = "") -> dict[str, str]:
    return {"import": target["import"], "target": target["call"], "helper": helper, "body": body}


def page(plan: dict[str, Any], found: list[dict[str, str]]) -> Iterator[list[dict[str, str]]]:
    """Data that ends just before a page that is not mapped: uniform text, and documents after blanks."""
    fillings = [(mark, mark) for mark in SPECIAL]
    fillings += [(tail, " ") for tail in (*plan["documents"], *DOCUMENTS)]
    for gaps in (range(8, 16), range(16, 40)):
        for target in found:
            yield [case(target, at_end(target, tail, fill, gap), "page") for tail, fill in fillings for gap in gaps]


def at_end(target: dict[str, str], tail: str, fill: str, gap: int) -> str:
    """The loop over data of the kind a call takes."""
    left, right = repr(tail), repr(fill)
    if target["kind"] == "bytes":
        left, right = repr(tail.encode()), repr((fill if fill < "\x80" else " ").encode())
    call = target["call"].format(x="data")
    suppressed = "    try:\n        " + call + "\n    except Exception:\n        pass"
    lines = suppressed if target["raises"] else "    " + call
    return "for data in at_page_end(" + left + ", " + right + ", " + str(gap) + "):\n" + lines


FAMILIES = {"page": page}
