"""The same script in a version said to be good: what differs there is what should be asserted here."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from packaging.version import InvalidVersion, Version

from rebug.model import Basis, Candidate, Ended, Hypothesis, Role, Stage, SymptomKind, Trial
from rebug.ports import Situation
from rebug.propose.assertions import asserting, checks, must_raise, quiet
from rebug.propose.code import add_imports, parse
from rebug.propose.needles import mask
from rebug.propose.values import Seen, holds

_KINDS = {SymptomKind.WRONG_OUTPUT, SymptomKind.UNKNOWN, SymptomKind.EXIT, SymptomKind.WARNING}
_NOTE = '''def _note(name, value):
    """Prints a value under its name, without addresses."""
    print(f"{name} = {re.sub(' at 0x[0-9a-fA-F]+', '', repr(value))[:300]}")
'''
_MOST = 4


class Regression:
    """Runs plain scripts in good versions as controls, and asserts that what the reported version does differently is
    not as it is."""

    name = "regression"
    reactive = True

    def propose(self, situation: Situation) -> Iterator[Candidate]:
        if situation.symptom.kind not in _KINDS:
            return
        plain = [t for t in situation.trials if _comparable(t)]
        controls = [
            t for t in situation.trials if t.candidate.role is Role.CONTROL and t.candidate.proposer == self.name
        ]
        for trial in plain[:8]:
            own = [c for c in controls if trial.candidate.id in c.candidate.parents]
            if own:
                yield from self._compared(trial, own, situation)
                continue
            yield from self._controls(trial, situation)
            if not trial.observation.stdout.strip() and trial.candidate.proposer != self.name:
                text = instrumented(trial.candidate.script)
                if text:
                    yield replace(_copy(trial), script=text)

    def _controls(self, trial: Trial, situation: Situation) -> Iterator[Candidate]:
        for version in good_versions(situation):
            yield replace(
                _copy(trial), role=Role.CONTROL, variation=replace(trial.candidate.variation, subject_version=version)
            )

    def _compared(self, trial: Trial, controls: Sequence[Trial], situation: Situation) -> Iterator[Candidate]:
        words = f"{situation.report.title}\n{situation.report.body}"
        for control in controls:
            good = control.observation
            script = trial.candidate.script
            if good.ended is Ended.EXITED and good.exit == 0:
                for seen in differences(trial.observation.stdout, good.stdout, words)[:2]:
                    for text in filter(None, checks(script, trial.observation.stdout.splitlines(), seen)):
                        yield asserting(
                            trial, text, self.name, Basis.REGRESSION, expected=seen.right, actual=" / ".join(seen.lines)
                        )
            elif good.failures and good.failures[0].where == "raised" and _meant(control):
                kind = good.failures[0].name
                text = must_raise(script, kind, good.script_line)
                if text:
                    yield asserting(
                        trial, text, self.name, Basis.REGRESSION, expected=kind, actual="no exception is raised"
                    )


def _copy(trial: Trial) -> Candidate:
    return replace(
        trial.candidate,
        id="",
        round=0,
        proposer=Regression.name,
        parents=(trial.candidate.id,),
        hypothesis=Hypothesis(
            claim="The reported version does something else than a good one.",
            prediction="the outputs of the two versions differ",
        ),
    )


def _comparable(trial: Trial) -> bool:
    instrumented_one = trial.candidate.proposer == Regression.name and trial.candidate.role is Role.ATTEMPT
    plain = replace(trial.candidate, proposer="snippet") if instrumented_one else trial.candidate
    return quiet(replace(trial, candidate=plain)) and trial.loss.stage not in {Stage.ENVIRONMENT, Stage.UNRUNNABLE}


def _meant(control: Trial) -> bool:
    """Whether a good version's exception says something of the input, rather than of a name that is missing there."""
    return control.observation.failures[0].name not in {
        "ImportError", "ModuleNotFoundError", "AttributeError", "NameError", "SyntaxError", "TypeError",
    }  # fmt: skip


def good_versions(situation: Situation) -> tuple[str, ...]:
    """Versions to compare with: those the report calls good, else the two releases before the reported one when the
    report gives no value that could be checked without."""
    symptom = situation.symptom
    own = _version(situation.environment.version)
    good = [text for text in symptom.good_versions if (v := _version(text)) and v != own]
    if good:
        return tuple(good[:2])
    if own is None or any(v.exact for v in symptom.actual):
        return ()
    older = [(v, text) for text in situation.releases if (v := _version(text)) and v < own and not v.is_prerelease]
    return tuple(text for _, text in sorted(older, reverse=True)[:2])


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def differences(bad: str, good: str, words: str) -> list[Seen]:
    """Lines of the reported version's output that a good version prints otherwise, related to the report's words
    first. Differences in what is volatile do not count."""
    ours, theirs = bad.splitlines()[:500], good.splitlines()[:500]
    left, right = [mask(line) for line in ours], [mask(line) for line in theirs]
    found: list[Seen] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal" or i1 == i2:
            continue
        paired = zip(range(i1, i2), right[j1:j2] + [""] * (i2 - i1), strict=False)
        found += [Seen((n,), (ours[n],), want) for n, want in paired if left[n] and left[n] not in right]
    if not found and left != right and ours and theirs:
        extra = [n for n in range(min(len(left), len(right))) if left[n] != right[n] and left[n]]
        found = [Seen((n,), (ours[n],), right[n]) for n in extra[:1]]
    return sorted(found, key=lambda seen: (not _told(seen, words), seen.at))[:_MOST]


def _told(seen: Seen, words: str) -> bool:
    low = [line.strip() for line in words.splitlines()]
    return any(line and (line in low or any(holds(text, line) for text in low[:300])) for line in seen.lines)


def instrumented(script: str) -> str:
    """The script with the value of every name assigned at its top level shown, "" when there is none."""
    tree = parse(script)
    if tree is None:
        return ""
    lines = script.splitlines()
    added = 0
    for node in reversed(tree.body):
        names = [t.id for t in node.targets if isinstance(t, ast.Name)] if isinstance(node, ast.Assign) else []
        if len(names) == 1 and not names[0].startswith("_") and not isinstance(node.value, ast.Constant):  # type: ignore[attr-defined]
            lines.insert(node.end_lineno or node.lineno, f"_note({names[0]!r}, {names[0]})")
            added += 1
    if not added:
        return ""
    body = "\n".join(lines)
    text = add_imports(f"{body}\n", ["import re"])
    parsed = parse(text)
    first = next((n for n in parsed.body if not isinstance(n, ast.Import | ast.ImportFrom)), None) if parsed else None
    if first is None:
        return ""
    at = first.lineno - 1
    final = text.splitlines()
    result = "\n".join([*final[:at], "", "", _NOTE, "", *final[at:]]) + "\n"
    return result if parse(result) is not None else ""
