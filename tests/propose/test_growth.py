"""Slowness from prose alone: probes and attempts, run for real on a small library and on its sound twin."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rebug.instruments import genuine, readings
from rebug.intake import find_symptom, parse_report, parse_tracebacks
from rebug.judge import StagedJudge
from rebug.model import Candidate, Critique, Ended, Environment, Loss, Observation, Role, Stage, Trial, Verdict
from rebug.ports import Situation
from rebug.propose.growth import Growth, acts_named, hits_of, pumped
from rebug.subject import build_index

SLOW = '''
import re


class Splitter:
    """Takes text apart."""

    def __init__(self):
        self.rest = ""

    def feed(self, text):
        found = []
        text = self.rest + text
        while "\\n" in text:
            at = text.index("\\n")
            found.append(text[:at])
            text = text[at + 1 :]
        self.rest = text
        return found


class Fields:
    def __init__(self):
        self.pairs = {}

    def put(self, name, value):
        self.pairs[name] = self.pairs[name] + "," + value if name in self.pairs else value


def options(header):
    """Pairs in a header, such as `options('a; b="c"')`."""
    return re.findall(r';\\s*(\\w+)="((?:\\\\.|[^"])*)"', header)


def count(items):
    seen = []
    for item in items:
        if item not in seen:
            seen.append(item)
    return len(seen)
'''
SOUND = '''
import re


class Splitter:
    """Takes text apart."""

    def __init__(self):
        self.rest = []

    def feed(self, text):
        *found, rest = text.split("\\n")
        if found:
            found[0] = "".join(self.rest) + found[0]
            self.rest = []
        self.rest.append(rest)
        return found


class Fields:
    def __init__(self):
        self.pairs = {}

    def put(self, name, value):
        self.pairs.setdefault(name, []).append(value)


def options(header):
    """Pairs in a header, such as `options('a; b="c"')`."""
    return re.findall(r';\\s*(\\w+)="([^"\\\\]{0,200})"', header)


def count(items):
    return len(dict.fromkeys(items))
'''

LINES = """# Splitter is quadratic

I fed a `Splitter` one text with a few ten thousand lines and waited for minutes. It cuts the front off the text for
every line.
"""
REPEATED = """# Quadratic time when `Fields.put` is called with the same name again and again

Twice the calls take four times as long.
"""
QUOTES = """# `options()` takes forever for one header

The header has a quoted value that is opened and never closed, with many backslashes behind the opening quote. Every
backslash more doubles the time, so it is exponential.
"""
SNIPPET = """# Counting many items is very slow

```python
import time
from apart import count

for size in (1000, 2000, 4000):
    start = time.perf_counter()
    count(range(size))
    print(size, time.perf_counter() - start)
```

It takes four times as long for twice the items.
"""


@dataclass(frozen=True)
class Bench:
    slow: Path
    sound: Path

    def situation(self, report: str, trials: tuple[Trial, ...] = ()) -> Situation:
        read = parse_report(report)
        return Situation(
            report=read,
            symptom=find_symptom(read, "apart", ("apart",)),
            index=build_index(self.slow, ("apart",), "apart"),
            environment=Environment(
                python=Path(sys.executable),
                prefix=self.slow,
                python_version="3.11.7",
                package="apart",
                version="1",
                modules=("apart",),
            ),
            round=1,
            trials=trials,
        )

    def run(self, candidate: Candidate, root: Path) -> Observation:
        script = root / "repro.py"
        script.write_text(candidate.script)
        done = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False, cwd=root
        )
        return Observation(
            ended=Ended.EXITED,
            exit=done.returncode,
            stdout=done.stdout,
            stderr=done.stderr,
            failures=tuple(parse_tracebacks(done.stderr)),
        )

    def attempts(self, report: str) -> list[Candidate]:
        """What is proposed at first, or once the first probe was run."""
        first = next(Growth(seconds=2.5).propose(self.situation(report)))
        if first.role is Role.ATTEMPT:
            return [first]
        trial = Trial(
            candidate=first,
            observation=self.run(first, self.slow),
            loss=Loss(total=0.8, stage=Stage.OUTSIDE),
            verdict=Verdict.UNTESTED,
            critique=Critique(shows=""),
        )
        return list(Growth(seconds=2.5).propose(self.situation(report, (trial,))))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    for name, text in (("slow", SLOW), ("sound", SOUND)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "apart.py").write_text(text)
    return Bench(tmp_path / "slow", tmp_path / "sound")


@pytest.mark.parametrize(
    ("report", "used"), [(LINES, "feed("), (REPEATED, "put("), (QUOTES, "options("), (SNIPPET, "count(")]
)
def test_a_call_whose_time_grows_is_found_and_the_sound_twin_passes(report: str, used: str, bench: Bench) -> None:
    found = bench.attempts(report)
    assert found
    assert used in found[0].script.rpartition("def act(n):")[2]
    assert genuine(ast.parse(found[0].script), "growth")
    seen = bench.run(found[0], bench.slow)
    assert seen.exit == 1, seen.stderr
    (reading,) = readings(seen.stderr)
    assert reading.number("order") >= 1.6
    judged = StagedJudge().judge(found[0], seen, bench.situation(report))
    assert judged.loss.stage is Stage.MATCH, judged.loss
    assert bench.run(found[0], bench.sound).exit == 0


def test_other_kinds_of_reports_are_left_alone(bench: Bench) -> None:
    assert (
        list(
            Growth(seconds=2.5).propose(
                bench.situation("# `count` gives 3 where 2 is right\n\n`count([1, 1])` is 2.\n")
            )
        )
        == []
    )


def test_a_probe_that_names_nothing_or_nonsense_leads_to_no_attempt() -> None:
    script = "REBUG-GROWTH \nmain({'setups': [''], 'acts': [(0, 'f(n)')]})\n"
    assert [
        act.body for act in acts_named(script, 'REBUG-GROWTH {"hits": [{"act": 0, "order": 2.0, "size": 64}]}')
    ] == ["f(n)"]
    for said in ("", "REBUG-GROWTH nonsense", 'REBUG-GROWTH {"hits": [{"act": 7, "order": 2.0, "size": 4}, 3]}'):
        assert acts_named(script, said) == []
    assert acts_named("print(1)\n", 'REBUG-GROWTH {"hits": []}') == []


def test_hits_with_the_smallest_input_come_first() -> None:
    hits = [
        {"act": 0, "order": 2, "size": 4096},
        {"act": 1, "order": 9, "size": 32},
        {"act": 2, "order": 3, "size": 4096},
    ]
    assert hits_of(f'REBUG-GROWTH {{"hits": {hits}}}'.replace("'", '"')) == [1, 2, 0]


def test_what_a_body_repeats_is_read() -> None:
    assert pumped("f(('a' * 80 + '\\n') * n, b'x' + b'\\\\' * n)") == ["\na", "\\"]
