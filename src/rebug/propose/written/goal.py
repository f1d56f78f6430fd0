"""How a script is to show a symptom, kind by kind, in words for a language model. Pure."""

from __future__ import annotations

from rebug.model import Symptom, SymptomKind

ASSERTED = """\
End with an `assert` of the right behaviour, with a message that states expected and actual: it fails today because of
the bug and passes once the bug is fixed."""

GOALS = {
    SymptomKind.EXCEPTION: """\
Let the reported exception come out of the call into the package: do not catch it, do not raise it yourself.""",
    SymptomKind.RACE: """\
Start several threads or tasks that do what the report describes at the same time, often enough for it to show, and let
the reported exception come out, or assert what should hold.""",
    SymptomKind.HANG: """\
Define `def act():` with the calls that never return, or after which threads keep the process from ending, and end with
`hang(act)`: `hang` is there already, it fails if act() stands still for 8 seconds. Give calls that take a time limit a
short one; stop and join every thread of your own in act(). Do not define, import or time anything for it.""",
    SymptomKind.CRASH: """\
Make the very call into the package that kills the interpreter, in the script's own process, with inputs that bring it
about; repeat it in a loop over sizes if it does not happen each time.""",
    SymptomKind.LEAK: """\
Define `def act():` with calls into the package that should give back all they take, and end with `leak(act)`: `leak` is
there already, it repeats act() and fails if something is kept. Do not define, import or measure anything for it.""",
    SymptomKind.SLOW: """\
Define `def act(n):` with the slow call, its input growing in proportion to n (`"x," * n`), and end with `growth(act)`:
`growth` is there already, it doubles n and fails if the time grows much faster. Measure nothing yourself.""",
    SymptomKind.WARNING: """\
Collect warnings with `warnings.catch_warnings(record=True)` and `warnings.simplefilter("always")` around the call, and
`assert` that the reported one is not among them (or is, if it is missing).""",
}


def goal(symptom: Symptom) -> str:
    """What a script for this symptom has to do at its end; one to three lines."""
    return GOALS.get(symptom.kind, ASSERTED)
