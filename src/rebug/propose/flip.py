"""A model's assertion turned round: what passes on the wrong behaviour fails because of it once it is inverted.

Models often write down what the software does today and assert that. Such a script holds the reproduction already;
another call would only buy the inversion. Source of the idea: AssertFlip (Khatib et al., 2025). What vouches for the
turned assertion is a release in which it holds, or the report's own value: see `rebug.propose.crosscheck`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rebug.model import Basis, Candidate, Ended, Hypothesis, Role, Trial
from rebug.ports import Situation

_MOST = 3
"""Assertions turned in one script, the last ones: what a script ends with is what it is about."""


class Flip:
    """Inverts the assertions of a model's scripts that pass."""

    name = "flip"
    reactive = True

    def propose(self, situation: Situation) -> Iterator[Candidate]:
        answered = {parent for trial in situation.trials for parent in trial.candidate.parents if _by_flip(trial)}
        for trial in situation.trials:
            if _passes(trial) and trial.candidate.id not in answered:
                for script, claim in flipped(trial.candidate.script):
                    yield Candidate(
                        script=script,
                        hypothesis=Hypothesis(
                            claim=claim, conditions=trial.candidate.hypothesis.claim, prediction="the assertion fails"
                        ),
                        proposer=self.name,
                        basis=Basis.MODEL,
                        parents=(trial.candidate.id,),
                        requirements=trial.candidate.requirements,
                        variation=trial.candidate.variation,
                    )


def _by_flip(trial: Trial) -> bool:
    return trial.candidate.proposer == Flip.name


def _passes(trial: Trial) -> bool:
    candidate, observation = trial.candidate, trial.observation
    written = candidate.proposer.startswith("model:") and candidate.role is Role.ATTEMPT
    return written and observation.ended is Ended.EXITED and observation.exit == 0 and bool(observation.reached)


def flipped(script: str) -> list[tuple[str, str]]:
    """(script, claim) with one assertion of the top level or of a `with`, `for`, `if` or `try` in it inverted each, the
    last one first; empty when there is none."""
    try:
        tree = ast.parse(script)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Assert) and not _trivial(node.test)]
    found.sort(key=lambda node: node.lineno)
    lines = script.splitlines()
    made = []
    for node in found[::-1][:_MOST]:
        last = node.end_lineno or node.lineno
        before = lines[node.lineno - 1][: node.col_offset]
        if before.strip():
            continue  # shares its line with another statement
        turned = [before + line for line in _turned(node)]
        text = "\n".join([*lines[: node.lineno - 1], *turned, *lines[last:]]) + "\n"
        made.append((text, f"It is wrong that {ast.unparse(node.test)[:200]}."))
    return made


def _trivial(test: ast.expr) -> bool:
    return not any(isinstance(leaf, ast.Name | ast.Call) for leaf in ast.walk(test))


def _turned(node: ast.Assert) -> list[str]:
    test = node.test
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        left, right = test.left, test.comparators[0]
        if isinstance(left, ast.Constant):
            left, right = right, left
        return [
            f"actual = {ast.unparse(left)}",
            f'assert actual != {_bracketed(right)}, f"expected another value, got {{actual!r}}"',
        ]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return [f"assert {ast.unparse(test.operand)}, {_told(test)}"]
    return [f"assert not ({ast.unparse(test)}), {_told(test)}"]


def _bracketed(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if isinstance(node, ast.Constant | ast.Name | ast.Call | ast.List | ast.Dict) else f"({text})"


def _told(test: ast.expr) -> str:
    return repr(f"this should not hold: {ast.unparse(test)[:200]}")
