"""Programs that fail now and then, amplified: they fail each time, and sound ones never."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rebug.instruments import genuine
from rebug.propose.amplify import amplified
from rebug.propose.code import parse

COUNTER = """
import threading


class Counter:
    def __init__(self):
        self.count, self.lock = 0, threading.Lock()

    def add(self):
        {around}
            count = self.count
            self.count = count + 1
"""
LOST = """import threading
from tally import Counter

counter = Counter()


def work():
    for _ in range(20):
        counter.add()


if __name__ == "__main__":
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.count % 60 == 0, counter.count
"""
BROKEN = """import threading
from tally import Counter

seen = Counter().__dict__


def read():
    for name in seen:
        str(name).upper()


for number in range(50):
    reader = threading.Thread(target=read)
    reader.start()
    seen[f"a{number}"] = number
    reader.join()
"""


def run(tmp_path: Path, script: str) -> tuple[int, str]:
    (tmp_path / "repro.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "repro.py"], capture_output=True, text=True, timeout=20, check=False, cwd=tmp_path
    )
    return done.returncode, done.stderr


def test_a_lost_update_shows_with_pauses_and_a_lock_helps(tmp_path: Path) -> None:
    script = amplified(LOST, "AssertionError", ("add",)).replace("seconds=6.0", "seconds=1.5")
    (tmp_path / "tally.py").write_text(COUNTER.format(around="if True:"))
    assert [run(tmp_path, script)[0] for _ in range(3)] == [1, 1, 1]
    (tmp_path / "tally.py").write_text(COUNTER.format(around="with self.lock:"))
    assert run(tmp_path, script) == (0, "")


def test_a_failure_in_a_thread_is_raised_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "tally.py").write_text(COUNTER.format(around="if True:"))
    script = amplified(BROKEN, "RuntimeError", ("read",))
    tree = parse(script)
    assert tree is not None
    assert genuine(tree, "rate")
    status, output = run(tmp_path, script.replace("seconds=6.0", "seconds=4.0"))
    assert (status, "RuntimeError: dictionary changed size during iteration" in output) == (1, True), output


def test_what_fails_when_it_is_only_called_again_cannot_tell(tmp_path: Path) -> None:
    (tmp_path / "tally.py").write_text(COUNTER.format(around="if True:"))
    script = "from tally import Counter\nCounter.kept = getattr(Counter, 'kept', 0) + 1\nassert Counter.kept < 2\n"
    assert run(tmp_path, amplified(script, "AssertionError"))[0] == 125


@pytest.mark.parametrize("script", ["import tally\n", "def act():\n    pass\nact()\n", "await work()\n", "def ("])
def test_what_has_no_main_part_is_left_alone(script: str) -> None:
    assert amplified(script, "RuntimeError") == ""
