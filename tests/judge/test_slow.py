"""When a reading of growth counts: the genuine instrument, the subject's own time, what the report speaks of."""

from collections.abc import Callable

import pytest

from rebug.instruments import inline
from rebug.model import Basis, Ended, Failure, Frame, Observation, Stage, Symptom, SymptomKind, Trial

SYMPTOM = Symptom(kind=SymptomKind.SLOW, suspects=("Shelf.put",))
BODY = "# `Shelf.put` is quadratic\n\nPutting a text with many lines takes minutes.\n"
ACT = "def act(n):\n    Shelf().put('line\\n' * n)\n"
SCRIPT = f"{inline('growth')}\nfrom box import Shelf\n\n{ACT}\ngrowth(act)\n"


def slow(place: str = "box/core.py:put", order: float = 1.98, share: float = 0.97) -> Observation:
    message = (
        f"the time grows as n^{order} [slow order={order} sizes=1000,2000 share={share} place={place} via={place}]"
    )
    frame = Frame(file="repro.py", line=1, function="_report")
    failure = Failure(type="AssertionError", message=message, frames=(frame,))
    return Observation(ended=Ended.EXITED, exit=1, failures=(failure,), reached=("box/core.py:Shelf.put",))


def test_growth_in_what_the_report_names_matches(verdict_of: Callable[..., Trial]) -> None:
    assert verdict_of(SCRIPT, slow(), SYMPTOM, body=BODY, basis=Basis.MEASURED).loss.stage is Stage.MATCH


@pytest.mark.parametrize(
    ("script", "observation", "basis"),
    [
        (SCRIPT.replace("1.65", "0.5"), slow(), Basis.MEASURED),  # an instrument of its own making
        (SCRIPT, slow(order=1.2), Basis.MEASURED),
        (SCRIPT, slow(share=0.1), Basis.MEASURED),
        (SCRIPT, slow(place="other/thing.py:run"), Basis.MEASURED),
        (SCRIPT, slow(), Basis.MODEL),
        (SCRIPT.replace(ACT, "def act(n):\n    'line' * n\n"), slow(), Basis.MEASURED),  # the subject takes no part
    ],
)
def test_any_other_growth_does_not(
    script: str, observation: Observation, basis: Basis, verdict_of: Callable[..., Trial]
) -> None:
    assert verdict_of(script, observation, SYMPTOM, body=BODY, basis=basis).loss.stage is not Stage.MATCH


def test_a_function_that_the_report_does_not_speak_of_stays_below(verdict_of: Callable[..., Trial]) -> None:
    other = Symptom(kind=SymptomKind.SLOW, suspects=("Shelf.take",))
    body = "# `Shelf.take` is quadratic\n\nTaking takes minutes.\n"
    trial = verdict_of(SCRIPT, slow(), other, body=body, basis=Basis.MEASURED)
    assert trial.loss.stage is Stage.KIND
