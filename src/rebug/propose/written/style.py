"""Two ways of speaking to a model: rival hypotheses in sections for an able one, one script a reply for a small one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rebug.propose.written.context import shared_context
from rebug.propose.written.cross import Cross
from rebug.propose.written.diagnose import Diagnose
from rebug.propose.written.invert import Invert
from rebug.propose.written.refine import Refine
from rebug.propose.written.restart import Restart
from rebug.propose.written.small import ENDING, Adapt, Attempt, Improve, small_context
from rebug.propose.written.task import Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much a round may ask."""

    calls: int
    hypotheses: int  # in one reply
    context: int  # tokens of the shared context


EFFORTS = {
    "low": Effort(calls=1, hypotheses=3, context=8_000),
    "normal": Effort(calls=3, hypotheses=3, context=14_000),
    "high": Effort(calls=6, hypotheses=4, context=20_000),
}
LOCAL = {
    "low": Effort(calls=4, hypotheses=1, context=2_000),
    "normal": Effort(calls=8, hypotheses=1, context=2_400),
    "high": Effort(calls=12, hypotheses=1, context=3_600),
}
"""A small model on a CPU reads 30 to 100 tokens a second, once, and writes one script in some seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """What a model is shown, in which ways it is asked, and what ends every task."""

    context: Callable[..., str]
    writers: Sequence[Writer]  # in the order in which they are tried first
    efforts: Mapping[str, Effort]  # by the values of --effort
    fresh: Writer  # the one of independent sampling: it builds on no trial
    ending: str
    reviewed: bool  # whether it is able to criticise


FORM = """
Write the sections now, in the form shown, about the report above.
"""
"""Ends every task: small models lose the form when the context stands between."""

_DIAGNOSE, _ATTEMPT = Diagnose(), Attempt()
SECTIONS = Style(
    context=shared_context,
    writers=(_DIAGNOSE, Invert(), Refine(), Cross(), Restart()),
    efforts=EFFORTS,
    fresh=_DIAGNOSE,
    ending=FORM,
    reviewed=True,
)
SINGLE = Style(
    context=small_context,
    writers=(_ATTEMPT, Adapt(), Improve()),
    efforts=LOCAL,
    fresh=_ATTEMPT,
    ending=ENDING,
    reviewed=False,
)

SMALL_BILLIONS = 10.0
"""Parameters below which a model keeps to one script a reply rather than to the form of sections."""
_BILLIONS = re.compile(r"(?<![\w.])(?:\d+x)?(\d{1,4}(?:\.\d{1,2})?)b(?![a-z0-9])", re.IGNORECASE)


def style_for(model: str, *, local: bool) -> Style:
    """The way to speak to `model`: a hosted one is able, one on the user's own machine goes by the parameters that its
    name states, and is taken for a small one where it states none."""
    stated = _BILLIONS.search(model.replace("-", " ").replace("_", " ").replace(":", " ").replace("/", " "))
    return SINGLE if local and (stated is None or float(stated[1]) < SMALL_BILLIONS) else SECTIONS
