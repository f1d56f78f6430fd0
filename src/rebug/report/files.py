"""Writes a run's directory: result.json, repro.py, test_repro.py and candidates/NN/.

Every file appears whole or not at all, and `result.json` comes last, so whoever sees it sees what it points to.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

from rebug.errors import InputError
from rebug.report.build import Run, build, order, script_path
from rebug.report.pytest_export import export
from rebug.report.schema import Result
from rebug.store import encode

RESULT = "result.json"
JOURNAL = "journal.sqlite"
_OURS = (RESULT, "repro.py", "test_repro.py", "candidates", JOURNAL, f"{JOURNAL}-wal", f"{JOURNAL}-shm")


def prepare(out: Path) -> None:
    """Makes `out` an empty run directory; what an earlier run left in it is removed.

    Raises InputError when it is not a directory, holds anything that is not a run's, or cannot be written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        present = {path.name for path in out.iterdir()}
        if present and not present & {RESULT, JOURNAL}:
            raise InputError(f"{out}: is not empty and not a run of rebug; give another directory by --out")
        for name in _OURS:
            path = out / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        with tempfile.TemporaryFile(dir=out):  # a directory that cannot be written is found out now, not after the work
            pass
    except OSError as error:
        raise InputError(f"{out}: cannot be used as the run's directory: {error.strerror}") from error


def write(out: Path, run: Run) -> Result:
    """Writes everything that is known of the run into `out` and returns the result it wrote.

    Raises InputError when the directory cannot be written (a full disk, a lost mount).
    """
    result = build(run)
    try:
        for rank, trial in enumerate(order(run), start=1):
            finding = next((one for one in run.findings if one.trial.candidate.id == trial.candidate.id), None)
            path = out / script_path(rank)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, finding.script if finding else trial.candidate.script)
            write_text(path.with_name("observation.json"), json.dumps(encode(trial.observation), indent=1) + "\n")
        if run.findings and result.best:
            script = run.findings[0].script
            write_text(out / result.best.script, script)
            write_text(out / result.best.test, export(script, title=run.report.title, url=run.report.url))
        write_text(out / RESULT, result.model_dump_json(indent=2) + "\n")
    except OSError as error:
        raise InputError(f"{error.filename or out}: cannot be written: {error.strerror}") from error
    return result


def write_text(path: Path, text: str) -> None:
    """Writes the file atomically, as UTF-8; half surrogates become `\\udcXX` in letters. Raises OSError."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
