"""Assertions from the report: what a run of its code showed, compared with what the report says is wrong or right."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rebug.model import Basis, Candidate, Ended, Hypothesis, Role, SymptomKind, Trial
from rebug.ports import Situation
from rebug.propose.code import parse, source_of, statement_lines
from rebug.propose.comments import Remark, remarks
from rebug.propose.rewrite import (
    line_check,
    replaced,
    shown_statements,
    statement_of,
    value_of,
    with_output_check,
    with_value_check,
)
from rebug.propose.values import Seen, expected_place, same, wrong_lines

_VALUES = {
    SymptomKind.WRONG_OUTPUT, SymptomKind.UNKNOWN, SymptomKind.RACE, SymptomKind.EXIT, SymptomKind.EXCEPTION,
    SymptomKind.LOG,
}  # fmt: skip
_SOURCES = {"snippet", "shell", "stand-ins", "entry-points", "neighbour-tests", "mutate", "crossover"}
"""Proposers whose scripts assert nothing of their own."""
_MOST = 4


class Assertions:
    """Turns a run that shows the reported wrong value into a script that fails because of it."""

    name = "assertions"
    reactive = True

    def propose(self, situation: Situation) -> Iterator[Candidate]:
        if situation.symptom.kind not in _VALUES:
            return
        answered = {
            parent for t in situation.trials if t.candidate.proposer == self.name for parent in t.candidate.parents
        }
        for trial in situation.trials:
            if trial.candidate.id not in answered and quiet(trial):
                yield from self._for(trial, situation)

    def _for(self, trial: Trial, situation: Situation) -> Iterator[Candidate]:
        made: list[tuple[str, str, str]] = []
        script, output = trial.candidate.script, trial.observation.stdout.splitlines()[:2000]
        for seen in wrong_lines(situation.symptom, output)[:3]:
            made += [(text, seen.right, " / ".join(seen.lines)) for text in checks(script, output, seen)]
        for remark in remarks(script):
            made += [(text, remark.right, remark.wrong) for text in remarked(script, remark, output)]
        place = expected_place(situation.symptom, output)
        if place is not None:
            number, right = place
            shown = statement_of(script, output, number)
            text = with_value_check(script, shown, right=right) if shown else ""
            made += [(text or with_output_check(script, _expected_line(number, right)), right, output[number])]
        if situation.symptom.expected_exception:
            kind = situation.symptom.expected_exception.rpartition(".")[2]
            made.append((must_raise(script, kind, None), kind, "no exception"))
        for text, right, wrong in [m for m in made if m[0]][:_MOST]:
            yield asserting(trial, text, Assertions.name, Basis.REPORT, expected=right, actual=wrong)


def quiet(trial: Trial) -> bool:
    """Whether a trial is a plain program of the report that ended well and asserts nothing yet."""
    candidate, observation = trial.candidate, trial.observation
    return (
        candidate.role is Role.ATTEMPT
        and candidate.basis in {Basis.NONE, Basis.SCRIPT}
        and candidate.proposer in _SOURCES
        and observation.ended is Ended.EXITED
        and observation.exit == 0
    )


def asserting(trial: Trial, script: str, proposer: str, basis: Basis, *, expected: str, actual: str) -> Candidate:
    """A candidate that asserts something of what its parent's run showed."""
    wanted = f", expected {expected[:200]}" if expected else ""
    return Candidate(
        script=script,
        hypothesis=Hypothesis(
            claim=f"The value is {actual[:200]}{wanted}.",
            conditions=trial.candidate.hypothesis.conditions,
            prediction=f"an assertion fails on {actual[:200]}",
        ),
        proposer=proposer,
        basis=basis,
        expected=expected,
        actual=actual,
        variation=trial.candidate.variation,
        parents=(trial.candidate.id,),
        requirements=trial.candidate.requirements,
    )


def checks(script: str, output: list[str], seen: Seen) -> Iterator[str]:
    """Scripts that fail iff the wrong lines are seen: at the value where one statement prints it, else the output."""
    if len(seen.at) == 1:
        shown = statement_of(script, output, seen.at[0])
        if shown is not None and shown.straight:
            wrong = value_of(shown, seen.lines[0])
            right = value_of(shown, seen.right) if seen.right else ""
            yield with_value_check(script, shown, wrong=wrong, right=right)
    yield with_output_check(script, line_check(seen.lines, output, seen.at, seen.right))


def remarked(script: str, remark: Remark, output: list[str]) -> Iterator[str]:
    """Scripts that check what a comment says of the value of the statement before it."""
    for shown in shown_statements(script):
        if statement_lines(shown.node)[1] == remark.line and shown.value:
            if remark.wrong and not any(same(line, remark.wrong) or remark.wrong in line for line in output):
                continue
            yield with_value_check(script, shown, wrong=remark.wrong, right=remark.right)
            return
    tree = parse(script)
    for node in tree.body if tree else ():
        if statement_lines(node)[1] == remark.line and isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                yield _assigned_check(script, node, target.id, remark)


def _assigned_check(script: str, node: ast.Assign, name: str, remark: Remark) -> str:
    if remark.wrong:
        check = f"assert {remark.wrong!r} not in (str({name}), repr({name})), f'got {{{name}!r}}'"
    else:
        check = f"assert {remark.right!r} in (str({name}), repr({name})), f'got {{{name}!r}}'"
    text = replaced(script, node, f"{source_of(script, node)}\n{check}")
    return text if parse(text) is not None else ""


def _expected_line(number: int, right: str) -> str:
    folded = " ".join(right.split())
    return f"assert _lines[{number}] == {folded!r}, f'expected {{{folded!r}}}, got {{_lines[{number}]}}'"


def must_raise(script: str, kind: str, line: int | None) -> str:
    """The script up to the statement at `line` (or its last call), which has to raise something of this name."""
    tree = parse(script)
    if tree is None or not tree.body:
        return ""
    bodies = [n for n in tree.body if isinstance(n, ast.Expr | ast.Assign | ast.With | ast.For | ast.AnnAssign)]
    chosen: ast.stmt | None = None
    if line is None:
        chosen = bodies[-1] if bodies else None
    else:
        chosen = next((n for n in tree.body if statement_lines(n)[0] <= line <= statement_lines(n)[1]), None)
    if chosen is None or isinstance(chosen, ast.Import | ast.ImportFrom):
        return ""
    lines = script.splitlines()
    first, last = statement_lines(chosen)
    body = "\n".join("    " + text for text in lines[first - 1 : last])
    check = (
        f"_raised = ''\ntry:\n{body}\nexcept Exception as _error:\n    _raised = type(_error).__name__\n"
        f"assert _raised, 'expected {kind}, but nothing was raised'"
    )
    text = "\n".join([*lines[: first - 1], check]) + "\n"
    return text if parse(text) is not None else ""
