from __future__ import annotations

import re
from collections.abc import Callable

from rebug.propose.threads import Threads, changers, state_names

from .conftest import Bench

MODULE = '''
"""A hub."""


class Hub:
    def __init__(self):
        self._sinks = {}
        self._count = 0

    def attach(self, sink):
        self._count += 1
        self._sinks[self._count] = sink
        return self._count

    def detach(self, number=None):
        for key in list(self._sinks) if number is None else [number]:
            self._sinks.pop(key)

    def send(self, message):
        for sink in self._sinks.values():
            sink(message)

    def size(self):
        return self._count


hub = Hub()
'''
REPORT = """# RuntimeError now and then

Only when another thread sets up the hub again.

```
Exception in thread poller-2:
Traceback (most recent call last):
  File "/usr/lib/python3.11/threading.py", line 1045, in _bootstrap_inner
    self.run()
  File "/opt/feed/feed.py", line 28, in poll
    hub.send("feed {}")
  File "/x/site-packages/hubs/__init__.py", line 21, in send
    for sink in self._sinks.values():
RuntimeError: dictionary changed size during iteration
```
"""


def test_a_reported_race_is_brought_about(bench: Callable[..., Bench]) -> None:
    made = bench({"hubs/__init__.py": MODULE}, REPORT)
    first = next(iter(Threads().propose(made.situation)))
    assert 'hub.send("feed {}")' in first.script
    assert "hub.attach(" in first.script
    assert "hub.detach(" in first.script
    assert "hub.size(" not in first.script
    ran = made.run(first.script)
    assert ran.exit == 1
    # Which of its two messages the interpreter gives depends on when the other thread came between.
    assert re.search(r"RuntimeError: dictionary (?:changed size|keys changed) during iteration", ran.stderr)
    assert "attach, detach" in first.hypothesis.claim


def test_only_what_changes_the_shared_state_is_called(bench: Callable[..., Bench]) -> None:
    made = bench({"hubs/__init__.py": MODULE}, REPORT)
    names = state_names("for sink in self._sinks.values():")
    assert names[0] == "_sinks"
    place = made.situation.index.find("Hub.send")[0]
    assert {s.name for s in changers(made.situation.index, place, names)} == {"attach", "detach"}


def test_other_failures_are_no_races(bench: Callable[..., Bench]) -> None:
    report = REPORT.replace("Exception in thread poller-2:\n", "").replace(
        "RuntimeError: dictionary changed size during iteration", "KeyError: 'a'"
    )
    report = report.replace(
        '  File "/usr/lib/python3.11/threading.py", line 1045, in _bootstrap_inner\n    self.run()\n', ""
    )
    made = bench({"hubs/__init__.py": MODULE}, report)
    assert list(Threads().propose(made.situation)) == []
