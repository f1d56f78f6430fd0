"""The page on the terminal: what it says, how wide it is, and that untrusted text stays text."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from report_values import run
from rich.console import Console

from rebug.model import Report, Status
from rebug.report import Run, build, clean, show

OUT = Path("/tmp/runs/one")


def page(given: Run, *, width: int = 80, colour: bool = False) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, markup=False, highlight=False, force_terminal=colour, no_color=not colour
    )
    show(build(given), OUT, console)
    return stream.getvalue()


def test_a_reproduced_run() -> None:
    text = page(run())

    assert text.startswith("Reproduced: fail() fails\n")
    assert "pkg 2.0 · Python 3.11.7 · 3 candidates in 1 round" in text
    assert "4 of 4 runs" in text
    assert "1.9" in text
    assert "/tmp/runs/one/repro.py" in text
    assert "uv run /tmp/runs/one/repro.py" in text
    assert "another message" in text
    assert "Ask the reporter" not in text


def test_a_run_without_success_says_what_was_tried_and_what_is_missing() -> None:
    text = page(run(Status.NOT_REPRODUCED, trials=2, confirmed=False))

    assert text.startswith("Not reproduced: fail() fails\n")
    assert "it fails in 1 of 4 runs only" in text
    assert "snippet 2" in text
    assert "Which version is it?" in text


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("trials", [0, 3])
def test_every_status_fits_80_columns_without_escape_sequences(status: Status, trials: int) -> None:
    given = run(status, trials=trials, confirmed=status is Status.REPRODUCED)
    lines = page(replace(given, error="uv said no\nat all")).splitlines()

    assert max(map(len, lines)) <= 80
    assert not any("\x1b" in line for line in lines)


def test_text_of_the_report_is_neither_markup_nor_control() -> None:
    evil = "\x1b]0;owned\x07[bold red]x[/] \x9b31m\u202e\nsecond"
    text = page(replace(run(), report=Report(title=evil, body="")), colour=True)

    assert "[bold red]x[/]" in text
    assert not {"\x07", "\x9b", "\u202e"} & set(text)
    assert "\x1b]" not in text


def test_paths_are_never_cut_since_people_copy_them() -> None:
    stream = io.StringIO()
    deep = Path("/tmp") / ("long name " * 12)
    show(build(run()), deep, Console(file=stream, width=80, markup=False, highlight=False))

    assert f"Script     {deep}/repro.py\n" in stream.getvalue()
    assert f"uv run '{deep}/repro.py'\n" in stream.getvalue()


def test_clean_leaves_ordinary_text_alone() -> None:
    assert clean("naïve 日本語  text") == "naïve 日本語 text"
