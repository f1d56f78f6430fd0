"""What is proposed for hangs, run: quoted lines on made objects, and both ends of a small protocol of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rebug.intake import find_symptom, parse_report
from rebug.model import Candidate, Environment, SymptomKind
from rebug.ports import Situation
from rebug.propose import Hangs
from rebug.subject import build_index

WIRE = '''
import socket
import threading


class Line:
    """A connection; a thread takes in what the other end sends, one message ahead of the reader."""

    def __init__(self, sock):
        self.sock, self.free, self.full = sock, threading.Event(), threading.Event()
        self.file, self.closed, self.message = sock.makefile(), False, ""
        self.taker = threading.Thread(target=self._take)
        self.taker.start()

    def _take(self):
        for self.message in self.file:
            if self.closed:
                return
            self.full.set()
            self._until_read()

    def _until_read(self):
        self.free.wait()
        self.free.clear()

    def recv(self):
        self.full.wait()
        self.full.clear()
        text = self.message
        self.free.set()
        return text

    def send(self, text):
        self.sock.sendall(text.encode() + b"\\n")

    def close(self):
        if self.closed:
            return
        self.closed = True
        self.sock.shutdown(socket.SHUT_RDWR)
        {wake}
        self.taker.join()
        self.file.close()
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


class Server:
    def __init__(self, sock, handler):
        self.sock, self.handler = sock, handler

    def serve_forever(self):
        try:
            peer, _ = self.sock.accept()
        except OSError:
            return
        with Line(peer) as line:
            self.handler(line)

    def shutdown(self):
        self.sock.close()


def serve(handler, *, sock) -> Server:
    return Server(sock, handler)


def connect(address: tuple, timeout: float = 5) -> Line:
    return Line(socket.create_connection(address, timeout))
'''
REPORT = """# close() blocks for good when a client has sent more than was read

The handler of the server takes one of many messages and calls `close()`. The process never ends:

```
Thread 0x00007f738e7646c0 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 327 in wait
  File "/srv/venv/lib/python3.11/site-packages/wire.py", line 23 in _until_read
  File "/srv/venv/lib/python3.11/site-packages/wire.py", line 20 in _take
  File "/usr/lib/python3.11/threading.py", line 982 in run
```
"""
WATCHER = """
import queue
import threading


class FolderWatcher(threading.Thread):
    def __init__(self, folder="."):
        super().__init__()
        self.jobs, self.stopped = queue.Queue(), threading.Event()

    def run(self):
        while self.jobs.get() is not None:
            self.jobs.task_done()
        {done}

    def stop(self):
        self.jobs.put(None)
"""
STUCK = """# `jobs.join()` does not return after stop

```
watcher.stop()
watcher.join()
watcher.jobs.join()
```

Fatal Python error: Aborted

Current thread 0x00007fd2a5c3a740 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 327 in wait
  File "/usr/lib/python3.11/queue.py", line 90 in join
  File "/opt/agent/shutdown.py", line 34 in close
"""


def proposed(tmp_path: Path, report: str, name: str, source: str) -> list[Candidate]:
    (tmp_path / f"{name}.py").write_text(source)
    read = parse_report(report)
    symptom = find_symptom(read, name, (name,))
    assert symptom.kind is SymptomKind.HANG
    environment = Environment(
        python=Path("python"), prefix=tmp_path, python_version="3.11", package=name, version="1", modules=(name,)
    )
    index = build_index(tmp_path, (name,))
    return list(Hangs().propose(Situation(report=read, symptom=symptom, index=index, environment=environment, round=1)))


def status(tmp_path: Path, candidate: Candidate) -> tuple[int, str]:
    script = tmp_path / "repro.py"
    script.write_text(candidate.script.replace("hang(act)", "hang(act, 1.5)"))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=20, check=False, cwd=tmp_path
    )
    return done.returncode, done.stderr


CASES = (
    (REPORT, "wire", WIRE, ("{wake}", "self.free.set()"), "wire.py:_until_read"),
    (STUCK, "folders", WATCHER, ("{done}", "self.jobs.task_done()"), "std:queue.py:join"),
)


@pytest.mark.parametrize("case", CASES)
def test_the_first_proposal_hangs_where_it_is_reported_and_ends_when_mended(
    tmp_path: Path, case: tuple[str, str, str, tuple[str, str], str]
) -> None:
    report, name, source, (hole, mended), place = case
    candidates = proposed(tmp_path, report, name, source.replace(hole, "pass"))
    code, output = status(tmp_path, candidates[0])
    assert code == 1, output
    assert f"waits,std:threading.py:wait,{place}" in output or f"waits,{place}" in output
    (tmp_path / f"{name}.py").write_text(source.replace(hole, mended))
    assert status(tmp_path, candidates[0])[0] == 0


def test_nothing_is_proposed_for_other_symptoms(tmp_path: Path) -> None:
    (tmp_path / "wire.py").write_text(WIRE.replace("{wake}", "pass"))
    report = parse_report("# ValueError: bad line\n\nIt raises `ValueError: bad line` in `connect`.\n")
    environment = Environment(
        python=Path("python"), prefix=tmp_path, python_version="3.11", package="wire", version="1", modules=("wire",)
    )
    situation = Situation(
        report=report,
        symptom=find_symptom(report, "wire", ("wire",)),
        index=build_index(tmp_path, ("wire",)),
        environment=environment,
        round=1,
    )
    assert list(Hangs().propose(situation)) == []
