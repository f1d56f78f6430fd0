"""What is read of processes that may end while they are looked at."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

from rebug.execute import tree


def test_the_share_of_a_process_that_has_ended_since_is_nothing() -> None:
    program = [sys.executable, "-c", "print(flush=True); input()"]
    child = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()  # it is itself by now, not the fork of this process
    seen = tree.read(child.pid)
    assert seen is not None
    assert 0 < tree.share(seen) <= seen.rss
    child.communicate(b"\n")
    assert seen.rss > 0
    assert tree.share(seen) == 0


def test_nor_is_that_of_another_process_with_its_number() -> None:
    own = tree.read(os.getpid())
    assert own is not None
    assert tree.share(own) > 0
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    assert tree.share(replace(own, pid=gone.pid)) == 0
