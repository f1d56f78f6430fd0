"""Changing values at random, making them smaller and writing them down: the part of a probe that runs nothing.

Like `prober` this text runs in the subject's interpreter (3.8 and later) and imports only the standard library.
"""

from __future__ import annotations

import random
import re
from typing import Any, Iterator  # noqa: UP035 - 3.8

INFINITE, NAN = float("inf"), float("nan")
ODD_TEXTS = (
    "",
    " ",
    "\n",
    "\0",
    "é",
    "İ",
    "ß",
    "日本",
    "\u2028",
    "\ufeff",
    "0",
    "-1",
    "%s",
    "{}",
    "null",
    "\\",
    "a" * 300,
)
ODD_NUMBERS = (0, 1, -1, 2, 10, 255, 256, 999, 1000, 2**31, 2**63, -(2**63), 0.0, -0.0, 0.5, 1e-9, 1e308, INFINITE, NAN)
TOKEN = re.compile(r"[A-Za-z_]+|[0-9]+|\s|.", re.DOTALL)
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LONGEST = 4000  # characters of a text; a collection has at most 200 items


# ------------------------------------------------------------------------------------------------------------ mutation


def mutate_text(text: str, rng: random.Random, words: list[str], lines: list[str], others: list[str]) -> str:
    """One small change of a text: on its lines when it has several (or lines are known), else on its tokens."""
    draw = rng.random()
    if draw < 0.04:
        return rng.choice(ODD_TEXTS)
    if draw < 0.09 and others:
        return splice(text, rng.choice(others), rng)
    if draw < 0.25 and words:
        return rename(text, rng, words)
    if ("\n" in text or lines) and draw < 0.85:
        return mutate_lines(text, rng, lines)
    return mutate_tokens(text, rng, words)


def splice(text: str, other: str, rng: random.Random) -> str:
    """Two texts as one, whole or cut at a line."""
    glue = "" if text.endswith("\n") or "\n" not in other else "\n"
    if rng.random() < 0.5:
        return text + glue + other
    ours, theirs = text.splitlines(keepends=True), other.splitlines(keepends=True)
    return "".join(ours[: rng.randint(0, len(ours))] + theirs[rng.randint(0, len(theirs)) :])


def rename(text: str, rng: random.Random, words: list[str]) -> str:
    """A word becomes another of the text or of the report, everywhere or once, so that names meet."""
    present = WORD.findall(text)
    if not present:
        return text + rng.choice(words)
    old, new = rng.choice(present), rng.choice(words + present)
    return re.sub(rf"\b{re.escape(old)}\b", lambda _: new, text, count=rng.choice((0, 1)))


def mutate_lines(text: str, rng: random.Random, pool: list[str]) -> str:
    parts = text.splitlines() or [""]
    at, end = sorted((rng.randrange(len(parts)), rng.randrange(len(parts))))
    block = parts[at : min(end, at + rng.randint(0, 3)) + 1]
    operation = rng.randrange(7)
    if operation == 0:  # repeat a block later
        to = rng.randint(at, len(parts))
        parts[to:to] = block
    elif operation == 1:
        del parts[at : at + len(block)]
    elif operation == 2:  # move
        del parts[at : at + len(block)]
        to = rng.randint(0, len(parts))
        parts[to:to] = block
    elif operation == 3:
        parts[at], parts[end] = parts[end], parts[at]
    elif operation == 4 and pool:
        parts.insert(rng.randint(0, len(parts)), rng.choice(pool))
    elif operation == 5:
        parts[at] = mutate_tokens(parts[at], rng, [])
    else:
        indent = rng.choice(("  ", "\t", "    "))
        parts[at : at + len(block)] = [indent + line for line in block]
    return "\n".join(parts) + ("\n" if text.endswith("\n") or rng.random() < 0.5 else "")


def mutate_tokens(text: str, rng: random.Random, words: list[str]) -> str:
    parts = TOKEN.findall(text) or [""]
    at, to = rng.randrange(len(parts)), rng.randrange(len(parts))
    operation = rng.randrange(7)
    if operation == 0:
        parts.insert(to, parts[at])
    elif operation == 1:
        del parts[at]
    elif operation == 2:
        parts[at], parts[to] = parts[to], parts[at]
    elif operation == 3:
        parts.insert(at, rng.choice(words or parts))
    elif operation == 4:
        parts[at] = rng.choice(words or list(ODD_TEXTS))
    elif operation == 5:
        parts[at] = (
            str(rng.choice(ODD_NUMBERS)) if parts[at].isdigit() else rng.choice((parts[at].swapcase(), parts[to]))
        )
    else:
        first, last = min(at, to), max(at, to) + 1
        parts[first:first] = parts[first:last] * rng.choice((1, 1, 2, 30))
    return "".join(parts)


def mutate_number(value: Any, rng: random.Random, numbers: list[Any]) -> Any:
    choices = [value + 1, value - 1, -value, value * 10, value * 1000, *ODD_NUMBERS, *numbers]
    found = rng.choice(choices)
    whole = isinstance(value, int) and abs(found) < 1e300 and rng.random() < 0.7
    return int(found) if whole else found


def other_type(value: Any, rng: random.Random) -> Any:
    """The same thing as another type, or a wrapped or an empty one."""
    wrapped: list[Any] = [None, [value], {"a": value}, True, 0, "", [], {}, b"", 1.5]
    if isinstance(value, str):
        wrapped += [value.encode("utf-8", "surrogatepass"), [value, value]]
    elif isinstance(value, bytes):
        wrapped.append(value.decode("latin-1"))
    elif isinstance(value, (int, float)):
        wrapped += [str(value), float(value) if abs(value) < 1e300 else value]
    elif isinstance(value, (list, tuple)):
        wrapped += [tuple(value), list(value), [list(value)]]
    return rng.choice(wrapped)


class Mutator:
    """Mutates tuples of values; all randomness comes from `rng`."""

    def __init__(self, plan: dict[str, Any], rng: random.Random) -> None:
        self.rng = rng
        self.words: list[str] = list(plan["words"])
        self.lines: list[str] = list(plan["lines"])
        self.numbers: list[Any] = list(plan["numbers"])
        self.constants: list[Any] = list(plan["constants"])
        self.typed = bool(plan["typed"])
        self.weights: list[float] = list(plan["weights"])  # of each value: how likely it is the one to be changed

    def change(self, values: tuple[Any, ...], corpus: list[tuple[Any, ...]]) -> tuple[Any, ...]:
        """One to five stacked changes, mostly of one value."""
        changed = list(values)
        at = self.rng.choices(range(len(changed)), self.weights)[0]
        others = [v[at] for v in self.rng.sample(corpus, min(4, len(corpus))) if isinstance(v[at], str)]
        for _ in range(self.rng.choice((1, 1, 1, 2, 2, 3, 5))):
            if self.rng.random() < 0.15:
                at = self.rng.choices(range(len(changed)), self.weights)[0]
            changed[at] = self.value(changed[at], others)
        return tuple(changed)

    def value(self, value: Any, others: list[str], depth: int = 0) -> Any:
        rng = self.rng
        if self.constants and rng.random() < 0.08:
            return rng.choice(self.constants)
        if not self.typed and rng.random() < 0.06:
            return rng.choice((other_type(value, rng), rng.choice([*self.numbers, *self.words, 0, "a"])))
        if isinstance(value, str):
            return mutate_text(value, rng, self.words, self.lines, others)[:LONGEST]
        if isinstance(value, bytes):
            text = mutate_text(value.decode("latin-1"), rng, self.words, self.lines, [])
            return text.encode("latin-1", "ignore")[:LONGEST]
        if isinstance(value, bool) or value is None:
            return rng.choice((True, False, None)) if not self.typed else not value
        if isinstance(value, (int, float)):
            return mutate_number(value, rng, self.numbers)
        if isinstance(value, dict):
            return self.mapping(value, others, depth)
        if isinstance(value, (list, tuple)):
            return type(value)(self.sequence(list(value), others, depth))
        return value

    def mapping(self, value: dict[Any, Any], others: list[str], depth: int) -> dict[Any, Any]:
        changed, rng = dict(value), self.rng
        if not changed or rng.random() < 0.15:
            changed[rng.choice(self.words or ["a", "b", "", "0"])] = rng.choice(
                list(value.values()) or [1, "a", None, {}]
            )
            return changed
        key = rng.choice(list(changed))
        operation = rng.randrange(5)
        if operation == 0:
            del changed[key]
        elif operation == 1:
            renamed = mutate_text(key, rng, self.words, [], []) if isinstance(key, str) else str(key)
            changed[renamed] = changed.pop(key)
        elif operation == 2 and depth < 6:
            changed[key] = dict(changed)
        else:
            changed[key] = self.value(changed[key], others, depth + 1)
        return changed

    def sequence(self, items: list[Any], others: list[str], depth: int) -> list[Any]:
        rng = self.rng
        if not items:
            return [rng.choice((0, "", "a", None, 1.5, [], {}))]
        at, to = rng.randrange(len(items)), rng.randrange(len(items))
        operation = rng.randrange(6)
        if operation == 0:
            del items[at]
        elif operation == 1:
            items.insert(to, items[at])
        elif operation == 2:
            items[at], items[to] = items[to], items[at]
        elif operation == 3 and depth < 6:
            items[at] = list(items)
        else:
            items[at] = self.value(items[at], others, depth + 1)
        return items[:200]


def swap(value: Any, old: str, new: str) -> Any:
    """`old` and `new` trade places in every text of the value."""
    if isinstance(value, str):
        pattern = rf"(?<!\w)(?:{re.escape(old)}|{re.escape(new)})(?!\w)"
        return re.sub(pattern, lambda found: new if found[0] == old else old, value)
    if isinstance(value, dict):
        return {swap(k, old, new): swap(v, old, new) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(swap(item, old, new) for item in value)
    return value


def reductions(values: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """The tuple with one of its values made smaller."""
    for at, value in enumerate(values):
        for smaller in reduced(value):
            yield (*values[:at], smaller, *values[at + 1 :])


def reduced(value: Any) -> Iterator[Any]:
    """Smaller versions of a value, largest cuts first."""
    if isinstance(value, bytes):
        yield from (text.encode("latin-1") for text in reduced(value.decode("latin-1")))
    elif isinstance(value, str):
        yield from shorter(value)
    elif isinstance(value, dict):
        yield from ({k: v for k, v in value.items() if k != key} for key in value)
        for key, item in value.items():
            yield from ({**value, key: smaller} for smaller in reduced(item))
    elif isinstance(value, (list, tuple)):
        made = type(value)
        yield from (made([*value[:at], *value[at + 1 :]]) for at in range(len(value)))
        for at, item in enumerate(value):
            yield from (made([*value[:at], smaller, *value[at + 1 :]]) for smaller in reduced(item))


def shorter(text: str) -> Iterator[str]:
    """The text without a run of lines, then without one character."""
    lines = text.splitlines(keepends=True)
    for size in (len(lines) // 2, len(lines) // 4, 2, 1):
        if 0 < size < len(lines):
            yield from ("".join(lines[:start] + lines[start + size :]) for start in range(len(lines) - size + 1))
    if len(text) <= 400:
        yield from (text[:start] + text[start + 1 :] for start in range(len(text)))


def source(value: Any) -> str:
    """Python text of a value."""
    if isinstance(value, float) and (value != value or value in (INFINITE, -INFINITE)):  # noqa: PLR0124 - nan
        return f"float({str(value)!r})"
    if isinstance(value, dict):
        return "{" + ", ".join(source(k) + ": " + source(v) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(source, value)) + "]"
    if isinstance(value, tuple):
        return "(" + "".join(source(item) + ", " for item in value) + ")"
    return repr(value)
