"""Progress on stderr: lines with the time they were said at, and on a terminal a spinner that shows it is alive."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status
from rich.text import Text

from rebug.report import clean


class Narration:
    """A `Narrator` that writes to `console`, or nowhere when quiet. Use it as a context manager."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self._console = console
        self._quiet = quiet
        self._started = time.monotonic()
        self._status: Status | None = None
        self._current: Text | None = None  # on a terminal, the line beside the spinner

    def __enter__(self) -> Self:
        if self._console.is_terminal and not self._quiet:
            self._status = self._console.status("starting", spinner="dots")
            self._status.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._status:
            self._status.stop()
            self._settle()

    def __call__(self, line: str) -> None:
        if self._quiet:
            return
        elapsed = time.monotonic() - self._started
        said = Text.assemble((f"{elapsed:6.1f} s  ", "dim"), clean(line))
        if self._status is None:
            self._console.print(said, soft_wrap=True)
            return
        self._settle()
        self._current = said
        self._status.update(said)

    def _settle(self) -> None:
        """What was beside the spinner is over: it becomes a line above it."""
        if self._current is not None:
            self._console.print(self._current, soft_wrap=True)
            self._current = None
