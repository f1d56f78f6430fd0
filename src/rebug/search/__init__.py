"""The search: rounds, selection, novelty and caps, over the Protocols of `rebug.ports` only."""

from rebug.search.novelty import fingerprint
from rebug.search.outcome import Counts, Outcome, Plan
from rebug.search.run import Search
from rebug.search.select import parents, rank

__all__ = ["Counts", "Outcome", "Plan", "Search", "fingerprint", "parents", "rank"]
