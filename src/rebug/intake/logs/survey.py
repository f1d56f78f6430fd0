"""One pass over a log of any size: templates with their counts, errors with what stood before them, tracebacks, gaps.

What is done for every line is done by the interpreter's C code on whole blocks: digits are deleted, the lines that are
left are counted, and only a line whose digit-less form is new is looked at by itself. Of these, a line made of words
that were seen together before is known too, so that few lines are ever parsed.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from rebug.intake.logs.formats import parse_line
from rebug.intake.logs.gaps import Gaps, time_of
from rebug.intake.logs.templates import Miner
from rebug.intake.logs.traces import Traces

MAX_REMEMBERED = 16 << 20  # bytes of digit-less lines, and as many of sets of words, that are remembered
OVERHEAD = 150  # bytes that an entry of a dict takes beside its key
MAX_PARSED = 300_000  # lines parsed; what is new after that is counted by its words alone, and noted
MAX_ERRORS = 60  # templates of errors whose surroundings are kept
BEFORE = 12  # lines kept of what stood before one
KEPT = 2000  # bytes of a line that are kept

_DIGITS = b"0123456789"
_PUNCTUATION = bytes(b if bytes([b]).isalnum() or b >= 128 or b == 10 else 32 for b in range(256))
_SERIOUS = {"ERROR", "CRITICAL"}
_ALARM = re.compile(
    r"\bsegfault\b|\bsegmentation fault\b|\bcore dumped\b|\bout of memory\b|\boom-kill|\bkilled process\b|\bfatal\b"
    r"|\bpanic\b|\bgeneral protection\b|\bunhandled exception\b|\bexited with (?:code|status|signal) [1-9]",
    re.IGNORECASE,
)
"""What is an error though its line has no level."""


@dataclass(slots=True)
class Stats:
    """How often a template was seen, and where."""

    first: int
    text: str
    count: int = 0
    last: int = 0
    before: tuple[str, ...] = ()


@dataclass(slots=True)
class Survey:
    """The state of a pass. Feed it blocks of whole lines in order."""

    lines: int = 0
    size: int = 0
    parsed: int = 0
    unparsed: int = 0  # new lines that came after `MAX_PARSED`
    miner: Miner = field(default_factory=Miner)
    stats: dict[int, Stats] = field(default_factory=dict)
    traces: Traces = field(default_factory=Traces)
    gaps: Gaps = field(default_factory=Gaps)
    head: list[str] = field(default_factory=list)
    tail: deque[bytes] = field(default_factory=lambda: deque(maxlen=200))
    begins: float | None = None
    ends: float | None = None
    _keys: dict[bytes, int] = field(default_factory=dict)
    _sets: dict[bytes, int] = field(default_factory=dict)
    _errors: int = 0
    _key_bytes: int = 0
    _set_bytes: int = 0

    def feed(self, block: bytes) -> None:
        """Take in a block that ends with a line feed."""
        keys = block.translate(None, _DIGITS).split(b"\n")
        keys.pop()
        raw = block.split(b"\n")
        raw.pop()
        counts = Counter(keys)
        if self._key_bytes > MAX_REMEMBERED:
            self._keys.clear()
            self._key_bytes = 0
        unknown = counts.keys() - self._keys.keys()
        if unknown:
            self._learn(unknown, counts, keys, raw)
        last = dict(zip(keys, range(1, len(keys) + 1), strict=True))
        for key in counts.keys() - unknown:
            self._count(self._keys[key], counts[key], last[key])
        for key in unknown & self._keys.keys():
            self._count(self._keys[key], 0, last[key])
        self.traces.feed(block, raw, self.lines)
        self.gaps.feed(raw, self.lines)
        self._ends_of(raw)
        self.lines += len(raw)
        self.size += len(block)

    def _ends_of(self, raw: Sequence[bytes]) -> None:
        if len(self.head) < 40:
            self.head += [text_of(line) for line in raw[: 40 - len(self.head)]]
        self.tail.extend(line[:KEPT] for line in raw[-200:])
        if self.begins is None:
            self.begins = next((t for line in raw[:50] if (t := time_of(line)) is not None), None)
        self.ends = next((t for line in reversed(raw[-50:]) if (t := time_of(line)) is not None), self.ends)

    def _count(self, number: int, count: int, line: int) -> None:
        """Count lines of a template, the last of which is `line` of the block."""
        stats = self.stats.get(number)
        if stats is not None:
            stats.count += count
            stats.last = max(stats.last, self.lines + line)

    def _learn(
        self, unknown: Set[bytes], counts: Mapping[bytes, int], keys: Sequence[bytes], raw: Sequence[bytes]
    ) -> None:
        """Find the template of each new digit-less line, and remember it where it stands more than once; the others
        (with identifiers that have letters) hardly come again and are counted at once."""
        first = dict(zip(reversed(keys), range(len(keys) - 1, -1, -1), strict=True))
        places = sorted(map(first.__getitem__, unknown))
        spoken = b"\n".join([raw[at] for at in places]).translate(_PUNCTUATION).split(b"\n")
        alphabetic, sets, numbers = bytes.isalpha, self._sets, list[int]()
        for at, words in zip(places, spoken, strict=True):
            kept: Iterable[bytes] = filter(alphabetic, words[:KEPT].split())
            mark = b" ".join(kept)
            number = sets.get(mark)
            if number is None:
                number = self._template(raw[at], at, raw)
                if self._set_bytes > MAX_REMEMBERED:
                    sets.clear()
                    self._set_bytes = 0
                sets[mark] = number
                self._set_bytes += len(mark) + OVERHEAD
            numbers.append(number)
        last = dict(zip(numbers, places, strict=True))
        for number, count in Counter(numbers).items():
            self._count(number, count, last[number] + 1)
        for at, number in zip(places, numbers, strict=True):
            more = counts[keys[at]] - 1
            if more:
                self._count(number, more, at + 1)
                self._keys[keys[at]] = number
                self._key_bytes += len(keys[at]) + OVERHEAD

    def _template(self, line: bytes, at: int, raw: Sequence[bytes]) -> int:
        """The template of a line that has to be parsed; -1 for a line that begins no record."""
        loud = b"ERROR" in line or b"CRITICAL" in line or b"FATAL" in line
        if self.parsed >= (2 * MAX_PARSED if loud else MAX_PARSED):
            self.unparsed += 1
            return -1
        self.parsed += 1
        record = parse_line(text_of(line))
        if record is None or not record.message:
            return -1
        level = record.level or ("ERROR" if _ALARM.search(record.message[:1000]) else "")
        number = self.miner.of(record.message, level, record.logger)
        if number not in self.stats:
            before: tuple[str, ...] = ()
            if level in _SERIOUS and self._errors < MAX_ERRORS:
                self._errors += 1
                before = tuple(text_of(one) for one in [*list(self.tail)[-BEFORE:], *raw[max(0, at - BEFORE) : at]])
            self.stats[number] = Stats(first=self.lines + at + 1, text=text_of(line), before=before[-BEFORE:])
        return number


def text_of(line: bytes) -> str:
    """A line as text, bounded, with what is no UTF-8 replaced."""
    return line[:KEPT].decode("utf-8", "replace").rstrip("\r")
