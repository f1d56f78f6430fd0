"""Programs for races, run: they fail as reported on what breaks, and pass where the same is done with care."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rebug.intake import find_symptom, parse_report
from rebug.model import Environment
from rebug.ports import Situation
from rebug.propose import Schedule
from rebug.subject import build_index

DISPATCH = """
class Dispatcher:
    def __init__(self, func):
        self.func, self.known = func, {}

    def __call__(self, *args):
        kind = type(args[0])
        if kind not in self.known:
            self._near(kind)
            self.known[kind] = self.func
        return self.known[kind](*args)

    def _near(self, kind):
        return [k for k in SEEN if issubclass(kind, k) or k.__name__ == kind.__name__]
"""
SHELF = """
import asyncio


class Shelf:
    def __init__(self):
        self.items, self.sweeper = {}, None

    async def put(self, key: str, size: int):
        self.items[key] = size
        if self.sweeper is None or self.sweeper.done():
            self.sweeper = asyncio.create_task(self._sweep())

    async def _sweep(self):
        for key in SEEN:
            await asyncio.sleep(0)
            if self.items[key] > 90:
                self.items[key] = 0
"""
THREADS = """# RuntimeError now and then from several threads

```
Traceback (most recent call last):
  File "/opt/app/jobs.py", line 52, in render
    return visit(document)
  File "/srv/venv/lib/python3.11/site-packages/quick.py", line 9, in __call__
    self._near(kind)
  File "/srv/venv/lib/python3.11/site-packages/quick.py", line 14, in _near
    return [k for k in self.known if issubclass(kind, k)]
RuntimeError: dictionary changed size during iteration
```
"""
TASK = """# Now and then a task of the shelf ends with RuntimeError

```
Task exception was never retrieved
future: <Task finished name='Task-11' coro=<Shelf._sweep() done> exception=RuntimeError('dictionary changed size')>
Traceback (most recent call last):
  File "/srv/venv/lib/python3.11/site-packages/quick.py", line 15, in _sweep
    for key in self.items:
RuntimeError: dictionary changed size during iteration
```
"""


@pytest.mark.parametrize(
    ("report", "source", "state"), [(THREADS, DISPATCH, "self.known"), (TASK, SHELF, "self.items")]
)
def test_a_race_comes_out_and_its_mended_version_passes(tmp_path: Path, report: str, source: str, state: str) -> None:
    module = tmp_path / "quick.py"
    module.write_text(source.replace("SEEN", state))
    read = parse_report(report)
    situation = Situation(
        report=read,
        symptom=find_symptom(read, "quick", ("quick",)),
        index=build_index(tmp_path, ("quick",)),
        environment=Environment(
            python=Path("python"),
            prefix=tmp_path,
            python_version="3.11",
            package="quick",
            version="1",
            modules=("quick",),
        ),
        round=1,
    )
    first = next(Schedule().propose(situation))
    assert "_near" not in first.script
    assert "_sweep" not in first.script
    status, output = run(tmp_path, first.script)
    assert status == 1, output
    assert output.endswith("RuntimeError: dictionary changed size during iteration\n")
    module.write_text(source.replace("SEEN", f"list({state})"))
    assert run(tmp_path, first.script.replace("monotonic() + 6", "monotonic() + 1.5")) == (0, "")


def run(tmp_path: Path, script: str) -> tuple[int, str]:
    (tmp_path / "repro.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "repro.py"], capture_output=True, text=True, timeout=20, check=False, cwd=tmp_path
    )
    return done.returncode, done.stderr
