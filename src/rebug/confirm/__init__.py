"""Confirmation: a trial becomes a finding, or the doubts against it are named."""

from rebug.confirm.confirmer import Confirmer
from rebug.confirm.explain import explanation
from rebug.confirm.guard import guard
from rebug.confirm.header import ScriptSource
from rebug.confirm.standalone import standalone, surroundings
from rebug.confirm.statistics import repeats, wilson

__all__ = [
    "Confirmer",
    "ScriptSource",
    "explanation",
    "guard",
    "repeats",
    "standalone",
    "surroundings",
    "wilson",
]
