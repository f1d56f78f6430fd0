from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from rebug.model import Candidate, Role, Stage, Variation
from rebug.ports import Situation
from rebug.search import Plan, Search
from rebug.store import MemoryJournal
from tests.search.conftest import HIT, MISS, NEAR, Fixed, candidate

Searching = Callable[..., Search]


def test_a_search_ends_with_the_first_confirmed_match(searching: Searching) -> None:
    outcome = searching(Fixed([candidate(MISS), candidate(NEAR), candidate(HIT)])).run()
    assert outcome.stopped == "reproduced"
    assert outcome.accepted is not None
    assert outcome.accepted.candidate.script == HIT
    assert outcome.accepted.loss.stage is Stage.MATCH
    assert [trial.candidate.id for trial in outcome.trials] == ["c0001", "c0002", "c0003"]
    assert outcome.ranked[0].candidate.script == HIT


def test_duplicates_are_refused_before_they_run(searching: Searching) -> None:
    same = "import box\n\n# a comment\nbox.load( 'good' )\n"
    outcome = searching(Fixed([candidate("import box\nbox.load('good')\n"), candidate(same)])).run()
    assert (outcome.counts.proposed, outcome.counts.duplicates, outcome.counts.run) == (2, 1, 1)


def test_the_same_script_in_another_environment_is_no_duplicate(searching: Searching) -> None:
    varied = candidate(MISS, variation=Variation(variables=(("TZ", "Asia/Tokyo"),)))
    outcome = searching(Fixed([candidate(MISS), varied])).run()
    assert (outcome.counts.duplicates, outcome.counts.run) == (0, 2)


def test_a_trial_that_its_confirmation_contradicts_is_demoted_and_the_search_goes_on(searching: Searching) -> None:
    other = "from box import load\nload('b' + 'ad')\n"
    search = searching(
        Fixed([candidate(HIT)]),
        Fixed([candidate(other)], round=2),
        accept=lambda trial, _: "" if trial.candidate.script == other else "it exits 0 when run plainly",
    )
    outcome = search.run()
    assert outcome.accepted is not None
    assert outcome.accepted.candidate.script == other
    refused = next(trial for trial in outcome.trials if trial.candidate.script == HIT)
    assert refused.loss.stage is Stage.KIND
    assert "it exits 0 when run plainly" in refused.loss.reasons


@dataclass
class FollowUp:
    """Offers the hit once it has seen a trial that comes near."""

    name: str = "follow-up"
    reactive: bool = True
    seen: list[int] = field(default_factory=list)

    def propose(self, situation: Situation) -> Iterable[Candidate]:
        self.seen.append(len(situation.trials))
        return [candidate(HIT, parents=(t.candidate.id,)) for t in situation.trials if t.candidate.script == NEAR]


def test_reactive_proposers_see_results_within_the_round(searching: Searching) -> None:
    many = [candidate(NEAR)] + [candidate(f"{MISS}# {n}\nn = {n}\n") for n in range(12)]
    follow_up = FollowUp()
    outcome = searching(Fixed(many), follow_up).run()
    assert outcome.stopped == "reproduced"
    assert outcome.counts.rounds == 1
    assert outcome.counts.run < 10
    assert outcome.accepted is not None
    assert outcome.accepted.candidate.parents == ("c0001",)


def test_controls_and_probes_are_neither_ranked_nor_confirmed(searching: Searching) -> None:
    asked: list[str] = []
    search = searching(
        Fixed([candidate(HIT, role=Role.CONTROL)]), accept=lambda trial, _: asked.append(trial.candidate.id) or ""
    )
    outcome = search.run()
    assert (outcome.ranked, asked, outcome.counts.run) == ((), [], 1)


def test_a_cap_on_candidates_is_hard(searching: Searching) -> None:
    many = [candidate(f"{MISS}n = {n}\n") for n in range(12)]
    outcome = searching(Fixed(many), plan=Plan(max_candidates=6)).run()
    assert outcome.stopped == "candidates"
    assert outcome.counts.run <= 6


def test_a_cap_on_seconds_ends_the_search(searching: Searching) -> None:
    ticks = iter(range(0, 100_000, 10))
    many = [candidate(f"{MISS}n = {n}\n") for n in range(12)]
    outcome = searching(Fixed(many), plan=Plan(max_seconds=200), clock=lambda: float(next(ticks))).run()
    assert outcome.stopped == "seconds"
    assert outcome.counts.run < 12


def test_an_environment_that_cannot_be_built_costs_one_candidate_only(searching: Searching) -> None:
    lost = candidate(MISS, variation=Variation(requirements=("/nowhere/no-such-wheel-1.0-py3-none-any.whl",)))
    outcome = searching(Fixed([lost, candidate(HIT)])).run()
    assert outcome.stopped == "reproduced"
    assert outcome.counts.environment_failures == 1
    assert outcome.trials[0].loss.stage is Stage.ENVIRONMENT


def test_the_same_seed_gives_the_same_journal(searching: Searching) -> None:
    def decisions() -> list[object]:
        journal = MemoryJournal()
        searching(Fixed([candidate(MISS), candidate(NEAR)]), Fixed([candidate(HIT)], round=2), journal=journal).run()
        kept = []
        for _, kind, data in journal.events():
            entry = dict(data)
            if kind == "trial":
                entry = {"candidate": entry["candidate"], "loss": entry["loss"], "signature": entry["signature"]}
            kept.append((kind, entry))
        return kept

    assert decisions() == decisions()


def test_ctrl_c_leaves_what_was_found(searching: Searching) -> None:
    def interrupt(*_: object) -> str:
        raise KeyboardInterrupt

    outcome = searching(Fixed([candidate(NEAR), candidate(HIT)]), accept=interrupt).run()
    assert outcome.stopped == "interrupted"
    assert outcome.ranked[0].candidate.script == HIT


def test_an_idle_search_stops(searching: Searching) -> None:
    outcome = searching(Fixed([candidate(MISS)]), plan=Plan(rounds=9)).run()
    assert (outcome.stopped, outcome.counts.rounds) == ("stalled", 2)


@dataclass
class Faulty:
    """Offers one candidate, then breaks."""

    name: str = "faulty"
    reactive: bool = False

    def propose(self, situation: Situation) -> Iterable[Candidate]:
        yield candidate(MISS)
        raise IndexError("a fault of the proposer")


def test_a_proposer_that_breaks_does_not_take_the_others_with_it(searching: Searching) -> None:
    journal = MemoryJournal()
    said: list[str] = []
    outcome = searching(Faulty(), Fixed([candidate(NEAR), candidate(HIT)]), journal=journal, narrate=said.append).run()
    assert outcome.stopped == "reproduced"
    assert any("faulty" in line for line in said)
    assert [data["proposer"] for _, kind, data in journal.events() if kind == "proposer_failed"] == ["faulty"]
