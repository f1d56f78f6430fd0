"""The result for people, on a terminal of 80 columns or on none.

Reports and candidates are untrusted: their text is printed without control characters and never read as markup.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rebug.model import Status
from rebug.report.schema import BestPart, CandidatePart, Result

_HEADLINES = {
    Status.REPRODUCED: ("Reproduced", "bold green"),
    Status.PARTIAL: ("Partly reproduced, not confirmed", "bold yellow"),
    Status.NOT_REPRODUCED: ("Not reproduced", "bold red"),
    Status.CAPPED: ("Stopped early, nothing confirmed so far", "bold yellow"),
    Status.ENVIRONMENT_FAILED: ("The environment could not be built", "bold red"),
}


def clean(text: str) -> str:
    """The text as one safe line: control characters (escape sequences too) and line breaks become spaces."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def show(result: Result, out: Path, console: Console) -> None:
    """Prints the result of the run in directory `out`."""
    for part in _parts(result, out):
        console.print(part, soft_wrap=isinstance(part, Text) and part.no_wrap is True)


def _parts(result: Result, out: Path) -> Iterable[RenderableType]:
    yield _headline(result)
    yield _facts(result)
    if result.error:
        yield _paragraph(result.error)
    if result.best and result.candidates:
        yield from _winner(result, result.best, result.candidates[0], out)
    if len(result.candidates) > 1 or not result.best:
        yield Text()
        yield _table(result.candidates)
    if result.status is not Status.REPRODUCED:
        yield from _open_questions(result)
    yield Text()
    yield _fact("Everything", _path(out))


def _headline(result: Result) -> Text:
    label, style = _HEADLINES[result.status]
    return Text.assemble((label, style), ": ", (clean(result.report.title) or "the report", "bold"), end="\n")


def _facts(result: Result) -> Text:
    subject, counts = result.subject, result.counts
    name = subject.package or subject.source.rpartition("/")[2]
    known = [
        f"{clean(name)} {clean(subject.version)}".strip(),
        f"Python {clean(subject.python)}" if subject.python else "",
        f"{counts.run} {_plural('candidate', counts.run)} in {counts.rounds} {_plural('round', counts.rounds)}",
        f"{result.seconds.total:.0f} s",
        "no model" if result.cost.model == "none" else f"{clean(result.cost.model)} ${result.cost.usd:.3f}",
    ]
    return Text(" · ".join(fact for fact in known if fact), style="dim")


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _winner(result: Result, best: BestPart, first: CandidatePart, out: Path) -> Iterable[RenderableType]:
    if first.explanation:
        yield Text()
        yield _paragraph(first.explanation)
    if not best.confirmed:
        yield from _list("What keeps it from being confirmed", result.doubts or first.loss.reasons)
    elif result.doubts:
        yield from _list("Remains uncertain", result.doubts)
    yield Text()
    script = _path(out / best.script)
    lines = f"{best.lines} lines" + (f", the candidate had {best.minimized_from_lines}" if first.repeats else "")
    yield _fact("Script", script)
    yield _fact("Test", _path(out / best.test))
    yield _fact("Length", lines)
    if first.repeats:
        low, high = first.repeats.interval
        yield _fact(
            "Fails in",
            f"{first.repeats.failures} of {first.repeats.runs} runs, a rate of {low:.0%} to {high:.0%} (95 %)",
        )
    if best.versions.last_good:
        yield _fact("Passes in", f"version {clean(best.versions.last_good)}")
    yield _fact("Run it", f"uv run {shlex.quote(script)}", style="cyan")


def _fact(name: str, value: str, style: str = "") -> Text:
    """One line, however long: paths and commands are there to be copied."""
    return Text.assemble((f"{name:11}", "bold"), (value, style), no_wrap=True)


def _table(candidates: Iterable[CandidatePart]) -> RenderableType:
    candidates = list(candidates)
    if not candidates:
        return Text("No candidate could be made from the report.")
    table = Table(box=None, padding=(0, 1, 0, 0), expand=False, show_edge=False)
    table.add_column("#", justify="right")
    table.add_column("score", justify="right")
    table.add_column("stage")
    table.add_column("from", overflow="fold", max_width=16)
    table.add_column("hypothesis", ratio=1)
    for one in candidates:
        claim = Text(clean(one.hypothesis.claim))
        if one.rank > 1 and one.loss.reasons:
            claim.append(f"\ndiffers: {clean('; '.join(one.loss.reasons))[:300]}", style="dim")
        table.add_row(str(one.rank), str(one.score), one.loss.stage.value, Text(clean(one.proposer)), claim)
    return table


def _open_questions(result: Result) -> Iterable[RenderableType]:
    if result.tried:
        tried = ", ".join(f"{clean(name)} {count}" for name, count in sorted(result.tried.items()))
        yield from _list("Tried (candidates by proposer)", [tried])
    yield from _list("Measured, and found sound", [line[:300] for line in result.measured])
    yield from _list("What the logs show", [line[:200] for line in result.report.logs[:8]])
    yield from _list("Ask the reporter", result.missing_information[:5])
    advice = _ADVICE.get(result.stopped)
    if advice and result.status in {Status.CAPPED, Status.PARTIAL, Status.NOT_REPRODUCED}:
        yield from _list("Next", [advice])


_ADVICE = {
    "seconds": "the time was up: give more by --max-seconds",
    "candidates": "the cap on candidates was reached: give more by --max-candidates",
    "interrupted": "it was interrupted: run it again to go on searching",
    "rounds": "all rounds were used: give more by --rounds, or attach logs by --attach",
    "stalled": "nothing got nearer any more: more facts help most (--attach a log, --with, --setup)",
}


def _list(title: str, items: Iterable[str]) -> Iterable[RenderableType]:
    lines = [clean(item) for item in items if clean(item)]
    if lines:
        yield Text()
        yield Text(title, style="bold")
        yield Group(*(Padding(Text(f"- {line}"), (0, 0, 0, 2)) for line in lines))


def _paragraph(text: str) -> Text:
    return Text("\n".join(clean(line) for line in text.splitlines() if clean(line)))


def _path(path: Path) -> str:
    """Relative where that is shorter: what people copy from a terminal."""
    absolute = path.absolute()
    shown = absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else absolute
    return "".join(char if char.isprintable() else "?" for char in str(shown))
