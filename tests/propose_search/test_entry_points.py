from __future__ import annotations

from collections.abc import Callable

from rebug.propose.entry_points import EntryPoints, arguments_given, stated_requirements

from .conftest import Bench

CLIENT = '''
"""A store."""
from ._core import Store, ratio

__all__ = ["Store", "ratio"]
'''
CORE = '''
class Store:
    """Keeps things.

    >>> Store("a").get("k")
    """

    def __init__(self, name, size=3):
        self.name = name
        self.size = size
        self.items = {}

    def get(self, key, *, strict=False):
        return self._find(key)

    def _find(self, key):
        return self.items[key].strip()


def ratio(amount: float, count: int) -> float:
    return _divide(amount, count)


def _divide(a, b):
    return a / (b - b)


async def later(seconds: float):
    raise LookupError("later")
'''
FILES = {"shelf/__init__.py": CLIENT, "shelf/_core.py": CORE}
TRACE = """# get fails

```
Traceback (most recent call last):
  File "/srv/app.py", line 7, in handle
    return store.get("colour", strict=True)
  File "/srv/.venv/lib/python3.11/site-packages/shelf/_core.py", line 14, in get
    return self._find(key)
  File "/srv/.venv/lib/python3.11/site-packages/shelf/_core.py", line 17, in _find
    return self.items[key].strip()
KeyError: 'colour'
```
"""


def test_the_reporters_own_line_gets_the_object_it_is_called_on(bench: Callable[..., Bench]) -> None:
    made = bench(FILES, TRACE)
    first = next(iter(EntryPoints().propose(made.situation)))
    assert "store.get('colour', strict=True)" in first.script.replace('"', "'")
    ran = made.run(first.script)
    assert ran.exit == 1
    assert ran.last == "KeyError: 'colour'"
    assert "in _find" in ran.stderr
    assert first.hypothesis.claim
    assert first.hypothesis.prediction.endswith("KeyError: 'colour'")


def test_a_private_frame_is_reached_through_the_public_function(bench: Callable[..., Bench]) -> None:
    trace = """It crashes.

```
  File "/x/site-packages/shelf/_core.py", line 21, in ratio
    return _divide(amount, count)
  File "/x/site-packages/shelf/_core.py", line 25, in _divide
    return a / (b - b)
ZeroDivisionError: float division by zero
```
"""
    made = bench(FILES, trace)
    runs = [(c.script, made.run(c.script)) for c in EntryPoints().propose(made.situation)]
    hits = [script for script, ran in runs if ran.last.startswith("ZeroDivisionError") and "in ratio" in ran.stderr]
    assert hits
    assert "from shelf import ratio" in hits[0]
    assert "raise" not in hits[0]


def test_a_report_without_code_or_stack_still_gives_calls_of_what_it_names(bench: Callable[..., Bench]) -> None:
    report = "# ratio is broken\n\nCalling `ratio(3.5, 2)` gives me a ZeroDivisionError since the update.\n"
    made = bench(FILES, report)
    candidates = list(EntryPoints().propose(made.situation))
    assert "ratio(3.5, 2)" in candidates[0].script
    assert made.run(candidates[0].script).last == "ZeroDivisionError: float division by zero"


def test_coroutines_are_awaited(bench: Callable[..., Bench]) -> None:
    trace = """Boom

```
  File "/srv/job.py", line 3, in main
    await shelf._core.later(0.5)
  File "/x/site-packages/shelf/_core.py", line 29, in later
    raise LookupError("later")
LookupError: later
```
"""
    made = bench(FILES, trace)
    first = next(iter(EntryPoints().propose(made.situation)))
    assert "asyncio.run(main())" in first.script
    assert made.run(first.script).last.startswith(("LookupError: later", "AttributeError"))
    assert any(made.run(c.script).last == "LookupError: later" for c in EntryPoints().propose(made.situation))


def test_a_program_that_fails_at_import_gets_the_command_line_shown(bench: Callable[..., Bench]) -> None:
    files = {"tool/__init__.py": "", "tool/main.py": "import sys\nUNIT = {'m': 1}[sys.argv[1]]\n"}
    report = """It does not start

```
$ tool-convert km
Traceback (most recent call last):
  File "/home/a/bin/tool-convert", line 4, in <module>
    from tool.main import run
  File "/home/a/lib/python3.11/site-packages/tool/main.py", line 2, in <module>
    UNIT = {'m': 1}[sys.argv[1]]
KeyError: 'km'
```
"""
    made = bench(files, report)
    assert arguments_given(made.situation, "/home/a/bin/tool-convert") == ["sys.argv = ['tool-convert', 'km']"]
    first = next(iter(EntryPoints().propose(made.situation)))
    assert made.run(first.script).last == "KeyError: 'km'"


def test_versions_of_what_the_message_names_become_requirements(bench: Callable[..., Bench]) -> None:
    report = TRACE.replace("KeyError: 'colour'", "KeyError: 'yarl'") + "\nshelf 1.0, yarl 1.9.4, Python 3.11\n"
    assert stated_requirements(bench(FILES, report).situation) == ("yarl==1.9.4",)


def test_later_rounds_repeat_nothing(bench: Callable[..., Bench]) -> None:
    from dataclasses import replace

    made = bench(FILES, TRACE)
    assert list(EntryPoints().propose(replace(made.situation, round=2))) == []
