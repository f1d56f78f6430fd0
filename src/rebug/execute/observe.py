"""What a run showed, from how it ended, what it printed and what the harness recorded. Pure."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from dataclasses import replace

from rebug.execute.plan import HARNESS, SCRIPT
from rebug.execute.record import Place, Record, read_record
from rebug.intake import parse_tracebacks
from rebug.model import Ended, Environment, Failure, Frame, Observation
from rebug.ports import Completed, Job

MAX_OUTPUT = 1 << 20  # characters of stdout and stderr each
MAX_PARSED = 200_000  # characters of each that are searched for tracebacks: its end
ORDER = ("raised", "thread", "unraisable", "task", "child", "logged", "printed")
CUT = "\n[… cut by the output limit]\n"
_SITE = re.compile(r"^.{0,900}/(?:site|dist)-packages/(.+)$")
_STDLIB = re.compile(r"^.{0,900}/lib(?:64)?/python3(?:\.\d{1,3}t?)?/(.+)$")


def observe(completed: Completed, job: Job) -> Observation:
    """The observation of a run of `job`. Paths of the subject are relative to the parents of its roots."""
    place = places(job.environment)
    record = read_record(completed.record, place)
    stdout, stderr = _output(completed.stdout, completed), _output(completed.stderr, completed)
    failures = sorted(record.failures, key=lambda failure: ORDER.index(failure.where))
    failures += printed(
        stderr, stdout, known=failures, harness=job.harness and record.started, status=completed.exit, place=place
    )
    ended, limit = _how(completed, record)
    status, name = _status(completed, record)
    return Observation(
        ended=Ended.SIGNALLED if ended is Ended.EXITED and name else ended,
        exit=status if ended is Ended.EXITED or not completed.limit else None,
        signal=name,
        limit=limit,
        failures=tuple(failures),
        stdout=stdout,
        stderr=stderr,
        warnings=tuple(record.warnings),
        logs=tuple(record.logs),
        stacks=record.stacks if ended is Ended.TIMED_OUT else (),
        reached=tuple(record.reached),
        seconds=completed.seconds,
        cpu_seconds=max(completed.cpu_seconds, record.cpu_seconds),
        peak_rss=max(completed.peak_rss, record.peak_rss),
        script_line=record.script_line or _line_in_script(failures),
        last_line=record.last_line,
    )


def _how(completed: Completed, record: Record) -> tuple[Ended, str]:
    if completed.limit == "sandbox":
        first = completed.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        return Ended.REFUSED, f"sandbox: {first[:300]}"
    if completed.limit in ("wall", "cpu") or completed.signal == "SIGXCPU":
        return Ended.TIMED_OUT, completed.limit or "cpu"
    if completed.limit:
        return Ended.LIMITED, completed.limit
    if record.disk_full:
        return Ended.LIMITED, "disk"
    return Ended.EXITED, ""


def _status(completed: Completed, record: Record) -> tuple[int | None, str]:
    """(exit status, signal). `sys.exit(139)` and a segmentation fault look the same from outside bubblewrap."""
    if completed.signal and record.exit_code.isdigit():
        number = getattr(signal, completed.signal, None)
        if number is not None and int(record.exit_code[:9]) == 128 + number:
            return 128 + number, ""
    return completed.exit, completed.signal


def _output(data: bytes, completed: Completed) -> str:
    text = data[: MAX_OUTPUT * 4].decode("utf-8", "replace")[:MAX_OUTPUT]
    return text + CUT if completed.limit == "output" else text


def places(environment: Environment) -> Place:
    """How files are named in an observation: "package/module.py", "<stdlib>/…", "<site>/…", "repro.py"."""
    roots = sorted((os.path.normpath(root) for root in environment.roots), key=len, reverse=True)

    def place(file: str) -> str:
        for root in roots:
            if file == root or file.startswith(root + "/"):
                return os.path.relpath(file, os.path.dirname(root))  # noqa: PTH120 - text, no file system
        if file == SCRIPT or file.endswith("/work/" + SCRIPT):
            return SCRIPT
        if file == str(HARNESS):
            return ""
        site = _SITE.match(file)
        if site:
            return "<site>/" + site[1]
        stdlib = _STDLIB.match(file)
        return "<stdlib>/" + stdlib[1] if stdlib else file

    return place


def printed(
    stderr: str,
    stdout: str,
    *,
    known: list[Failure],
    harness: bool,
    status: int | None,
    place: Place,
) -> Iterator[Failure]:
    """Failures that can be read out of the output and that the record does not have.

    Without the harness the traceback that ends stderr, with exit status 1, is the script's own: `where` is "raised".
    """
    seen = {key for failure in known for key in _keys(failure)}
    errors = [failure for failure in parse_tracebacks(stderr[-MAX_PARSED:]) if _whole(failure)]
    own = errors[-1] if errors and not harness and status == 1 and _closes(errors[-1], stderr) else None
    if own is not None:
        errors.insert(0, errors.pop())
    for failure in [*errors, *(item for item in parse_tracebacks(stdout[-MAX_PARSED:]) if item.frames)]:
        if _key(failure) in seen:
            continue
        seen.add(_key(failure))
        where = "raised" if failure is own else "printed" if failure.where == "raised" else failure.where
        yield _placed(failure, where, place)


def _whole(failure: Failure) -> bool:
    """Whether it is a traceback and no mere line that looks like the end of one."""
    return bool(failure.frames) or failure.name in ("SyntaxError", "IndentationError", "TabError")


def _closes(failure: Failure, text: str) -> bool:
    lines = [line for line in (failure.message or failure.name).splitlines() if line.strip()]
    return bool(lines) and lines[-1].strip() in text.rstrip()[-2000:].rpartition("\n")[2]


def _key(failure: Failure) -> tuple[str, str]:
    return failure.name, " ".join(failure.message.split())[:200]


def _keys(failure: Failure) -> Iterator[tuple[str, str]]:
    yield _key(failure)
    for inner in (failure.cause, *failure.members):
        if inner is not None:
            yield from _keys(inner)


def _placed(failure: Failure, where: str, place: Place) -> Failure:
    return replace(
        failure,
        where=where,
        line=0,
        frames=tuple(_placed_frame(frame, place) for frame in failure.frames),
        cause=_placed(failure.cause, where, place) if failure.cause is not None else None,
        members=tuple(_placed(member, where, place) for member in failure.members),
    )


def _placed_frame(frame: Frame, place: Place) -> Frame:
    return replace(frame, file=place(frame.file))


def _line_in_script(failures: list[Failure]) -> int | None:
    own = next((failure for failure in failures if failure.where == "raised"), None)
    lines = [frame.line for frame in own.frames if frame.file == SCRIPT] if own is not None else []
    return lines[-1] if lines else None
