"""The search: rounds, selection, novelty and caps, over the Protocols of `rebug.ports` only."""

from rebug.search.novelty import fingerprint
from rebug.search.run import Counts, Outcome, Plan, Search
from rebug.search.select import parents, rank

__all__ = ["Counts", "Outcome", "Plan", "Search", "fingerprint", "parents", "rank"]
