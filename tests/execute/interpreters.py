"""The interpreters of this machine that the harness is tried under."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

import pytest
from uv import find_uv_bin

VERSIONS = ("3.8", "3.11", "3.12", "3.13")


@functools.cache
def interpreter(version: str) -> Path:
    """The interpreter of that version which uv or pyenv knows; skips the test when there is none."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return Path(sys.executable)
    command = [find_uv_bin(), "python", "find", "--no-python-downloads", "--no-project", version]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode == 0:
        return Path(found.stdout.strip())
    for place in sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python")):
        return place
    pytest.skip(f"no Python {version} is installed here")
