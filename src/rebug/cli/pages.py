"""What the commands print: pages for people, or one JSON document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rebug.app import Check, Verification
from rebug.cli.narration import Narration
from rebug.model_api import Row
from rebug.report import Result, clean, show
from rebug.store import encode

_WIDTH = 100
"""Columns where there is no terminal to ask, and at most: longer lines are hard to read."""


def narration(*, quiet: bool) -> Narration:
    return Narration(Console(stderr=True, highlight=False, emoji=False, markup=False), quiet=quiet)


def _console() -> Console:
    console = Console(highlight=False, emoji=False, markup=False)
    console.width = min(console.width, _WIDTH) if console.is_terminal else 80
    return console


def result(shown: Result, out: Path, *, as_json: bool) -> None:
    """The result of a run."""
    if as_json:
        typer.echo(shown.model_dump_json(indent=2))
    else:
        show(shown, out, _console())


def models(rows: Sequence[Row], *, as_json: bool) -> None:
    """Which language models can be used here, and what a run with them costs."""
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows], indent=2))
        return
    table = Table("model", "usable", "$/M in", "cached", "out", "cents a run", box=None, pad_edge=False)
    for row in rows:
        prices = (f"{row.input:g}", f"{row.cached:g}", f"{row.output:g}", f"{row.cents_per_run:.2f}")
        usable = ("yes, the default" if row.default else "yes") if row.usable else row.why_not
        table.add_row(row.model, usable, *prices, style="bold" if row.default else "")
    console = _console()
    console.print(table)
    console.print(
        "A run: 24 candidates in three rounds at --effort high. Any OpenAI-compatible server is used by its address:"
        " --model http://127.0.0.1:8080/v1, free of charge."
    )


def verification(found: Verification, *, as_json: bool) -> None:
    """What the runs of a script said."""
    if as_json:
        typer.echo(json.dumps({**encode(found), "present": found.present}, indent=2))
        return
    console = _console()
    style = {"present": "bold red", "absent": "bold green"}.get(found.verdict, "bold yellow")
    console.print(Text.assemble((found.verdict.capitalize(), style), f": {clean(found.reason)}."))
    low, high = found.repeats.interval
    console.print(
        f"With {clean(found.version) or 'the source'}: {found.repeats.failures} of {found.repeats.runs} runs show it; "
        f"the rate is between {low:.0%} and {high:.0%} (95 %)."
    )
    if found.good_repeats:
        console.print(f"With {found.good}: {found.good_repeats.failures} of {found.good_repeats.runs} runs show it.")
    for line in found.output.splitlines()[-8:]:
        printable = "".join(char if char.isprintable() else " " for char in line)
        console.print(Text(f"  {printable}", style="dim"), soft_wrap=True)


def doctor(checks: Sequence[Check], *, as_json: bool) -> None:
    """What this machine has, and what to do about what it lacks."""
    if as_json:
        typer.echo(json.dumps([encode(check) for check in checks], indent=2))
        return
    console = _console()
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for check in checks:
        mark = Text("ok", "green") if check.ok else Text("MISSING" if check.needed else "no", "red")
        cell = Text(clean(check.found))
        if check.advice:
            cell.append(f"\n-> {clean(check.advice)}", style="yellow")
        table.add_row(mark, check.name, cell)
    console.print(table)
    if all(check.ok or not check.needed for check in checks):
        console.print("Ready: `rebug demo` shows it at work.")
