"""Whole runs of the command line, on applications that need no package index."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rebug.report import read_result

CODE = '''
def share(total, parts):
    """Split total cents into parts that add up to it."""
    each = total // parts
    return [each] * (parts - 1) + [total - each * (parts - 1)]
'''

REPORT = """
# Splitting a bill among nobody crashes

With an empty table `share` dies instead of returning an empty list.

```python
import shop

print(shop.share(100, 3))
print(shop.share(100, 0))
```

```
Traceback (most recent call last):
  File "/home/ann/bill.py", line 4, in <module>
    print(shop.share(100, 0))
  File "/home/ann/shop.py", line 4, in share
    each = total // parts
ZeroDivisionError: integer division or modulo by zero
```
"""


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A directory with a report, and an application in it."""
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "shop.py").write_text(CODE.lstrip())
    (tmp_path / "report.md").write_text(REPORT.lstrip())
    return tmp_path


def command(*arguments: str) -> list[str]:
    free = ("--model", "none") if arguments[0] == "reproduce" else ()  # whatever keys are about
    return [sys.executable, "-m", "rebug", *arguments, *free]


def environment(cache: Path) -> dict[str, str]:
    return {**os.environ, "REBUG_CACHE": str(cache), "NO_COLOR": "1"}


def rebug(*arguments: str, cwd: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments),
        cwd=cwd,
        env=environment(cache),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def fix(shop: Path) -> None:
    path = shop / "app" / "shop.py"
    path.write_text(path.read_text().replace("    each =", "    if not parts:\n        return []\n    each ="))


def test_from_a_report_to_a_script_that_shows_the_bug_and_its_absence(shop: Path, cache: Path) -> None:
    done = rebug("reproduce", "report.md", "--source", "app", "--out", "run", "--json", cwd=shop, cache=cache)
    assert done.returncode == 0, done.stderr

    result = read_result(shop / "run" / "result.json")
    assert json.loads(done.stdout) == json.loads((shop / "run" / "result.json").read_text())
    assert result.status == "reproduced"
    assert result.best is not None
    assert result.best.confirmed
    assert result.candidates[0].repeats is not None
    assert result.candidates[0].repeats.failures == 4
    assert "report: Splitting a bill among nobody crashes" in done.stderr
    assert "\x1b" not in done.stderr

    for name, runner in (("repro.py", []), ("test_repro.py", ["-m", "pytest", "-q", "-p", "no:cacheprovider"])):
        script = [sys.executable, *runner, str(shop / "run" / name)]
        assert subprocess.run(script, cwd="/", capture_output=True, check=False).returncode == 1, name
    fix(shop)
    for name, runner in (("repro.py", []), ("test_repro.py", ["-m", "pytest", "-q", "-p", "no:cacheprovider"])):
        script = [sys.executable, *runner, str(shop / "run" / name)]
        assert subprocess.run(script, cwd="/", capture_output=True, check=False).returncode == 0, name

    shown = rebug("show", "run", cwd=shop, cache=cache)
    assert shown.returncode == 0
    assert shown.stdout.startswith("Reproduced: Splitting a bill among nobody crashes\n")
    again = rebug("show", "run", "--json", cwd=shop, cache=cache)
    assert json.loads(again.stdout) == json.loads(done.stdout)
    moved = shutil.move(shop / "run" / "result.json", shop / "elsewhere.json")
    unfinished = rebug("show", "run", cwd=shop, cache=cache)
    assert Path(moved).exists()
    assert unfinished.returncode == 2
    assert "candidates ran" in unfinished.stderr


def test_a_fixed_application_is_not_reproduced_and_says_what_was_tried(shop: Path, cache: Path) -> None:
    fix(shop)
    few = ("--rounds", "1", "--population", "4")
    done = rebug("reproduce", "report.md", "-s", "app", *few, "--quiet", cwd=shop, cache=cache)

    assert done.returncode == 1, done.stderr
    assert done.stderr == ""
    assert "eproduced" in done.stdout.splitlines()[0]
    assert "Tried" in done.stdout
    out = shop / "rebug-runs" / "splitting-a-bill-among-nobody-cr"
    assert read_result(out / "result.json").status in {"partial", "not_reproduced"}


def test_a_cap_is_exit_status_3_with_a_valid_result(shop: Path, cache: Path) -> None:
    fix(shop)
    done = rebug(
        "reproduce", "report.md", "-s", "app", "--max-candidates", "1", "--out", "run", "-q", cwd=shop, cache=cache
    )

    assert done.returncode == 3, done.stderr
    result = read_result(shop / "run" / "result.json")
    assert (result.status, result.stopped) == ("capped", "candidates")
    assert result.counts.run <= 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_has_a_valid_result(shop: Path, cache: Path, number: signal.Signals) -> None:
    path = shop / "app" / "shop.py"
    path.write_text(path.read_text().replace("    each =", "    import time; time.sleep(30)\n    each ="))
    out = shop / "run"
    process = subprocess.Popen(
        command("reproduce", "report.md", "-s", "app", "--out", str(out)),
        cwd=shop,
        env=environment(cache),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    wait_for_event(out / "journal.sqlite", "candidate")
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)

    assert process.returncode == 3, output
    assert "Traceback (most recent call last)" not in output.partition("Stopped early")[0]
    result = read_result(out / "result.json")
    assert (result.status, result.stopped) == ("capped", "interrupted")


def wait_for_event(journal: Path, kind: str) -> None:
    for _ in range(300):
        time.sleep(0.1)
        if journal.exists():
            connection = sqlite3.connect(f"{journal.as_uri()}?mode=ro", uri=True)
            try:
                if connection.execute("SELECT 1 FROM event WHERE kind = ?", (kind,)).fetchone():
                    return
            except sqlite3.OperationalError:
                continue  # its table is not there yet
            finally:
                connection.close()
    raise AssertionError(f"no {kind} in {journal} after 30 seconds")


def test_an_environment_that_cannot_be_built_is_exit_status_4_and_says_so(shop: Path, cache: Path) -> None:
    (shop / "app" / "requirements.txt").write_text("./no-such-directory-here\n")
    done = rebug("reproduce", "report.md", "-s", "app", "--out", "run", cwd=shop, cache=cache)

    assert done.returncode == 4, done.stderr
    result = read_result(shop / "run" / "result.json")
    assert result.status == "environment_failed"
    assert "no-such-directory-here" in result.error
    assert "The environment could not be built" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_verify_tells_present_absent_and_cannot_tell(shop: Path, cache: Path) -> None:
    scripts = {
        "present.py": ("import shop\nshop.share(1, 0)\n", 0, "present"),
        "absent.py": ("import shop\nassert shop.share(4, 2) == [2, 2]\n", 1, "absent"),
        "missing.py": ("import a_module_that_is_not_there\n", 1, "cannot tell"),
    }
    for name, (text, status, verdict) in scripts.items():
        (shop / name).write_text(text)
        done = rebug("verify", name, "-s", "app", "--repeat", "2", "--json", "-q", cwd=shop, cache=cache)
        found = json.loads(done.stdout)
        assert (done.returncode, found["verdict"]) == (status, verdict), (name, done)
        assert found["repeats"]["runs"] == 2
        assert found["present"] == (status == 0)


def test_verify_for_people(shop: Path, cache: Path) -> None:
    (shop / "present.py").write_text("import shop\nshop.share(1, 0)\n")
    done = rebug("verify", "present.py", "-s", "app", "--repeat", "3", "-q", cwd=shop, cache=cache)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Present: it fails in 3 of 3 runs.\n")
    assert "ZeroDivisionError" in done.stdout
