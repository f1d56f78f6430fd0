"""The watchdog against real hangs, and beside each of them sound code that does the same and ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebug.instruments import Reading

from .conftest import run

SECONDS = 0.8


def watched(tmp_path: Path, body: str, call: str = f"hang(act, {SECONDS})") -> tuple[int, Reading | None, str]:
    return run(tmp_path, "watchdog", f"{body}\n{call}")


LOCK = "lock = threading.Lock()\ndef act():\n    with lock:\n        {inner}"
TASK = "async def wait(event):\n    {first}await event.wait()\nasync def main():\n    await wait(asyncio.Event())\n"
THREAD = "done = threading.Event()\ndef act():\n    threading.Thread(target=done.wait).start()\n    {last}"


@pytest.mark.parametrize(
    ("hanging", "sound", "end", "strand"),
    [
        (
            LOCK.format(inner="lock.acquire()"),
            LOCK.format(inner="pass"),
            "call",
            "main,waits,script:act,script:hang,script:<module>",
        ),
        (
            TASK.format(first="") + "def act():\n    asyncio.run(main())",
            TASK.format(first="event.set(); ") + "def act():\n    asyncio.run(main())",
            "call",
            "task,waits,std:locks.py:wait,script:wait,script:main",
        ),
        (THREAD.format(last="pass"), THREAD.format(last="done.set()"), "exit", "thread,waits,std:threading.py:wait"),
        (
            "import queue\njobs = queue.Queue()\njobs.put(1)\ndef act():\n    jobs.join()",
            "import queue\njobs = queue.Queue()\ndef act():\n    jobs.join()",
            "call",
            "main,waits,std:queue.py:join,script:act,script:hang,script:<module>",
        ),
    ],
)
def test_what_hangs_is_told_by_where_it_waits(tmp_path: Path, hanging: str, sound: str, end: str, strand: str) -> None:
    status, reading, output = watched(tmp_path, hanging)
    assert status == 1, output
    assert reading is not None
    assert (reading.kind, reading.figures["end"]) == ("hang", end)
    assert strand in reading.figures.values()
    assert "most recent call first" in output
    status, reading, output = watched(tmp_path, sound)
    assert (status, reading) == (0, None), output


def test_a_loop_without_end_is_told_by_the_call_that_goes_round(tmp_path: Path) -> None:
    (tmp_path / "walk.py").write_text(
        "import posixpath\ndef up(path):\n    while path:\n        path = posixpath.split(path)[0]\n"
    )
    status, reading, output = watched(tmp_path, "import walk\ndef act():\n    walk.up('//a')")
    assert status == 1, output
    assert reading is not None
    assert reading.figures["strand_a"] == "main,loops,walk.py:up,script:act,script:hang,script:<module>"
    assert watched(tmp_path, "import walk\ndef act():\n    walk.up('a/b')")[0] == 0


def test_a_script_that_is_only_slow_cannot_tell(tmp_path: Path) -> None:
    body = "def act():\n    while True:\n        sum(range(1000))"
    status, reading, output = watched(tmp_path, body)
    assert (status, reading) == (125, None), output


def test_a_failure_of_the_act_is_no_hang(tmp_path: Path) -> None:
    body = f"{THREAD.format(last='1 / 0')}"
    status, reading, output = watched(tmp_path, body)
    assert (status, reading) == (125, None)
    assert "ZeroDivisionError" in output


def test_a_program_as_it_stands_is_watched_with_its_pools(tmp_path: Path) -> None:
    pool = "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor(2).submit(print, 1)\n"
    assert watched(tmp_path, f"watch({SECONDS})\n{pool}", "")[0] == 0
    status, reading, _ = watched(tmp_path, f"watch({SECONDS})\n{pool}threading.Event().wait()", "")
    assert status == 1
    assert reading is not None
    assert reading.figures["strand_a"] == "main,waits,std:threading.py:wait,script:<module>"


def test_a_wait_that_has_a_limit_is_waited_for_or_cannot_tell(tmp_path: Path) -> None:
    body = "def act():\n    threading.Event().wait({})"
    assert watched(tmp_path, body.format(0.8 * SECONDS))[0] == 0
    status, reading, output = watched(tmp_path, body.format(30))
    assert (status, reading) == (125, None), output
