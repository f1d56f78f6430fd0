"""Logs and warnings: from the report over the capturing script, really run, to the verdict; sound software passes."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rebug.instruments import inline
from rebug.intake import find_symptom, parse_report, parse_tracebacks
from rebug.judge import StagedJudge
from rebug.model import Basis, Candidate, Ended, Environment, Hypothesis, Observation, Stage, SymptomKind, Trial
from rebug.ports import Situation
from rebug.propose import FromLog
from rebug.propose.from_log import captured
from rebug.subject import build_index

LIBRARY = """
import logging
import warnings

log = logging.getLogger("crates.core")


def stack(crates):
    for number in crates:
        if not FIXED or number < 0:
            log.warning("Crate %d stands askew", number)
        if FIXED:
            log.info("stacked crate %d safely", number)
    return len(crates)


def ship(crates):
    for _ in range(1 if FIXED else 2):
        log.info("shipping %d crates now", len(crates))


def find(label):
    if not FIXED:
        log.warning("no crate for %r, taking another", label)


def old_name():
    if not FIXED:
        warnings.warn("old_name is deprecated, use new_name", DeprecationWarning, stacklevel=2)
"""


@dataclass(frozen=True)
class Crates:
    """The broken and the repaired subject."""

    root: Path

    def situation(self, report: str) -> Situation:
        parsed = parse_report(report)
        return Situation(
            report=parsed,
            symptom=find_symptom(parsed, "crates", ("crates",)),
            index=build_index(self.root / "broken", ("crates",), "crates"),
            environment=Environment(
                python=Path(sys.executable),
                prefix=Path(sys.prefix),
                python_version="3.11.7",
                package="crates",
                version="1",
                modules=("crates",),
            ),
            round=1,
        )

    def run(self, script: str, where: str = "broken") -> Observation:
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            env={"PYTHONPATH": str(self.root / where), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
        )
        failures = tuple(replace(f, where="raised") for f in parse_tracebacks(done.stderr))
        return Observation(
            ended=Ended.EXITED, exit=done.returncode, stdout=done.stdout, stderr=done.stderr, failures=failures
        )

    def trial(self, candidate: Candidate, situation: Situation, where: str = "broken") -> Trial:
        return StagedJudge().judge(candidate, self.run(candidate.script, where), situation)


@pytest.fixture(scope="module")
def crates(tmp_path_factory: pytest.TempPathFactory) -> Crates:
    root = tmp_path_factory.mktemp("subject")
    for name, fixed in (("broken", False), ("repaired", True)):
        package = root / name / "crates"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(f"FIXED = {fixed}\n{LIBRARY}")
    return Crates(root)


def _own(script: str) -> Candidate:
    return Candidate(id="c1", script=script, hypothesis=Hypothesis(claim="it"), proposer="snippet")


UNWANTED = """# A warning in the log for each crate

```python
from crates import stack

stack([1, 2])
```

```
WARNING:crates.core:Crate 1 stands askew
```

I expect none.
"""
TWICE = """# A line is logged twice

```python
import logging
from crates import ship

logging.basicConfig(level=logging.INFO)
ship([1, 2])
```

```
INFO:crates.core:shipping 2 crates now
INFO:crates.core:shipping 2 crates now
```

"shipping 2 crates now" stands there two times.
"""
MISSING = """# stack() does not log what it stacks

```python
import logging
from crates import stack

logging.basicConfig(level=logging.INFO)
stack([3])
```

The message "stacked crate 3 safely" is not logged any more.
"""
WARNED = """# DeprecationWarning on every call

```python
import warnings

warnings.simplefilter("error")
from crates import old_name
old_name()
```

```
DeprecationWarning: old_name is deprecated, use new_name
```

I don't use anything old.
"""


@pytest.mark.parametrize(
    ("report", "kind", "rule"),
    [
        (UNWANTED, SymptomKind.LOG, "none"),
        (TWICE, SymptomKind.LOG, "once"),
        (MISSING, SymptomKind.LOG, "some"),
        (WARNED, SymptomKind.WARNING, "none"),
    ],
)
def test_from_the_report_to_a_match(crates: Crates, report: str, kind: SymptomKind, rule: str) -> None:
    situation = crates.situation(report)
    assert situation.symptom.kind is kind
    parent = crates.trial(_own(situation.report.blocks[0].text), situation)
    made = list(FromLog().propose(replace(situation, trials=(parent,))))
    assert made
    assert made[0].basis is Basis.MEASURED
    assert f"records.{rule}(" in made[0].script
    later = replace(situation, trials=(parent,))
    assert crates.trial(made[0], later).loss.stage is Stage.MATCH
    assert crates.run(made[0].script, "repaired").exit == 0


def test_another_message_or_other_inputs_are_no_match(crates: Crates) -> None:
    situation = crates.situation(UNWANTED)
    own = "from crates import stack\n\nstack([1, 2])\n"
    for script, words in ((own, ("Crate 2",)), ("from crates import ship\n\nship([])\n", ("shipping",))):
        candidate = replace(_own(captured(script, "none", words, level="DEBUG")), basis=Basis.MEASURED)
        if script == own:
            assert crates.trial(candidate, situation).loss.stage is Stage.MATCH
        else:
            assert crates.trial(candidate, situation).loss.stage is not Stage.MATCH
    other = captured("from crates import stack\n\nvalue = stack([-7])\n", "none", ("stands askew",))
    made_up = replace(_own(other), basis=Basis.MEASURED, proposer="entry-points")
    assert crates.trial(made_up, situation).loss.stage is Stage.KIND  # it is proper there


def test_a_script_that_logs_the_message_itself_shows_nothing(crates: Crates) -> None:
    situation = crates.situation(UNWANTED)
    body = "import crates, logging\n\nlogging.warning('Crate 1 stands askew')\nlogging.warning('and more and more')\n"
    for text in (captured(body, "none", ("askew",)), body + "raise AssertionError('Crate 1 stands askew')\n"):
        candidate = replace(_own(text), basis=Basis.MEASURED, proposer="model")
        assert crates.trial(candidate, situation).loss.stage not in {Stage.KIND, Stage.MATCH}


def test_an_altered_instrument_counts_for_nothing(crates: Crates) -> None:
    situation = crates.situation(UNWANTED)
    script = captured("from crates import stack\n\nstack([1, 2])\n", "none", ("askew",))
    altered = replace(_own(script.replace("if found:\n            self._fail", "if True:\n            self._fail", 1)),
                      basis=Basis.MEASURED)  # fmt: skip
    assert crates.trial(altered, situation).loss.stage not in {Stage.KIND, Stage.MATCH}


def test_the_instrument_sees_records_warnings_and_output_and_says_where_they_come_from(crates: Crates) -> None:
    start = inline("records") + "\nrecords = Records()\n"
    done = crates.run(start + "from crates import stack\nstack([5])\nrecords.none('Crate', 'askew')\n")
    assert "level=WARNING logger=crates.core at=" in done.stderr
    assert "crates/__init__.py:stack]" in done.stderr
    done = crates.run(start + "import sys\nsys.stderr.write('a plain line\\n')\nrecords.none('plain line')\n")
    assert "'a plain line' is logged, and should not be [records rule=none count=1 level=OUTPUT" in done.stderr
    assert (
        crates.run(start + "from crates import stack\nstack([])\nrecords.none('Crate')\nrecords.once('x')\n").exit == 0
    )


def test_a_message_alone_gives_the_call_that_logs_it(crates: Crates) -> None:
    log = "```\nWARNING:crates.core:no crate for 'tea', taking another\n```\n"
    report = f"# A warning in our log\n\n{log}\nWe have tea. It worked with crates 0.9.\n"
    situation = crates.situation(report)
    (call,) = FromLog().propose(situation)
    assert call.script == "from crates import find\n\nfind('tea')\n"
    parent = replace(crates.trial(replace(call, id="c1"), situation))
    made = list(FromLog().propose(replace(situation, trials=(parent,))))
    assert crates.trial(made[0], replace(situation, trials=(parent,))).loss.stage is Stage.MATCH
    assert crates.run(made[0].script, "repaired").exit == 0
    untold = replace(situation, trials=(parent,), symptom=replace(situation.symptom, good_versions=()))
    assert crates.trial(made[0], untold).loss.stage is Stage.KIND


TOOL = """# `crates check` exits with status {status}, whatever it finds

```console
$ crates check askew.txt
askew.txt: 1 crate stands askew
$ echo $?
{status}
```
"""


@pytest.mark.parametrize(
    ("status", "printed", "ends", "stage"),
    [
        (0, "askew.txt: 1 crate stands askew", 0, Stage.MATCH),
        (0, "no files to check", 0, Stage.KIND),
        (2, "askew.txt: 1 crate stands askew", 2, Stage.MATCH),
        (2, "usage: crates", 2, Stage.KIND),
        (0, "askew.txt: 1 crate stands askew", 3, Stage.KIND),
    ],
)
def test_an_exit_status_counts_with_what_is_printed(
    crates: Crates, status: int, printed: str, ends: int, stage: Stage
) -> None:
    situation = crates.situation(TOOL.format(status=status))
    assert (situation.symptom.kind, situation.symptom.exit_status) == (SymptomKind.EXIT, status)
    script = f"import crates\n\nprint({printed!r})\nassert False, 'the command ends with status {ends}'\n"
    candidate = replace(_own(script), basis=Basis.REPORT)
    assert crates.trial(candidate, situation).loss.stage is stage
