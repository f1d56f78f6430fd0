"""The leak instrument against real leaks and, for each of them, sound code that does the same without leaking."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebug.instruments import Reading

from .conftest import run

CTYPES = """import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
"""


def measured(tmp_path: Path, body: str, call: str = "leak(act, seconds=0.8)") -> tuple[int, Reading | None]:
    status, reading, output = run(tmp_path, "leak", f"{body}\n{call}", "-W", "ignore::ResourceWarning")
    assert status in {0, 125} or reading, output
    return status, reading


@pytest.mark.parametrize(
    ("resource", "per_call", "body"),
    [
        ("memory", 32, f"{CTYPES}def act():\n    libc.malloc(24)"),
        ("objects", 1, "kept = []\ndef act():\n    kept.append([])"),
        ("descriptors", 1, "def act():\n    os.open(os.devnull, 0)"),
        (
            "threads",
            1,
            "done = threading.Event()\ndef act():\n    threading.Thread(target=done.wait, daemon=True).start()",
        ),
        ("processes", 1, "import subprocess\nkept = []\ndef act():\n    kept.append(subprocess.Popen(['true']))"),
        ("tasks", 1, "kept = set()\nasync def act():\n    kept.add(asyncio.ensure_future(asyncio.sleep(60)))"),
    ],
)
def test_a_leak_is_found_with_its_size(tmp_path: Path, resource: str, per_call: float, body: str) -> None:
    status, reading = measured(tmp_path, body)
    assert status == 1
    assert reading is not None
    assert (reading.kind, reading.figures["resource"]) == ("leak", resource)
    assert reading.number("per_call") == pytest.approx(per_call, rel=0.2)


@pytest.mark.parametrize(
    "body",
    [
        f"{CTYPES}def act():\n    libc.free(libc.malloc(24))",
        "def act():\n    print([str(n) for n in range(20)])",
        "import functools\n@functools.lru_cache(500)\ndef f(x):\n    return [x]\ndef act():\n    f(object())",
        "def act():\n    with open(os.devnull):\n        pass",
        "def act():\n    cycle = []\n    cycle.append(cycle)",
        "def act():\n    threading.Thread(target=time.sleep, args=(0.005,), daemon=True).start()",
        "def act():\n    asyncio.run(asyncio.sleep(0))",
        "async def act():\n    await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0))",
    ],
)
def test_what_is_given_back_or_levels_off_is_no_leak(tmp_path: Path, body: str) -> None:
    assert measured(tmp_path, body) == (0, None)


@pytest.mark.parametrize(
    ("resource", "faulty", "sound"),
    [
        ("cycles", "    cycle = []\n    cycle.append(cycle)", "    chain = []\n    chain.append([])"),
        ("unclosed", "    open(os.devnull)", "    open(os.devnull).close()"),
        ("threads", "    threading.Thread(target=done.wait, daemon=True).start()", "    kept.append([])"),
    ],
)
def test_one_resource_is_measured_when_asked_for(tmp_path: Path, resource: str, faulty: str, sound: str) -> None:
    head, call = "done = threading.Event()\nkept = []\ndef act():\n", f"leak(act, {resource!r}, seconds=0.8)"
    status, reading = measured(tmp_path, head + faulty, call)
    assert status == 1
    assert reading is not None
    assert reading.figures["resource"] == resource
    assert measured(tmp_path, head + sound, call) == (0, None)


def test_inside_a_coroutine_it_is_awaited(tmp_path: Path) -> None:
    body = "kept = []\nasync def main():\n    async def act():\n        {0}\n    await leak_async(act, seconds=0.8)"
    assert measured(tmp_path, body.format("kept.append([])"), "asyncio.run(main())")[0] == 1
    assert measured(tmp_path, body.format("await asyncio.sleep(0)"), "asyncio.run(main())")[0] == 0
