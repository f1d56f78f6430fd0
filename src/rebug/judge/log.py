"""Log records, warnings and a command's status: what appears and should not, or should and does not. Pure.

The expectation is the report's, never the script's: which message is unwanted, missing or repeated is taken from the
symptom, and a script's claim counts only as far as it is about that message.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence, Set

from rebug.instruments import Reading, genuine, readings
from rebug.judge import gate, traces
from rebug.judge.exhibit import NOTHING, TOLERANCE, Evidence, Exhibit, fails, said
from rebug.judge.messages import fragments, message_distance, normal, seen_in, template
from rebug.model import Basis, Frame, Value

RECORDS = "records"
"""The instrument that captures records, warnings and output."""

_MADE_UP = 0.3
"""Least distance where a message shows on inputs that the report does not give: it may be proper there."""
_EMITTING = {"debug", "info", "warning", "warn", "error", "critical", "exception", "log", "print", "write"}


def log(exhibit: Exhibit) -> Evidence:
    """A log line of the reported template, from the subject; or the lack of one that should be there."""
    texts = _texts(exhibit)
    return _measured(exhibit) or _appears(exhibit, texts, "log line")


def warning(exhibit: Exhibit) -> Evidence:
    """A warning of the reported category and text, or the failure of a script that asserts its absence."""
    texts = _texts(exhibit) or [exhibit.symptom.failure.message if exhibit.symptom.failure else ""]
    measured = _measured(exhibit)
    if measured is not None:
        return measured
    wanted = exhibit.symptom.warning.rpartition(".")[2]
    seen = [(w.category.rpartition(".")[2], w.message) for w in exhibit.observation.warnings]
    seen += [(failure.name, failure.message) for failure in exhibit.observation.failures]
    distances = [
        min(message_distance(text, message) for text in texts)
        for category, message in seen
        if not wanted or category == wanted
    ]
    return _told(min(distances, default=None), exhibit, "warning")


def _texts(exhibit: Exhibit) -> list[str]:
    messages = [value.text for value in exhibit.symptom.messages if value.exact]
    return messages or [value.text for value in exhibit.symptom.actual if value.exact]


# ------------------------------------------------------------------------------------------------------------ captured


def _measured(exhibit: Exhibit) -> Evidence | None:
    """What the capturing instrument says; None where the script does not use it."""
    if exhibit.candidate.basis is not Basis.MEASURED:
        return None
    found = [reading for reading in readings(said(exhibit.observation)) if reading.kind == RECORDS]
    if not found or not genuine(exhibit.tree, RECORDS) or not fails(exhibit.observation):
        return NOTHING
    if _says_itself(exhibit, _texts(exhibit)):
        return NOTHING
    rule = found[0].figures.get("rule", "")
    if rule == "some":
        return _lacking(exhibit, found[0])
    if exhibit.symptom.missing_messages and not exhibit.symptom.messages:
        return NOTHING
    return _present(exhibit, found[0], repeated=rule == "once")


def _present(exhibit: Exhibit, reading: Reading, *, repeated: bool) -> Evidence:
    texts = _texts(exhibit)
    message = min((_claimed(text, reading.sentence) for text in texts), default=_unnamed(exhibit, reading))
    place = 0.0 if _of_subject(reading, exhibit.modules) else 0.5
    controlled = bool(exhibit.symptom.good_versions) and _particular(exhibit, reading)
    own = 0.0 if exhibit.own or controlled else _MADE_UP
    rule = 0.0 if repeated or not exhibit.symptom.repeated else _MADE_UP  # once may be right
    reasons = []
    if message > TOLERANCE:
        reasons.append("the message that appears is not the one reported")
    if place:
        reasons.append("the message does not come from the software under test")
    if own:
        reasons.append("the message shows on inputs that the report does not give, where it may be proper")
    return Evidence(
        shown=True,
        failing=True,
        distance=max(message, place, own, rule),
        parts={"message": round(message, 3), "place": place, "inputs": own},
        reasons=tuple(reasons),
    )


def _claimed(reported: str, sentence: str) -> float:
    """How far the message in an instrument's sentence (its repr, quoted) is from the one reported."""
    parts = fragments(reported)
    inner = sentence.rpartition(" is logged")[0] or sentence.rpartition(" is not logged")[0]
    try:
        shown = str(ast.literal_eval(inner.removeprefix("AssertionError: ").strip()))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return 1.0
    if parts and all(part in normal(shown) for part in parts):
        return 0.0
    return message_distance(reported, shown)


def _unnamed(exhibit: Exhibit, reading: Reading) -> float:
    """The report names a category, and no message."""
    wanted = exhibit.symptom.warning.rpartition(".")[2]
    return 0.1 if wanted and reading.figures.get("level") == wanted else 1.0


def _of_subject(reading: Reading, modules: Sequence[str]) -> bool:
    """Whether the record was given by the subject's code, or under its name, or as output (which has no place)."""
    file, _, function = reading.figures.get("at", "-").rpartition(":")
    logger = reading.figures.get("logger", "-")
    places = [file, logger] if "/" in logger else [file]
    if logger.partition(".")[0] in modules or reading.figures.get("level") == "OUTPUT":
        return True
    return any(traces.in_subject(Frame(file=path, line=None, function=function), modules) for path in places)


def _particular(exhibit: Exhibit, reading: Reading) -> bool:
    """Whether the message holds the very literals of the reported one. That is enough on made-up inputs where a good
    version is known: confirmation then sees whether the message is absent there."""
    return any(template(text) != normal(text) and _claimed(text, reading.sentence) == 0.0 for text in _texts(exhibit))


def _lacking(exhibit: Exhibit, reading: Reading) -> Evidence:
    """A message that the report says should be there does not come, though the reporter's own code ran."""
    wanted = [value.text for value in exhibit.symptom.missing_messages]
    distance = min((_claimed(text, reading.sentence) for text in wanted), default=1.0)
    own = 0.0 if exhibit.own else 0.5
    reasons = ("the report does not say that this message should be there",) if distance > TOLERANCE else ()
    if own:
        reasons = (*reasons, "the lack shows on inputs that the report does not give")
    return Evidence(
        shown=True,
        failing=True,
        distance=max(distance, own),
        parts={"message": round(distance, 3), "inputs": own},
        reasons=reasons,
    )


# -------------------------------------------------------------------------------------------------------------- printed


def _appears(exhibit: Exhibit, texts: Sequence[str], what: str) -> Evidence:
    """Lines seen in the run's records and output."""
    if _says_itself(exhibit, texts):
        return NOTHING
    observation = exhibit.observation
    lines = [entry.message for entry in observation.logs]
    lines += (observation.stdout + "\n" + observation.stderr).splitlines()[:2000]
    if any(seen_in(text, "\n".join(lines)) for text in texts):
        return _told(0.0, exhibit, what)
    distances = [message_distance(text, line) for text in texts[:5] for line in lines[:400] if line.strip()]
    best = min(distances, default=None)
    return _told(best if best is not None and best < 0.4 else None, exhibit, what)


def _told(distance: float | None, exhibit: Exhibit, what: str) -> Evidence:
    if distance is None:
        return NOTHING
    failing = fails(exhibit.observation) and exhibit.candidate.basis is not Basis.NONE
    reasons = () if failing else (f"the {what} shows, but the script exits 0",)
    return Evidence(
        shown=True, failing=failing, distance=distance, parts={"message": round(distance, 3)}, reasons=reasons
    )


def _says_itself(exhibit: Exhibit, texts: Iterable[str]) -> bool:
    """Whether a script that is not the reporter's logs, prints or warns of one of these messages in so many words, and
    not by way of the subject (which may be a logger)."""
    if exhibit.own:
        return False
    pieces = [parts for text in texts if (parts := fragments(text))]
    subject = gate.names_of_subject(exhibit.tree, exhibit.modules)
    literals = list(_emitted(exhibit.tree, subject))
    return any(all(part in normal(literal) for part in parts) for literal in literals for parts in pieces)


def _emitted(tree: ast.Module, subject: Set[str]) -> Iterator[str]:
    """The texts that a script hands to a logger, `print` or `warn`, those of the subject's left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            used = {leaf.id for leaf in ast.walk(function) if isinstance(leaf, ast.Name)}
            if name in _EMITTING and not used & subject:
                yield from (
                    leaf.value
                    for argument in node.args
                    for leaf in ast.walk(argument)
                    if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str)
                )


# --------------------------------------------------------------------------------------------------------------- status


def exit_status(exhibit: Exhibit) -> Evidence:
    """A command of the subject that ends with the wrong status; the script reports it by its own failure."""
    if not fails(exhibit.observation) or exhibit.candidate.basis is Basis.NONE:
        return NOTHING
    if exhibit.candidate.basis is Basis.MODEL and not gate.uses_subject(exhibit.tree, exhibit.modules):
        return NOTHING
    symptom, shown = exhibit.symptom, exhibit.observation.stdout + exhibit.observation.stderr
    texts = symptom.actual + symptom.messages
    told = any(_tells(value, shown) for value in texts)
    status = _status_said(exhibit)
    if symptom.exit_status is not None and status == symptom.exit_status:
        # many things end with the same status: what is printed has to agree, or a good version has to tell
        alike = symptom.good_versions and not texts
        return _ended(0.0 if told else 0.2 if alike else _MADE_UP, "nothing but the status is as reported", status)
    if symptom.exit_status == 0:
        return _ended(_MADE_UP if told else 0.4, "the reported status is 0, which it does not look at", status)
    return _ended(0.1 if told else 0.4, "the reported output does not show", status)


def _ended(distance: float, doubt: str, status: int | None) -> Evidence:
    return Evidence(
        shown=True,
        failing=True,
        distance=distance,
        parts={"message": distance, "status": 1.0 if status is None else 0.0},
        reasons=(doubt,) if distance > TOLERANCE else (),
    )


def _status_said(exhibit: Exhibit) -> int | None:
    """The status in the words by which a script says how a command of the subject ended."""
    found = re.search(r"\bends with status (-?\d{1,4})\b", said(exhibit.observation)[-20_000:])
    return int(found[1]) if found else None


def _tells(value: Value, text: str) -> bool:
    return bool(value.text) and (seen_in(value.text, text) or normal(value.text) in normal(text))
