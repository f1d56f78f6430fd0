"""Inputs that grow: Python expressions in `n`, the likeliest for what a report says first. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rebug.intake.shapes import named_characters
from rebug.propose.formats import SEEDS, guess
from rebug.propose.turns import in_turn

# fmt: off
_PIECES = ("a\n", "a ", "a", "a,", "\\", "(", "[", "{", "<", '"', "'", "`", "*a", "_", "\n", " ", "a=b;", "a: b\n",
           "a&b=", "/a", "..", "#", "-", "[a](", "<a>", "!", "&", "\t", "0", "()", "[]", "\r\n", "é")
# fmt: on
"""What inputs often have many of."""

_SAMPLES: tuple[tuple[str, str], ...] = (
    (r"header|disposition|content.?type|mime|multipart|param", 'form-data; name="a"; filename="b"'),
    (r"header|charset|accept|media.?type", "text/html; charset=utf-8; q=0.5, a/b"),
    (r"cookie", 'a=b; c="d"; Path=/'),
    (r"auth|digest|challenge", 'Digest realm="a", nonce="b"'),
    (r"\blinks?\b", '<http://a/b>; rel="next"; title="c"'),
    (r"range", "bytes=0-1,2-3"),
    (r"forwarded", 'for=1.2.3.4;proto=http;by="a"'),
    (r"mark ?down|emphasis|commonmark|\bmd\b", "a *b* **c** `d` [e](f) ![g](h)\n"),
    (r"html|\bxml|\btags?\b", '<a href="b">c</a><!-- d -->'),
    (r"ur[li]\b|link|query", "http://a.b/c?d=e&f=g#h"),
    (r"e?mail|address", '"a b" <c@d.example>, e@f.example'),
    (r"date|time|duration", "2024-02-29T12:30:00.5+01:00"),
    (r"version|specifier|requirement", "a[b]>=1.0,<2; python_version < '3'"),
    (r"css|style", "a:hover { b: c; d: url(e) }"),
    (r"template|format", "{{ a }} {% b %} ${c} {d!r}"),
    (r"log|comment|string|quot", '"a\\"b" # c'),
    (r"user.?agent", "Mozilla/5.0 (X11; Linux x86_64) a/1.0 (b, c) d/2"),
)
"""Words of a report or of a function's name, and an input that such functions read."""

_CUTS = 7
_NAMED = 6


def samples(words: str, given: Iterable[str]) -> list[str]:
    """Short inputs to start from: those given, then what the words make likely; 200 characters each at most."""
    made = [sample for pattern, sample in _SAMPLES if re.search(pattern, words, re.IGNORECASE)]
    kind = guess(words)
    made += [seed for seed in SEEDS.get(kind, ())[:2] if len(seed) <= 200]
    return [text for text in dict.fromkeys([*given, *made]) if 0 < len(text) <= 200]


def texts(told: str, given: Sequence[str]) -> Iterator[str]:
    """Expressions of texts that grow with `n`. `told` is the report's text, `given` are samples to start from."""
    named = named_characters(told)[:_NAMED]
    made = [
        _alone(_quoted_pieces(told)),
        (f"('a' * 80 + {char!r}) * n" for char in (*named, "\n", ",", " ")),
        _alone(piece for piece in _PIECES if set(piece) & set(named)),
        _alone(f"{char}{tail}" for char in named for tail in ("", "a", " ", "a\n")),
        _after(named),
        _within(given, named),
        (f"{sample!r} * n" for sample in given),
        _alone(_PIECES),
        _within(given[:2], ("a", " ", "0", "\n", "\\", ",")),
    ]
    yield from dict.fromkeys(in_turn(*made))


def _quoted_pieces(told: str) -> list[str]:
    """Short pieces that the report shows as code or in quotes, and that are no names."""
    shown = re.findall(r"`([^`\n]{1,12})`|\"([^\"\n]{1,8})\"", told[:50_000])
    pieces = [a or b for a, b in shown]
    return [piece for piece in dict.fromkeys(pieces) if not re.fullmatch(r"[\w.]+(\(\))?", piece)][:8]


def _alone(pieces: Iterable[str]) -> Iterator[str]:
    for piece in pieces:
        yield f"{piece!r} * n"
        if len(piece) <= 2 and not piece.isalnum():
            yield f"'a' + {piece!r} * n + 'a'"
            yield f"{piece!r} * n + 'a' + {piece[::-1]!r} * n"


def _after(named: Sequence[str]) -> Iterator[str]:
    """One mark, then many of another: what opens and is never closed."""
    for first in named:
        for many in named:
            if first != many:
                yield f"{first!r} + {many!r} * n"
                yield f"{first!r} + {many!r} * n + 'a'"
        yield f"{first!r} + 'a' * n"


def _within(given: Sequence[str], many: Sequence[str]) -> Iterator[str]:
    """A sample with many of a character at one of its places, the rest of it left out or kept."""
    for char in many:
        for sample in given[:4]:
            for cut in _cuts(sample, many):
                yield f"{sample[:cut]!r} + {char!r} * n"
        for sample in given[:4]:
            for cut in _cuts(sample, many):
                yield f"{sample[:cut]!r} + {char!r} * n + {sample[cut:]!r}"


def _cuts(sample: str, marks: Sequence[str]) -> list[int]:
    """Places in a sample: behind marks that the report names, then behind other punctuation and words."""
    places = [found.end() for found in re.finditer(r"\W|\w+", sample)]
    told = [place for place in places if sample[place - 1] in marks and not sample[place - 1].isalnum()]
    others = [place for place in places if place not in told]
    return list(dict.fromkeys([*told[:4], *others[:: max(1, len(others) // 4)], *told]))[:_CUTS]


def lists(given: Sequence[str]) -> Iterator[str]:
    """Expressions of lists that grow with `n`."""
    first = given[0] if given else "a"
    yield from (
        "[str(i) for i in range(n)]",
        f"[{first!r}] * n",
        "list(range(n))",
        "[('a%d' % i, 'b') for i in range(n)]",
        "[{'a': i, 'b': str(i)} for i in range(n)]",
        "[[i, i + 1] for i in range(n)]",
        "[('a', str(i)) for i in range(n)]",
        "[b'a'] * n",
    )


def mappings() -> Iterator[str]:
    """Expressions of dicts that grow with `n`."""
    yield from ("{'a%d' % i: 'b' for i in range(n)}", "{'a': ['b'] * n}", "{'a%d' % i: {'b': i} for i in range(n)}",
                "{'a': 'b' * n}", "{i: [i + 1] for i in range(n)}",
                "{'a%d' % i: ['a%d' % (i + 1)] for i in range(n)}")  # fmt: skip


def numbers() -> Iterator[str]:
    """Expressions of numbers that grow with `n`, in value or in digits."""
    yield from ("n", "10 ** n", "'1' * n")
