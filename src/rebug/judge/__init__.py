"""Judging: how far one run is from the reported symptom, and whether it fails for the right reason."""

from rebug.judge.exhibit import fails
from rebug.judge.messages import fragments
from rebug.judge.staged import StagedJudge
from rebug.judge.stages import BOUNDS, place, reached

__all__ = ["BOUNDS", "StagedJudge", "fails", "fragments", "place", "reached"]
