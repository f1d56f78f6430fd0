"""The pytest module: it fails while the bug is there, passes once it is fixed, skips when the script cannot tell."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebug.report import export
from rebug.report.pytest_export import literal


def outcome(tmp_path: Path, script: str, seconds: int = 60) -> tuple[int, str]:
    path = tmp_path / "test_repro.py"
    path.write_text(export(script, title="It fails", url="https://example.org/1", seconds=seconds), "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "-rs", str(path)]
    bare = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # it has to work without, and starts sooner
    done = subprocess.run(command, cwd=tmp_path, env=bare, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("script", "exit_status", "shown"),
    [
        ("raise KeyError('the bug')\n", 1, "KeyError: 'the bug'"),
        ("assert 1 + 1 == 3, 'expected 3'\n", 1, "expected 3"),
        ("print('fine')\n", 0, "1 passed"),
        ("import sys\nprint('no server')\nsys.exit(125)\n", 0, "1 skipped"),
        ("import os\nos.abort()\n", 1, "exit status -6"),
    ],
)
def test_outcomes(tmp_path: Path, script: str, exit_status: int, shown: str) -> None:
    status, output = outcome(tmp_path, script)

    assert status == exit_status
    assert shown in output


def test_a_script_that_hangs_fails_in_time(tmp_path: Path) -> None:
    status, output = outcome(tmp_path, "import time\ntime.sleep(60)\n", seconds=1)

    assert status == 1
    assert "did not end within 1 seconds" in output


@pytest.mark.parametrize(
    "script",
    ["", "x", "'''\n", "'a'\n", '"""doc"""\n', "print('\\n')\n", "a = 1 \\\n  + 2\n", "tab\there\n", "cr\r\n", "\f\n"],
)
def test_the_literal_is_the_script(script: str) -> None:
    assert ast.literal_eval(literal(script)) == script


@given(st.text())
@settings(deadline=None, max_examples=50)
def test_any_text_is_embedded_exactly(text: str) -> None:
    assert ast.literal_eval(literal(text)) == text
    assert ast.literal_eval(literal(text + "\n")) == text + "\n"


@given(st.text(), st.text())
@settings(deadline=None, max_examples=50)
def test_no_title_or_address_breaks_the_module(title: str, url: str) -> None:
    module = ast.parse(export("pass\n", title=title, url=url))

    functions = [node.name for node in module.body if isinstance(node, ast.FunctionDef)]
    assert len(functions) == 1
    assert functions[0].startswith("test_")


def test_an_ordinary_script_stays_readable() -> None:
    assert "SCRIPT = r'''import pkg\n\npkg.f(\"x\")\n'''\n" in export('import pkg\n\npkg.f("x")\n', title="It fails!")
