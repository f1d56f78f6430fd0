"""What the language model costs for three full rounds, by the price table and the providers' rules of caching.

rebug's own proposers and critic make their calls over a context of about 20,000 tokens to the scripted provider: a real
HTTP server that speaks the providers' wire formats, keeps their prefix caches, and notes every prefix that differs.
Beside it the naive plan: as many candidates, one to a call, and one critique for each. Needs no key and no network.

Usage: python benchmarks/cost.py [--model PROVIDER:MODEL]...
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import rebug
from rebug.errors import ModelUnavailable
from rebug.intake import find_symptom, parse_report
from rebug.judge.reviewer import Reviewer
from rebug.model import Candidate, Critique, Ended, Environment, Failure, Loss, Observation, Stage, Trial, Verdict
from rebug.model_api import Cost, LanguageModel, Ledger, ModelRun, open_model
from rebug.model_api.catalogue import small_models
from rebug.model_api.providers import PROVIDERS
from rebug.model_api.scripted import Call, Script, ScriptedServer
from rebug.model_api.scripted.cache import tokens
from rebug.ports import Situation
from rebug.propose.written import EFFORTS, Author, shared_context
from rebug.subject import build_index

ROUNDS = 3
CONTEXT = 20_000  # tokens, as the scripted provider counts them
SERVED = ("openai", "anthropic", "deepseek")  # whose wire formats the scripted provider speaks

REPORT = """# The journal cannot be read back after a crash

Since the last release `SqliteJournal` loses the final event when the process is killed right after `append`.

```python
from rebug.store import SqliteJournal
journal = SqliteJournal(path)
journal.append("trial", {"candidate": "c0001", "score": 71})
```

```
Traceback (most recent call last):
  File "resume.py", line 9, in <module>
    restored = list(journal.events())
  File "/site-packages/rebug/store/journal.py", line 84, in events
    yield seq, kind, json.loads(text)
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
```
"""

SCRIPT = """import json
import tempfile
from pathlib import Path

from rebug.store import SqliteJournal

def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "journal.sqlite"
        journal = SqliteJournal(path)
        for number in range({number}):
            journal.append("trial", {{"candidate": f"c{{number:04d}}", "score": number}})
        again = SqliteJournal(path)
        events = list(again.events())
        assert len(events) == {number}, f"expected {number} events, got {{len(events)}}"
        last = events[-1][2]
        assert last["score"] == {number} - 1, f"expected {number} - 1, got {{last!r}}"
        print(json.dumps(last))

if __name__ == "__main__":
    main()
"""


@dataclass
class Clock:
    """Time that only waiting moves, so that rate limits cost the benchmark nothing."""

    now: float = 0.0

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """US cents of one model's three rounds, by plan."""

    model: str
    candidates: int
    calls: int
    cached_share: float
    first_round: float
    full: float
    full_uncached: float
    naive_calls: int
    naive: float  # without caching
    naive_cached: float


def reply(call: Call) -> str:
    """What a small model would answer: as many scripts, or reviews, as the call asks for."""
    reviewed = re.findall(r"(?m)^## (c\d{4})$", call.suffix)
    if "# Task: review" in call.suffix:
        return "\n".join(
            f"## {each}\nnearness: 40\nshows: It writes and reads events and finds all of them in place.\n"
            "missing: the process has to be killed between append and read.\nnext: append in a child and kill it.\n"
            for each in dict.fromkeys(reviewed)
        )
    count = max(1, ((call.max_tokens or 600) - 150) // 450)
    return "\n".join(
        f"## {number}\nclaim: the last event is not durable when {call.number * 10 + number} events were appended\n"
        "conditions: a journal in a file, read by a second connection\nprediction: the last event is missing\n"
        f"```python\n{SCRIPT.format(number=call.number * 10 + number)}```\n"
        for number in range(1, count + 1)
    )


def situation() -> Situation:
    """A report on rebug itself, whose source is at hand."""
    root = Path(rebug.__file__).parent.parent
    report = parse_report(REPORT)
    environment = Environment(
        python=Path(sys.executable), prefix=Path(sys.prefix), python_version="3.11", package="rebug",
        version=rebug.__version__, modules=("rebug",),
    )  # fmt: skip
    symptom = find_symptom(report, "rebug", ("rebug",))
    return Situation(
        report=report, symptom=symptom, index=build_index(root, ("rebug",)), environment=environment, round=1
    )


def context(start: Situation) -> str:
    """The shared context, filled up with the subject's source to exactly the size that is measured."""
    text = shared_context(start.report, start.symptom, start.index, start.environment, tokens=CONTEXT)
    for path in sorted(Path(rebug.__file__).parent.rglob("*.py")):
        if len(tokens(text)) >= CONTEXT:
            break
        text += path.read_text("utf-8")
    return "".join(tokens(text)[:CONTEXT])


def trial(candidate: Candidate, number: int) -> Trial:
    """A run that came near and left a doubt, so that the critic is asked about it."""
    failure = Failure(type="AssertionError", message="expected 11 events, got 11")
    return Trial(
        candidate=replace(candidate, id=f"c{number:04d}"),
        observation=Observation(ended=Ended.EXITED, exit=1, failures=(failure,), stdout="appended\n" * 6),
        loss=Loss(total=0.5 - number / 1000, stage=Stage.NEAR),
        verdict=Verdict.INCONCLUSIVE,
        critique=Critique(shows="reached the journal", differs="no JSONDecodeError", next="kill the writer"),
    )


def lean(run: ModelRun, prefix: str, start: Situation) -> tuple[int, Cost]:
    """rebug's plan; returns the number of candidates and the bill of the first round's proposals."""
    effort = replace(EFFORTS["normal"], context=CONTEXT)
    author, reviewer = Author(run=run, prefix=prefix, effort=effort), Reviewer(run=run, prefix=prefix)
    trials: list[Trial] = []
    first = Cost()
    for number in range(1, ROUNDS + 1):
        parents = sorted(trials, key=lambda each: each.loss.total)[:3]
        now = replace(start, round=number, trials=tuple(trials), parents=tuple(parents), rng=random.Random(number))
        new = [trial(candidate, len(trials) + at) for at, candidate in enumerate(author.propose(now), 1)]
        if number == 1:
            first = run.cost()
        trials += new
        reviewer.review(new, now)
    return len(trials), first


def naive(run: ModelRun, prefix: str, start: Situation, candidates: int) -> None:
    """One hypothesis to a call, one critique for each candidate."""
    rounds = max(1, candidates // ROUNDS)
    made = 0
    for number in range(1, ROUNDS + 1):
        effort = replace(EFFORTS["normal"], calls=rounds, hypotheses=1, context=CONTEXT)
        author = Author(run=run, prefix=prefix, effort=effort, independent=True)
        now = replace(start, round=number, rng=random.Random(number))
        for candidate in author.propose(now):
            made += 1
            Reviewer(run=run, prefix=prefix).review([trial(candidate, made)], now)


def opened(spec: str, server: ScriptedServer) -> LanguageModel | None:
    provider = spec.partition(":")[0]
    wire = "anthropic" if provider == "anthropic" else "openai"
    try:
        return open_model(
            spec, environment={PROVIDERS[provider].variables[0]: "benchmark"}, base_url=server.base_url(wire)
        )
    except ModelUnavailable as missing:
        print(f"{spec}: left out: {missing}", file=sys.stderr)
        return None


def measure(spec: str, prefix: str, start: Situation) -> Bill | None:
    """Both plans with one model. Raises AssertionError when a call's prefix differs by a byte."""
    costs = []
    candidates, first = 0, Cost()
    for plan in ("lean", "naive"):
        with ScriptedServer(Script(reply=reply)) as server:
            model = opened(spec, server)
            if model is None:
                return None
            clock = Clock()
            with ModelRun(model, ledger=Ledger(spec), clock=clock.time, sleep=clock.sleep) as run:
                if plan == "lean":
                    candidates, first = lean(run, prefix, start)
                else:
                    naive(run, prefix, start, candidates)
                costs.append(run.cost())
            assert not server.violations, server.violations
    ours, theirs = costs
    return Bill(
        model=spec.partition(":")[2],
        candidates=candidates,
        calls=ours.calls,
        cached_share=ours.cached_tokens / ours.input_tokens,
        first_round=cents(first.usd),
        full=cents(ours.usd),
        full_uncached=cents(ours.usd_without_cache),
        naive_calls=theirs.calls,
        naive=cents(theirs.usd_without_cache),
        naive_cached=cents(theirs.usd),
    )


def cents(usd: float | None) -> float:
    assert usd is not None, "a model without a price"
    return 100 * usd


def current() -> list[str]:
    """The small models whose lean run costs at most five cents."""
    return [
        f"{provider.name}:{entry.model}"
        for provider in PROVIDERS.values()
        if provider.name in SERVED
        for entry in small_models(provider)
        if entry.price.input <= 0.3
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", help="PROVIDER:MODEL; may be repeated; default: the current ones")
    models = parser.parse_args().model or current()
    start = situation()
    prefix = context(start)
    began = time.perf_counter()
    bills = [bill for spec in models if (bill := measure(spec, prefix, start)) is not None]
    titles = ("model", "cands", "calls", "cached", "round 1", "3 rounds", "uncached", "naive calls", "naive", "cached")
    print("US cents; naive: one hypothesis per call, one critique per candidate, without and with caching")
    print("{:22} {:>5} {:>5} {:>7} {:>8} {:>9} {:>9} {:>11} {:>7} {:>7}".format(*titles))
    for bill in bills:
        print(
            f"{bill.model:22} {bill.candidates:5} {bill.calls:5} {bill.cached_share:7.1%} {bill.first_round:8.2f} "
            f"{bill.full:9.2f} {bill.full_uncached:9.2f} {bill.naive_calls:11} {bill.naive:7.1f} "
            f"{bill.naive_cached:7.1f}"
        )
    print(f"{len(tokens(prefix))} tokens of shared context; {time.perf_counter() - began:.0f} s")
    figures = {
        "cached_share": round(min((bill.cached_share for bill in bills), default=0.0), 4),
        "cents": {bill.model: round(bill.full, 3) for bill in bills},
        "cents_first_round": {bill.model: round(bill.first_round, 3) for bill in bills},
        "cents_naive": {bill.model: round(bill.naive, 2) for bill in bills},
        "cents_uncached": {bill.model: round(bill.full_uncached, 3) for bill in bills},
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
