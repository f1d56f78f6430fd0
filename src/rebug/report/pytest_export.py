"""`test_repro.py`: the reproduction script as a test for the project's own suite.

The test holds the script's text and runs it as a program of its own, by the same contract: exit status 0 passes, 125
skips, anything else fails and shows what the script printed. So it fails for as long as the bug is there and passes
once it is fixed, and a script that crashes the interpreter or hangs takes neither pytest nor the other tests with it.
"""

from __future__ import annotations

import re

_TEMPLATE = '''\
"""{title}
{source}
Made by rebug. Fails while the bug is present, passes once it is fixed, skips where it cannot tell.
Move it into the project's tests; until the fix, `@pytest.mark.xfail(strict=True)` keeps the suite green.
"""

import subprocess
import sys

import pytest

SCRIPT = {script}

SECONDS = {seconds}


def test_{name}(tmp_path):
    path = tmp_path / "repro.py"
    path.write_text(SCRIPT, encoding="utf-8")
    try:
        done = subprocess.run(
            [sys.executable, str(path)],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        pytest.fail("the script did not end within %s seconds" % SECONDS)
    output = done.stdout.decode("utf-8", "backslashreplace")
    if done.returncode == 125:
        pytest.skip("the script cannot tell here:\\n" + output)
    assert done.returncode == 0, "the bug is present (exit status %s):\\n%s" % (done.returncode, output)
'''


def export(script: str, *, title: str, url: str = "", seconds: int = 120) -> str:
    """The text of a self-contained pytest module that runs `script`, for Python 3.8 and later.

    `seconds` is how long the script may take before the test fails.
    """
    return _TEMPLATE.format(
        title=_line(title) or "The reported bug",
        source=f"\n{_line(url)}\n" if url else "",
        script=literal(script),
        seconds=seconds,
        name=_identifier(title),
    )


def literal(text: str) -> str:
    """A Python expression for `text` that people can read: a raw block of lines wherever that can hold it."""
    printable = all(char.isprintable() or char in "\t\n" for char in text)
    if printable and text.endswith("\n") and not text.startswith("'") and "'''" not in text:
        return f"r'''{text}'''"
    return "(\n" + "".join(f"    {line!a}\n" for line in text.splitlines(keepends=True) or [""]) + ")"


def _line(text: str) -> str:
    """One printable line that may stand in a docstring: no quotes that end it, no backslashes that escape."""
    printable = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(printable.replace("\\", "/").replace('"', "'").split())[:110]


def _identifier(title: str) -> str:
    words = re.findall(r"[a-z0-9]+", title.lower())
    return "_".join(words)[:60].rstrip("_") or "reported_bug"
