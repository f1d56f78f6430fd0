"""The entry point: runs a command and turns whatever ends it into one line and an exit status."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from types import FrameType, TracebackType
from typing import NoReturn

import typer
from typer.main import get_command

from rebug.errors import EnvironmentFailed, RebugError

EXIT_INTERRUPTED = 3  # stopped early is what a cap does too
EXIT_INTERNAL = 70  # sysexits.h EX_SOFTWARE: a fault of rebug itself, never a verdict


def main(arguments: list[str] | None = None) -> NoReturn:
    """Runs `rebug ARGUMENTS` (default: the process's own) and exits with its status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    sys.excepthook = _verbose_hook if "--verbose" in arguments else _quiet_hook
    for stream in (sys.stdout, sys.stderr):
        # A report's characters must not end the run on a terminal that cannot show them.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    signal.signal(signal.SIGTERM, _terminate)
    try:
        sys.exit(_run(arguments))
    except RebugError as error:
        sys.exit(_fail(error))
    except KeyboardInterrupt:
        _say("interrupted before there was a result")
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader went away. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)


def _run(arguments: list[str]) -> int:
    from rebug.cli.commands import app  # noqa: PLC0415

    try:
        # Calling `app` itself would put typer's own exception hook in place of ours.
        status: object = get_command(app).main(args=arguments, prog_name="rebug", standalone_mode=False)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "rebug"
        message = " ".join(error.format_message().split())
        _say(f"{message.rstrip('.')}. See `{command} --help`.")
        return 2
    except typer.Abort:
        raise KeyboardInterrupt from None
    sys.stdout.flush()
    return status if isinstance(status, int) else 0


def _fail(error: RebugError) -> int:
    _say(str(error))
    if isinstance(error, EnvironmentFailed) and error.detail:
        for line in error.detail.splitlines()[-12:]:
            _write(f"  {line}")
    return error.exit_status


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    """SIGTERM ends a run as Ctrl-C does: what was found is written."""
    raise KeyboardInterrupt


def _quiet_hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> NoReturn:
    """An exception nobody foresaw: one line that names the place, since the traceback is the developers' matter."""
    frame = traceback.extract_tb(trace)[-1:]
    where = f" at {os.path.basename(frame[0].filename)}:{frame[0].lineno}" if frame else ""  # noqa: PTH119
    text = " ".join(str(error).split())[:200]
    _say(f"internal error{where}: {kind.__name__}: {text} (a fault of rebug: add --verbose and report what it prints)")
    sys.exit(EXIT_INTERNAL)


def _verbose_hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> NoReturn:
    traceback.print_exception(kind, error, trace)
    sys.exit(EXIT_INTERNAL)


def _say(text: str) -> None:
    _write(f"rebug: {text}")


def _write(line: str) -> None:
    safe = "".join(char if char.isprintable() else " " for char in line)
    with contextlib.suppress(BrokenPipeError):
        print(safe, file=sys.stderr)  # noqa: T201
