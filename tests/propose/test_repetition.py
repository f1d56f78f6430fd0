"""Leaks from reports with code and from reports in words only, on a library that leaks and one that does not."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from made import environment

from rebug.instruments import readings
from rebug.intake import find_symptom, parse_report
from rebug.model import Candidate, SymptomKind
from rebug.ports import Situation
from rebug.propose import Repetition
from rebug.propose.acts import with_act
from rebug.propose.lifetimes import vary
from rebug.subject import build_index

LIBRARY = '''"""Jars."""
import threading

_KNOWN = {}


def label(text: str) -> str:
    """Gives `label("jam 1")`."""
    if not FIXED:
        _KNOWN[text] = text.upper()
    return text.upper()


def read(path: str) -> bytes:
    import os
    descriptor = os.open(path, 0)
    if FIXED:
        os.close(descriptor)
    return b""


class Lid:
    """Watches a jar."""

    def __init__(self) -> None:
        self._done = threading.Event()
        threading.Thread(target=self._done.wait, daemon=True).start()

    def close(self) -> None:
        if FIXED:
            self._done.set()


async def stir(spoons) -> None:
    if not FIXED:
        _KNOWN[object()] = [spoons]
'''


@dataclass(frozen=True)
class Jars:
    broken: Path
    repaired: Path

    def situation(self, report: str) -> Situation:
        parsed = parse_report(report)
        return Situation(
            report=parsed,
            symptom=find_symptom(parsed, "jars", ("jars",)),
            index=build_index(self.broken, ("jars",), "jars"),
            environment=replace(environment(self.broken), modules=("jars",), package="jars"),
            round=1,
        )

    def run(self, candidate: Candidate, where: Path) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-c", candidate.script.replace("seconds=6.0", "seconds=0.8")],
            capture_output=True,
            text=True,
            timeout=40,
            check=False,
            env={"PYTHONPATH": str(where), "PATH": os.environ["PATH"]},
            cwd=where,
        )
        found = readings(done.stderr)
        return done.returncode, found[-1].figures["resource"] if found else ""

    def first_found(self, report: str) -> str:
        """The resource of the first candidate that fails on the broken library; it has to exit 0 on the other one."""
        for candidate in Repetition().propose(self.situation(report)):
            status, resource = self.run(candidate, self.broken)
            if status == 1 and resource:
                assert self.run(candidate, self.repaired) == (0, "")
                return resource
        return ""


@pytest.fixture(scope="module")
def jars(tmp_path_factory: pytest.TempPathFactory) -> Jars:
    root = tmp_path_factory.mktemp("jars")
    for name, fixed in (("broken", False), ("repaired", True)):
        (root / name / "jars").mkdir(parents=True)
        (root / name / "jars" / "__init__.py").write_text(
            LIBRARY.replace("import threading", f"import threading\n\nFIXED = {fixed}", 1)
        )
    return Jars(root / "broken", root / "repaired")


LOOP = """# Memory grows with every spoon

```python
import asyncio
import tracemalloc

import jars


async def main():
    tracemalloc.start()
    for step in range(5):
        for _ in range(100_000):
            await jars.stir(object())
        current, _peak = tracemalloc.get_traced_memory()
        assert current < 1e6
        print(step, current)


asyncio.run(main())
```

It keeps growing.
"""
OPEN = """# File descriptor leak in `read`

```python
import os
import jars

for i in range(2000):
    jars.read(os.devnull)
    print(len(os.listdir("/proc/self/fd")))
```
"""


@pytest.mark.parametrize(
    ("report", "resource"),
    [
        (LOOP, "objects"),
        (OPEN, "descriptors"),
        ("# Thread leak\n\nEvery `Lid` leaves a thread running, also when `Lid.close()` was called.\n", "threads"),
        (
            "# Memory leak in `label`\n\n`label` with many different texts never frees what it keeps of each.\n",
            "memory",
        ),
    ],
)
def test_a_leak_is_shown_where_there_is_one_only(jars: Jars, report: str, resource: str) -> None:
    assert jars.situation(report).symptom.kind is SymptomKind.LEAK
    assert jars.first_found(report) == resource


def test_other_symptoms_are_left_alone(jars: Jars) -> None:
    situation = jars.situation("# Wrong label\n\n`label('a')` gives 'B', should be 'A'.\n")
    assert list(Repetition().propose(situation)) == []


def made_of(program: str) -> str:
    return next(iter(with_act(program, "leak", ("leak", "act"))))


def test_the_innermost_loop_is_the_act_and_measuring_is_dropped() -> None:
    program = (
        "import gc, psutil\nimport jars\n\nprocess = psutil.Process()\nlid = jars.Lid()\n"
        "for step in range(3):\n    for _ in range(100000):\n        lid.turn()\n"
        "    gc.collect()\n    print(step, process.memory_info().rss)\n"
    )
    assert made_of(program) == "import jars\nlid = jars.Lid()\nstep = 0\n\ndef act():\n    lid.turn()\nleak(act)\n"


def test_a_variable_that_counts_goes_on_counting() -> None:
    assert "    n = next(_numbers)\n    jars.label(f'{n}')" in made_of(
        "import jars\nfor n in range(50000):\n    jars.label(f'{n}')\n"
    )
    assert "next(_numbers) % 10\n" in made_of("import jars\nfor n in range(10):\n    jars.label(f'{n}')\n")


def test_a_body_that_leaves_or_counts_is_still_a_function() -> None:
    made = made_of(
        "import jars\ndone = 0\nwhile True:\n    for spoon in jars.spoons():\n        if spoon:\n            break\n"
        "    done += 1\n    if done > 9:\n        break\n    jars.label('a')\n"
    )
    assert "    global done\n" in made
    assert made.count("break") == 1
    assert "        return\n" in made


def test_in_a_coroutine_the_measuring_is_awaited() -> None:
    made = made_of(
        "import asyncio\nimport jars\nasync def main():\n    async with jars.Lid() as lid:\n"
        "        for _ in range(100):\n            await lid.turn()\nasyncio.run(main())\n"
    )
    assert "        async def act():\n            await lid.turn()\n        await leak_async(act)\n" in made


def test_a_name_that_the_instrument_takes_is_given_up() -> None:
    made = made_of("import asyncio\nfrom jars import leak\ndef act():\n    leak(1)\nact()\n")
    assert "from jars import leak as leak_\n" in made
    assert "def act_():\n    leak_(1)\n" in made


def test_a_varied_call_takes_another_text_each_time() -> None:
    varied = vary("from jars import label\nlabel('jam 1 of 2')\n")
    scope: dict[str, list[str]] = {"seen": []}
    exec(
        varied.replace("from jars import label", "label = seen.append").replace("leak(act)", "act(); act(); act()"),
        scope,
    )
    assert scope["seen"] == ["jam 1 of 1", "jam 1 of 2", "jam 1 of 3"]
