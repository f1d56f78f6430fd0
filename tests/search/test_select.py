from dataclasses import replace

from rebug.model import Basis, Critique, Ended, Loss, Observation, Role, Stage, Trial, Verdict
from rebug.search import fingerprint, parents, rank
from tests.search.conftest import candidate


def trial(number: int, loss: float, signature: str, script: str = "x = 1\n", role: Role = Role.ATTEMPT) -> Trial:
    return Trial(
        candidate=candidate(script, id=f"c{number:04d}", role=role),
        observation=Observation(ended=Ended.EXITED, exit=0),
        loss=Loss(total=loss, stage=Stage.INSIDE),
        verdict=Verdict.REFUTED,
        critique=Critique(shows=""),
        signature=signature,
    )


def test_parents_are_the_best_and_the_best_others_with_other_signatures() -> None:
    trials = [trial(1, 0.5, "a"), trial(2, 0.4, "a"), trial(3, 0.7, "b"), trial(4, 0.6, "c"), trial(5, 0.9, "d")]
    assert [kept.candidate.id for kept in parents(trials, 3)] == ["c0002", "c0004", "c0003"]


def test_the_shorter_of_two_equals_comes_first() -> None:
    trials = [trial(1, 0.5, "a", "x = 1\ny = 2\n"), trial(2, 0.5, "b", "x = 1\n")]
    assert [ranked.candidate.id for ranked in rank(trials)] == ["c0002", "c0001"]


def test_equal_results_are_shown_once() -> None:
    assert len(rank([trial(1, 0.5, "a"), trial(2, 0.5, "a"), trial(3, 0.5, "b")])) == 2


def test_fingerprints_ignore_layout_comments_and_docstrings() -> None:
    one = candidate('def f():\n    """Text."""\n    return 1\n')
    two = candidate("def f():  # why\n\n    return 1\n")
    assert fingerprint(one) == fingerprint(two)
    assert fingerprint(one) != fingerprint(candidate("def f():\n    return 2\n"))
    assert fingerprint(candidate("(: broken")) != fingerprint(candidate("(: other"))


def test_a_models_word_that_fails_in_the_good_releases_too_is_no_parent() -> None:
    def run(number: int, role: Role, exit_status: int, *parents: str, basis: Basis = Basis.MODEL) -> Trial:
        made = trial(number, 0.2 + number / 100, f"s{number}", role=role)
        return replace(
            made,
            candidate=replace(made.candidate, parents=parents, basis=basis),
            observation=Observation(ended=Ended.EXITED, exit=exit_status),
        )

    trials = [
        run(1, Role.ATTEMPT, 1),
        run(2, Role.ATTEMPT, 1),
        run(3, Role.ATTEMPT, 1, basis=Basis.REPORT),
        run(4, Role.CONTROL, 1, "c0001"),
        run(5, Role.CONTROL, 1, "c0002"),
        run(6, Role.CONTROL, 0, "c0002"),
        run(7, Role.CONTROL, 1, "c0003", basis=Basis.REPORT),
    ]
    assert [kept.candidate.id for kept in parents(trials, 3)] == ["c0002", "c0003"]
    assert [ranked.candidate.id for ranked in rank(trials)] == ["c0002", "c0003", "c0001"]
