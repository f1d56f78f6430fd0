"""Explanations from templates: what a script does and why that shows the bug. Pure; no model."""

from __future__ import annotations

from rebug.judge import fails
from rebug.model import Basis, Repeats, Symptom, Trial

_BASES = {
    Basis.NONE: "The failure shows itself; the script asserts nothing of its own.",
    Basis.REPORT: "The value that the script asserts is the report's.",
    Basis.REGRESSION: "The value that the script asserts is what a version said to be good gives.",
    Basis.MEASURED: "The script measures the symptom against a control in the same run.",
    Basis.SCRIPT: "The assertion is the reporter's own.",
    Basis.MODEL: "The value that the script asserts was inferred from the report by a language model.",
}


def explanation(trial: Trial, symptom: Symptom, repeats: Repeats | None = None, last_good: str = "") -> str:
    """What the script does, what it showed, and the evidence that this is the reported bug."""
    candidate, observation = trial.candidate, trial.observation
    said = [_sentence(candidate.hypothesis.claim), trial.critique.shows]
    if fails(observation):
        said.append(_BASES[candidate.basis])
        if candidate.expected or candidate.actual:
            said.append(f"Expected {_short(candidate.expected)}, got {_short(candidate.actual)}.")
    if symptom.quote:
        said.append(f"The report says: {_short(symptom.quote)}.")
    if repeats is not None:
        said.append(f"It failed in {repeats.failures} of {repeats.runs} runs in fresh interpreters.")
    if last_good:
        said.append(f"With version {last_good} it exits 0.")
    return " ".join(part for part in said if part)


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text[-1] in ".!?" else text + "."


def _short(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= 160 else text[:157] + "...")
