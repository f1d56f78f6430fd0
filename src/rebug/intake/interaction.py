"""What a report says of slowness under load: what is done meanwhile, what becomes slow, and by how much. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from rebug.intake.prose import Sentence, plain
from rebug.model import Failure, Strain, SymptomKind

_WHILE = re.compile(
    r"\b(?P<how>while|whilst|when(?:ever)?|during|as (?:soon|long) as|once|if|under)\b[ ,]+(?P<what>[^,.;:!?\n]{3,90})",
    re.IGNORECASE,
)
_SLOW = re.compile(
    r"\b(?:slow\w{0,4}|halt|crawl\w{0,3}|lags?|laggy|lagging|sluggish\w{0,4}|stall\w{0,3}|freez\w{1,3}|frozen|blocks?|blocked|"
    r"hangs?|unresponsive|stutter\w{0,3}|takes?|took|taking|drops?|latency|late|wait\w{0,3}|respond\w{0,3}|answer\w{0,2})\b",
    re.IGNORECASE,
)
_WELL = re.compile(r"\b(?:all is well|back to|(?:quick|fast|fine|normal|smooth|responsive) again)\b", re.IGNORECASE)
_STEP = re.compile(
    r"\b(?:steps?|iterations?|it/s|s/it|generat\w{1,5}|jobs?|progress|rendering|sampling|throughput|processing|epochs?)\b",
    re.IGNORECASE,
)
_API = re.compile(
    r"\b(?:UI|GUI|API|page|web\w{0,6}|interface|requests?|respon\w{1,6}|answers?|endpoints?|server|browser|latency|ping\w{0,3}"
    r"|buttons?|queue list|list|event loop|health\w{0,6})\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?P<number>\d{1,6}(?:[.,]\d{1,4})?) ?(?P<unit>ms|milliseconds?|s|secs?|seconds?|min(?:ute)?s?)\b", re.IGNORECASE
)
_FEW = re.compile(r"\b(?:a )?few (?:ms|milliseconds)\b|\binstant\w{0,4}\b|\bat once\b", re.IGNORECASE)


def strain_of(sentences: Sequence[Sentence]) -> Strain | None:
    """The slowness under load that a report's first hundred sentences tell of; None when they tell of none."""
    told = [plain(sentence.text) for sentence in sentences[:100]]
    slow = [text for text in told if _SLOW.search(text) and not _WELL.search(text)]
    phrases = [found for text in slow for found in _WHILE.finditer(text)]
    if not phrases:
        return None
    what = " / ".join(dict.fromkeys(found["what"].strip(" ,") for found in phrases[:4]))
    return Strain(meanwhile=what[:300], metric=_metric(slow), ratio=max(map(_ratio, told), default=0.0))


def is_slowness(kind: SymptomKind, strain: Strain | None, failure: Failure | None) -> bool:
    """Whether a report that words alone would file under `kind` is of slowness under load after all: it gives two
    times, so that nothing hangs for good, or nothing else is known of it."""
    if strain is None or not strain.metric or (failure is not None and failure.frames):
        return False
    timed = kind in (SymptomKind.HANG, SymptomKind.WRONG_OUTPUT) and strain.ratio >= 2
    return timed or kind is SymptomKind.UNKNOWN


def _metric(slow: Sequence[str]) -> Literal["step", "api", ""]:
    """Which of the two gets slow, by what stands outside the words on what is done meanwhile."""
    steps = answers = 0
    for place, text in enumerate(slow[:8]):
        main = _WHILE.sub(" ", text)
        weight = 2 if place == 0 else 1
        steps += weight * len(_STEP.findall(main))
        answers += weight * len(_API.findall(main))
    return "step" if steps > answers else "api" if answers else ""


def _ratio(text: str) -> float:
    """The greatest ratio of two times in a sentence, 0 when it gives less than two."""
    times = [float(found["number"].replace(",", ".")) * _seconds(found["unit"]) for found in _TIME.finditer(text)]
    times += [0.005] if _FEW.search(text) else []
    times = [time for time in times if time > 0]
    return round(max(times) / min(times), 2) if len(times) > 1 else 0.0


def _seconds(unit: str) -> float:
    unit = unit.lower()
    return 0.001 if unit == "ms" or unit.startswith("milli") else 60.0 if unit.startswith("min") else 1.0


_KIN = tuple(
    frozenset(words.split())
    for words in (
        "type typing text write writing input edit editing draft key keyboard keystroke prompt suggest autocomplete",
        "upload file image attach attachment import drop",
        "preview thumbnail image frame picture",
        "job task run running generate generation generating render prompt queue submit work process execute node",
        "search filter query find scroll list browse",
        "client connect browser tab websocket subscribe open user message",
        "save store export download write",
        "click button select cancel press",
    )
)
"""Words that people and programmers use for one and the same thing."""


def kinship(words: Iterable[str], text: str) -> float:
    """How much a program's words have to do with a phrase: 1 for a word said in it (by its first five letters), a
    half for one of the same family."""
    said = {word.lower() for word in re.findall(r"[A-Za-z]{3,30}", text[:2000])}
    beginnings = {word[:5] for word in said}
    families = [family for family in _KIN if family & said]
    return sum(
        1.0 if word[:5] in beginnings else 0.5 if any(word in family for family in families) else 0.0
        for word in {word.lower() for word in words}
        if len(word) > 2
    )
