from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rebug.model import Role
from rebug.propose.data_probe import DataProbe, hits_of, plan_of

from .conftest import Bench

PARSER = '''
"""Reads sections."""


class DuplicateKey(Exception):
    pass


class Document(dict):
    def section(self, name):
        return self._merge(name)

    def _merge(self, name):
        merged = {}
        for part in self[name]:
            for key, value in part.items():
                if key in merged:
                    raise DuplicateKey(f'Key "{key}" already exists.')
                merged[key] = value
        return merged


def parse(text: str) -> Document:
    """Parse lines of `[section]` and `key = value`."""
    found, current = Document(), None
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            if not line.endswith("]"):
                raise ValueError("bad header")
            current = {}
            found.setdefault(line[1:-1], []).append(current)
        elif "=" in line and current is not None:
            key, value = line.split("=", 1)
            current[key.strip()] = value.strip()
        elif line:
            raise ValueError("bad line")
    return found
'''
REPORT = """# `DuplicateKey` on access although the file is fine

Parsing is fine, the access is not. The file has a section `[colours]` with `red = 1` in it, more than once.

```python
from pathlib import Path
import sections

doc = sections.parse(Path("settings.conf").read_text(encoding="utf-8"))
colours = doc.section("colours")
```

```
Traceback (most recent call last):
  File "/srv/read.py", line 5, in <module>
    colours = doc.section("colours")
  File "/srv/lib/python3.11/site-packages/sections/__init__.py", line 11, in section
    return self._merge(name)
  File "/srv/lib/python3.11/site-packages/sections/__init__.py", line 18, in _merge
    raise DuplicateKey(f'Key "{key}" already exists.')
sections.DuplicateKey: Key "red" already exists.
```
"""
TABLE = '''
"""Tables."""


class Table:
    """A table.

    >>> t = Table()
    """

    def __init__(self, title=""):
        self.title, self.names, self.blank, self.rows = title, [], {}, []

    def set_names(self, names):
        self.names = list(names)
        self.blank = {name: "" for name in names}

    def add_column(self, name, cells):
        self.names.append(name)
        self.rows = [[*row, cell] for row, cell in zip(self.rows or [[] for _ in cells], cells)]

    def __str__(self):
        return self.render()

    def render(self):
        return "".join(self._cell(n, c) for row in self.rows for n, c in zip(self.names, row))

    def _cell(self, name, cell):
        return self.blank[name] if cell is None else str(cell)
'''
TABLE_TESTS = """from tables import Table


def test_names():
    t = Table()
    t.set_names(["a", "b"])
    assert str(t) == ""


def test_columns():
    t = Table()
    t.add_column("City", ["Oslo", "Rome"])
    assert "Oslo" in str(t)
"""
TABLE_REPORT = """# KeyError when printing

Some cells are `None`.

```
Traceback (most recent call last):
  File "/srv/make.py", line 6, in write_page
    page.write(str(table))
  File "/srv/lib/python3.11/site-packages/tables/__init__.py", line 23, in __str__
    return self.render()
  File "/srv/lib/python3.11/site-packages/tables/__init__.py", line 26, in render
    return "".join(self._cell(n, c) for row in self.rows for n, c in zip(self.names, row))
  File "/srv/lib/python3.11/site-packages/tables/__init__.py", line 29, in _cell
    return self.blank[name] if cell is None else str(cell)
KeyError: 'Status'
```
"""


def attempts(made: Bench) -> list[str]:
    """The scripts that one round of probing leads to, by running the first probe."""
    probe = next(c for c in DataProbe().propose(made.situation) if c.role is Role.PROBE)
    trial = made.trial(replace(probe, id="1", round=1), made.run(probe.script))
    found = DataProbe().propose(replace(made.situation, round=2, trials=(trial,)))
    return [c.script for c in found if c.role is Role.ATTEMPT]


def test_a_file_that_the_report_only_describes_is_found(bench: Callable[..., Bench]) -> None:
    made = bench({"sections/__init__.py": PARSER}, REPORT)
    first = attempts(made)[0]
    ran = made.run(first)
    assert ran.last == 'sections.DuplicateKey: Key "red" already exists.'
    assert 'doc.section("colours")' in first.replace("'", '"')
    assert not (made.root / "settings.conf").exists()
    assert len(first.splitlines()) < 20


def test_the_order_of_calls_on_an_object_is_searched_too(bench: Callable[..., Bench]) -> None:
    made = bench({"tables/__init__.py": TABLE, "tests/test_tables.py": TABLE_TESTS}, TABLE_REPORT)
    first = attempts(made)[0]
    assert made.run(first).last == "KeyError: 'Status'"
    assert "for step in" not in first
    assert "add_column(" in first


def test_a_probe_is_not_repeated_and_is_limited_per_round(bench: Callable[..., Bench]) -> None:
    made = bench({"sections/__init__.py": PARSER}, REPORT)
    probes = [c for c in DataProbe().propose(made.situation) if c.role is Role.PROBE]
    assert 1 <= len(probes) <= 3
    done = tuple(made.trial(replace(c, round=1), made.run("pass")) for c in probes)
    again = list(DataProbe().propose(replace(made.situation, trials=done)))
    assert not {plan_of(c.script)["template"] for c in probes} & {plan_of(c.script)["template"] for c in again}


def test_a_report_without_an_exception_is_not_probed(bench: Callable[..., Bench]) -> None:
    made = bench({"sections/__init__.py": PARSER}, "# Wrong\n\n`parse` returns `{}` instead of `{'a': 1}`.\n")
    assert list(DataProbe().propose(made.situation)) == []


def test_what_a_probe_prints_is_not_trusted() -> None:
    assert hits_of("nothing") == []
    assert hits_of("REBUG-PROBE {broken") == []
    assert hits_of('REBUG-PROBE {"hits": 3}') == []
    assert hits_of('REBUG-PROBE {"hits": [{"values": ["1"]}, 4]}') == [{"values": ["1"]}]


def test_values_that_are_no_literals_are_refused(bench: Callable[..., Bench]) -> None:
    made = bench({"sections/__init__.py": PARSER}, REPORT)
    probe = next(iter(DataProbe().propose(made.situation)))
    count = len(plan_of(probe.script)["seeds"][0])
    hostile = 'REBUG-PROBE {"hits": [{"grade": 0, "values": ["__import__(\'os\').getcwd()"%s]}]}' % (
        ', "1"' * (count - 1)
    )
    trial = made.trial(replace(probe, id="1", round=1), replace(made.run("pass"), stdout=hostile))
    found = DataProbe().propose(replace(made.situation, round=2, trials=(trial,)))
    assert not any("getcwd" in c.script for c in found if c.role is Role.ATTEMPT)
