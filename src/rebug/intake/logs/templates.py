"""The words of a message without what varies, and the mining of templates from messages that share them.

The mining is Drain's (He et al., 2017) without its tree: messages of one level, logger and number of words are one
template where at least `SIMILAR` of the words agree, and the words that do not agree become `<>`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

SIMILAR = 0.6
MAX_TEMPLATES = 4000
MAX_PEERS = 60
"""Templates of one level, logger and length that a message is compared with."""
MAX_WORDS = 60

_VARIES = re.compile(
    r"\"(?:[^\"\\]|\\.){0,2000}\"|(?<![\w])'(?:[^'\\]|\\.){0,2000}'(?!\w)"  # quoted
    r"|\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
    r"|https?://[^\s\"'>]{1,2000}|[\w.+-]{1,100}@[\w-]{1,60}\.[\w.-]{1,100}"
    r"|(?<![\w/])(?:[A-Za-z]:)?(?:[\\/][\w.@+~-]{1,200}){2,40}"
    r"|\b0x[0-9a-fA-F]{1,40}\b|\b(?=[0-9a-fA-F]{0,39}\d)[0-9a-fA-F]{6,40}\b"
    r"|(?<![A-Za-z_])[-+]?\d[\d_.,:]*(?:[a-zA-Zµ%]{1,3}\b)?"
)
HOLE = "<>"


def shape(message: str) -> str:
    """The message's first line with what varies from record to record as `<>`."""
    return " ".join(_VARIES.sub(HOLE, message.split("\n", 1)[0][:4000]).split())


@dataclass(slots=True)
class Template:
    """A template in the making."""

    words: list[str]
    level: str
    logger: str

    @property
    def text(self) -> str:
        return " ".join(self.words)


@dataclass(slots=True)
class Miner:
    """Finds the template of each message. `found` only grows, up to `MAX_TEMPLATES`; what comes then is the last."""

    found: list[Template] = field(default_factory=list)
    _peers: dict[tuple[str, str, int], list[int]] = field(default_factory=dict)

    def of(self, message: str, level: str = "", logger: str = "") -> int:
        """The number of the message's template in `found`, made when it is new."""
        words = shape(message).split(" ")[:MAX_WORDS]
        peers = self._peers.setdefault((level, logger, len(words)), [])
        for number in peers[:MAX_PEERS]:
            if _alike(self.found[number].words, words):
                known = self.found[number].words
                if known != words:
                    self.found[number].words = [a if a == b else HOLE for a, b in zip(known, words, strict=True)]
                return number
        if len(self.found) >= MAX_TEMPLATES:
            return len(self.found) - 1
        self.found.append(Template(words, level, logger))
        peers.append(len(self.found) - 1)
        return len(self.found) - 1


def _alike(known: Sequence[str], words: Sequence[str]) -> bool:
    """Whether enough words agree, the first among them; a template of holes alone fits nothing else."""
    if known == words:
        return True
    same = sum(a == b and a != HOLE for a, b in zip(known, words, strict=True))
    solid = sum(word != HOLE for word in known)
    return solid > 1 and same >= 2 and same >= SIMILAR * max(solid, sum(word != HOLE for word in words))
