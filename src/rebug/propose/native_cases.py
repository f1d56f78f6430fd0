"""Inputs that compiled code often mishandles, as families of calls. Part of the source of a probe: see `native_probe`.

`HELPERS` are the functions that scripts made of a hit carry with them; a case is one call as source text.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Targets = list[dict[str, str]]  # calls with a hole for text or bytes
    Offered = list[tuple[str, str]]  # (import, expression of something callable)
    Cases = Iterator[list[dict[str, str]]]

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
    """An empty container in a container in a container, and so on."""
    value = kind()
    for _ in range(depth):
        value = {"a": value} if kind is dict else kind([value])
    return value
''',
    "meddler": '''\
class Meddler:
    """Calls `act` whenever it is asked for anything."""

    def __init__(self, act):
        self.act = act

    def __call__(self, *_):
        self.act()
        return "a"

    __str__ = __repr__ = __format__ = __call__

    def __hash__(self):
        self.act()
        return 1

    __index__ = __int__ = __len__ = __hash__

    def __eq__(self, _):
        self.act()
        return True

    __lt__ = __gt__ = __contains__ = __eq__

    def __iter__(self):
        self.act()
        return iter("ab")
''',
}

SPECIAL = ('"', "a", "\\", "\n", " ", "<", "&", "0", "[", "{", "'", "\x00", "\x7f", "\u00e9", "\u20ac", "\U0001f600")
DOCUMENTS = ('"a"', "[1]", "1", "-1.5e3", "true", '{"a":"b"}', '"\\n"', "<a>b</a>", "a: b", "2024-01-01T00:00:00Z")


def case(line: str, target: str, body: str, helper: str = "") -> dict[str, str]:
    return {"import": line, "target": target, "helper": helper, "body": body}


def page(plan: dict[str, Any], found: Targets, _: Offered) -> Cases:
    """Data that ends just before a page that is not mapped: uniform text, and documents after blanks."""
    fillings = [(mark, mark) for mark in SPECIAL]
    fillings += [(tail, " ") for tail in (*plan["documents"], *DOCUMENTS)]
    for gaps in (range(8, 16), range(16, 40)):
        for target in found:
            line, call = target["import"], target["call"]
            yield [case(line, call, at_end(target, tail, fill, gap), "page") for tail, fill in fillings for gap in gaps]


def at_end(target: dict[str, str], tail: str, fill: str, gap: int) -> str:
    """The loop over data of the kind a call takes."""
    left, right = repr(tail), repr(fill)
    if target["kind"] == "bytes":
        left, right = repr(tail.encode()), repr((fill if fill < "\x80" else " ").encode())
    call = target["call"].format(x="data")
    suppressed = "    try:\n        " + call + "\n    except Exception:\n        pass"
    lines = suppressed if target["raises"] else "    " + call
    return "for data in at_page_end(" + left + ", " + right + ", " + str(gap) + "):\n" + lines


OPENINGS = (
    *(
        ("[", "]"),
        ("(", ")"),
        ("{", "}"),
        ('{"a":', "}"),
        ("<a>", "</a>"),
        ("(?:", ")"),
        ("-", ""),
        ("!", ""),
        ("~", ""),
    ),
    *(("> ", ""), ("- ", ""), ("*", "*"), ("not ", ""), ("a.", "a"), ("a+", "a"), ("a|", "a"), ("a,", "")),
)
BINARY = (
    b"\x91",
    b"\x81\x01",
    b"\x81",
    b"\xa1a",
    b"\xc1",
    b"\xd8\x1e",
    b"l",
    b"d1:a",
    b"0\x80",
    b"\xdd\x00\x00\x00\x01",
)
"""Bytes that open an array, a map or a tag of one element in MessagePack, CBOR, bencode and ASN.1."""


def deep(_: dict[str, Any], found: Targets, offered: Offered) -> Cases:
    """Data nested so deeply that code which calls itself for each level runs out of stack."""
    for depth in (200000, 20000):
        for target in found:
            line, call = target["import"], target["call"]
            if target["kind"] == "bytes":
                texts = [repr(mark) + " * " + str(depth) for mark in BINARY]
                texts += [repr(mark.encode()) + " * " + str(depth) for mark, _ in OPENINGS[:5]]
            else:
                texts = [repr(a) + " * " + str(depth) + " + " + repr(b) + " * " + str(depth) for a, b in OPENINGS]
            yield [case(line, call, call.format(x=text)) for text in texts]
        for line, text in offered:
            made = ["nested(" + kind + ", " + str(depth) + ")" for kind in ("list", "dict", "tuple")]
            yield [case(line, text, text + "(" + value + ")", "nested") for value in made]


WILD = (
    *(
        "None",
        "True",
        "0",
        "-1",
        "1",
        "255",
        "2**31 - 1",
        "2**31",
        "-(2**31)",
        "2**32",
        "2**63 - 1",
        "2**63",
        "-(2**63)",
    ),
    *("2**64", "10**400", "1.5", "float('nan')", "float('inf')", "1e308", "''", "'a'", "'\\ud800'", "'\\0'", "'\\xe9'"),
    *("'\\u20ac'", "'\\U0001f600'", "'a' * 10**6", "b''", "b'\\0'", "b'a'", "b'\\xff' * 100", "bytearray(b'abc')"),
    *("bytearray()", "memoryview(b'')", "memoryview(b'abcdef')[::2]", "[]", "[[]]", "[None]", "['a']", "[1, 2]", "()"),
    *(
        "('a',)",
        "(1, 2)",
        "{}",
        "{'a': 1}",
        "{1: 2}",
        "set()",
        "{'a'}",
        "object()",
        "type",
        "len",
        "iter(())",
        "range(3)",
    ),
    "...",
)
SOME = ("None", "0", "-1", "2**31", "2**63 - 1", "''", "'a'", "b''", "b'a'", "[]", "['a', 'b']", "{}", "()", "object()")
FEW = ("None", "-1", "2**31", "'a'", "b'a'", "[]")


def wild(plan: dict[str, Any], _: Targets, offered: Offered) -> Cases:
    """Values of every type, at their limits and empty, alone and together."""
    for line, text in offered:
        calls = [text + "()", *(text + "(" + value + ")" for value in WILD)]
        yield [case(line, text, call) for call in calls]
    for line, text in offered:
        yield [case(line, text, text + "(" + a + ", " + b + ")") for a in SOME for b in SOME]
    for line, text in offered:
        yield [case(line, text, text + "(" + ", ".join((a, b, c)) + ")") for a in FEW for b in FEW for c in FEW]
    if plan["raw"]:
        for line, text in offered:
            made = "data = " + text + ".__new__(" + text + ")\n"
            yield [case(line, text, made + use) for use in ("repr(data)", "len(data)", "iter(data)", "hash(data)")]


def reported(plan: dict[str, Any], _: Targets, offered: Offered) -> Cases:
    """The values that the report quotes, the last ones first: each alone, in pairs, and with each by its name."""
    values = plan["quoted"]
    texts = [value for _, value in values]
    for line, text in offered:
        calls = [text + "(" + value + ")" for value in texts]
        calls += [text + "(" + a + ", " + b + ")" for a in texts for b in texts if a != b]
        calls += [text + "(" + a + ", " + k + "=" + b + ")" for a in texts for k, b in values if k and a != b]
        yield [case(line, text, call) for call in calls]


ENDS = ("close", "clear", "release", "reset", "finish", "end", "detach", "stop", "free", "pop", "shutdown", "delete")


def life(_: dict[str, Any], __: Targets, offered: Offered) -> Cases:
    """Objects used after their end, and containers changed by a call back while they are read."""
    for line, text in offered:
        head, dot, name = text.rpartition(").")
        if dot and name not in ENDS:
            owner, ends = head + ")", [t.rpartition(").")[2] for _, t in offered if t.startswith(head + dot)]
            made = "data = " + owner + "\n"
            for end in [e for e in ends if e in ENDS]:
                after = made + "data." + end + "()\n"
                yield [case(line, text, after + "data." + name + "(" + value + ")") for value in ("", *FEW)]
                meddled = made + "data." + name + "(%sMeddler(data." + end + "))"
                yield [case(line, text, meddled % value, "meddler") for value in ("", "'a', ", "1, ")]
        fills = ("data = [1, 2, 3, 4]\ndata[1] = ", "data = {'a': 1, 'b': 2, 'c': 3}\ndata['b'] = ")
        bodies = [fill + "Meddler(data.clear)\n" + text + "(data)" for fill in fills]
        for hook in ("default", "object_hook", "key", "callback", "hook", "func"):
            bodies += [fill + "object()\n" + text + "(data, " + hook + "=Meddler(data.clear))" for fill in fills]
        yield [case(line, text, body, "meddler") for body in bodies]


FAMILIES = {"page": page, "deep": deep, "wild": wild, "reported": reported, "life": life}
