"""Scripts that carry an instrument, run plainly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rebug.instruments import Reading, inline, readings


def run(folder: Path, instrument: str, body: str, *flags: str) -> tuple[int, Reading | None, str]:
    """Runs an instrument's code and a body in `folder`; gives the status, the last reading and stderr."""
    script = folder / "repro.py"
    script.write_text(f"{inline(instrument)}\n\n{body}\n")
    done = subprocess.run(
        [sys.executable, "-W", "error", *flags, str(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=folder,
    )
    found = readings(done.stderr)
    return done.returncode, found[-1] if found else None, done.stderr
