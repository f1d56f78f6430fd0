"""The nouns of rebug as frozen values. No I/O and no import of the rest of the package.

Every word here is a word of the user's documentation: a *report* claims a *symptom* of a *subject*; a *hypothesis*
made runnable is a *candidate*; one run of it gives an *observation*, whose distance from the symptom is the *loss*. A
*trial* is the three together, and what survives confirmation is a *finding*.
"""

from rebug.model.experiment import Basis, Candidate, Ended, Hypothesis, LogSeen, Observation, Role, WarningSeen
from rebug.model.judging import Critique, Finding, Loss, Repeats, Stage, Status, Trial, Verdict
from rebug.model.logs import LogDigest, LogFailure, LogGap, LogMoment, LogSource, LogTemplate, LogThread
from rebug.model.report import Attachment, Block, BlockKind, Failure, Frame, Report, StatedVersion
from rebug.model.subject import Environment, Variation
from rebug.model.symptom import NativeCrash, Strain, Symptom, SymptomKind, Value

__all__ = [
    "Attachment",
    "Basis",
    "Block",
    "BlockKind",
    "Candidate",
    "Critique",
    "Ended",
    "Environment",
    "Failure",
    "Finding",
    "Frame",
    "Hypothesis",
    "LogDigest",
    "LogFailure",
    "LogGap",
    "LogMoment",
    "LogSeen",
    "LogSource",
    "LogTemplate",
    "LogThread",
    "Loss",
    "NativeCrash",
    "Observation",
    "Repeats",
    "Report",
    "Role",
    "Stage",
    "StatedVersion",
    "Status",
    "Strain",
    "Symptom",
    "SymptomKind",
    "Trial",
    "Value",
    "Variation",
    "Verdict",
    "WarningSeen",
]
