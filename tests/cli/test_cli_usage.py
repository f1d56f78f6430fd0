"""What the command line says to people who get it wrong, and with which exit status."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rebug.cli import main


def rebug(*arguments: str, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key not in {"FORCE_COLOR", "COLUMNS"}}
    return subprocess.run(
        [sys.executable, "-m", "rebug", *arguments],
        cwd=cwd,
        env={**environment, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_without_arguments_it_says_what_to_do_first() -> None:
    done = rebug()

    assert done.returncode == 0
    assert "rebug demo" in done.stdout
    assert "rebug reproduce" in done.stdout
    assert "Exit status" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_help_of_a_command_fits() -> None:
    for command in ("reproduce", "verify"):
        done = rebug(command, "--help")
        assert done.returncode == 0, command
        assert max(map(len, done.stdout.splitlines())) <= 80


def test_help_needs_nothing_of_the_search() -> None:
    code = (
        "import sys; sys.argv = ['rebug', 'reproduce', '--help']\n"
        "from rebug.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: print(end.code, sorted(m for m in sys.modules if m in HEAVY))\n"
    )
    heavy = "HEAVY = {'bm25s', 'numpy', 'sqlite3', 'rebug.app'}\n"
    done = subprocess.run([sys.executable, "-c", heavy + code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "0 []"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["reproduce"], "which report?"),
        (["verify"], "Missing argument 'SCRIPT'"),
        (["nonsense"], "No such command 'nonsense'"),
        (["reproduce", "r.md", "--nope"], "No such option: --nope"),
        (["reproduce", "r.md", "--rounds", "0"], "--rounds"),
        (["reproduce", "r.md", "--max-seconds", "soon"], "--max-seconds"),
        (["reproduce", "r.md", "--source", ".", "--env", "TZ"], "--env TZ: has to be NAME=VALUE"),
        (["reproduce", "r.md"], "--source"),
        (["reproduce", "r.md", "--source", ".", "--model", "some:thing"], "--model some:thing"),
        (["reproduce", "r.md", "--source", ".", "--python", "two"], "--python two"),
        (["reproduce", "r.md", "--source", ".", "--attach", "gone.log"], "--attach gone.log: no such file"),
        (["reproduce", "gone.md", "--source", "."], "gone.md"),
        (["reproduce", "r.md", "--source", ".", "--sandbox", "chroot"], "chroot"),
        (["reproduce", "r.md", "--source", "./gone"], "./gone"),
        (["reproduce", "r.md", "--source", ".", "--as-of", "yesterday"], "yesterday"),
        (["reproduce", "r.md", "--source", "pypi:not a name"], "pypi:not a name"),
        (["verify", "gone.py", "--source", "."], "gone.py: cannot be read"),
        (["show", "gone"], "gone: is not a run of rebug"),
    ],
)
def test_bad_usage_is_one_line_and_exit_status_2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    (tmp_path / "r.md").write_text("# It fails\n\nIt does.\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REBUG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
    finally:
        signal.signal(signal.SIGTERM, before)

    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if line.startswith("rebug: ")]
    assert ended.value.code == 2, err
    assert out == ""
    assert len(lines) == 1
    assert err.splitlines()[-1] == lines[0]
    assert said in lines[0]


def test_version() -> None:
    assert rebug("version").stdout == rebug("--version").stdout == "0.1.0\n"


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    command = f"{sys.executable} -m rebug --help | head -c 10"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)

    assert "Traceback" not in done.stderr


def test_a_fault_of_rebug_itself_is_one_line_and_no_verdict() -> None:
    code = (
        "import rebug.app\n"
        "def broken(path): raise KeyError('the\\x1b[31m cause')\n"
        "rebug.app.read_run = broken\n"
        "from rebug.cli import main\n"
        "main(['show', '.'{}])\n"
    )
    quiet = subprocess.run([sys.executable, "-c", code.format("")], capture_output=True, text=True, check=False)
    verbose = subprocess.run(
        [sys.executable, "-c", code.format(", '--verbose'")], capture_output=True, text=True, check=False
    )

    assert (quiet.returncode, verbose.returncode) == (70, 70)
    assert len(quiet.stderr.splitlines()) == 1
    assert "KeyError" in quiet.stderr
    assert "\x1b" not in quiet.stderr
    assert "Traceback" in verbose.stderr
