"""Proposers turn a situation into candidates without a language model. Pure: the search runs what they make."""

from __future__ import annotations

from rebug.ports import Proposer
from rebug.propose.amplify import Amplify
from rebug.propose.assertions import Assertions
from rebug.propose.crosscheck import CrossCheck
from rebug.propose.crossover import Crossover
from rebug.propose.data_probe import DataProbe
from rebug.propose.entry_points import EntryPoints
from rebug.propose.environment import EnvironmentVariations
from rebug.propose.flip import Flip
from rebug.propose.from_log import FromLog
from rebug.propose.growth import Growth
from rebug.propose.hangs import Hangs
from rebug.propose.lacking import Lacking
from rebug.propose.load import Load
from rebug.propose.mutate import Mutate
from rebug.propose.native import NativeProbe
from rebug.propose.neighbour_tests import NeighbourTests
from rebug.propose.regression import Regression
from rebug.propose.repetition import Repetition
from rebug.propose.schedule import Schedule
from rebug.propose.sharpen import Sharpen
from rebug.propose.shell import Shell
from rebug.propose.snippet import Snippet
from rebug.propose.standins import StandIns
from rebug.propose.subclass import CallerSubclass
from rebug.propose.threads import Threads

__all__ = [
    "Amplify",
    "Assertions",
    "CallerSubclass",
    "CrossCheck",
    "Crossover",
    "DataProbe",
    "EntryPoints",
    "EnvironmentVariations",
    "Flip",
    "FromLog",
    "Growth",
    "Hangs",
    "Lacking",
    "Load",
    "Mutate",
    "NativeProbe",
    "NeighbourTests",
    "Regression",
    "Repetition",
    "Schedule",
    "Sharpen",
    "Shell",
    "Snippet",
    "StandIns",
    "Threads",
    "free_proposers",
]


def free_proposers() -> list[Proposer]:
    """All proposers that need no language model, in the order in which they are asked."""
    return [
        Growth(),
        Load(),
        Repetition(),
        Snippet(),
        Shell(),
        Hangs(),
        FromLog(),
        CallerSubclass(),
        Threads(),
        Schedule(),
        EntryPoints(),
        NeighbourTests(),
        Mutate(),
        Crossover(),
        Lacking(),
        StandIns(),
        Assertions(),
        Sharpen(),
        Amplify(),
        Regression(),
        Flip(),
        CrossCheck(),
        EnvironmentVariations(),
        DataProbe(),
        NativeProbe(),
    ]
