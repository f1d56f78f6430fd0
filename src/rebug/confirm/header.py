"""The comment block that a stand-alone script begins with. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptSource:
    """Where a script comes from and what it needs, for its header."""

    title: str
    url: str = ""
    package: str = ""  # distribution name of the subject, "" when it is no package
    version: str = ""
    requirement: str = ""  # what an installer is given for the subject: "name==version", a path or a URL
    python: str = ""  # "3.11"
    as_of: str = ""  # ISO 8601; dependencies are resolved as of then
    further: tuple[str, ...] = ()  # requirements that the user gave beside the subject
    paths: tuple[str, ...] = ()  # where the code of an application that is no package lies


WIDTH = 110


def header(claim: str, source: ScriptSource, requirements: Sequence[str], python: str) -> str:
    """The header: claim, report, environment, how to run, and the same as PEP 723 metadata for `uv run`."""
    minor = ".".join(python.split(".")[:2])
    needs = [f"Python {minor}", *requirements] if requirements else [f"Python {minor}", "the software under test"]
    lines = [
        *_wrapped(claim),
        "",
        *_wrapped(f"Report: {source.url or source.title}"),
        *_wrapped("Needs: " + ", ".join(needs)),
        "Run: `uv run repro.py`, or `python repro.py` where the above is installed.",
        "Exit status: 0 the bug is absent, 125 cannot tell, anything else the bug is present.",
        "",
        "/// script",
        f'requires-python = "=={minor}.*"',
        "dependencies = [" + ", ".join(_quoted(item) for item in requirements) + "]",
    ]
    if source.as_of:
        lines += ["[tool.uv]", f"exclude-newer = {_quoted(source.as_of)}"]
    lines.append("///")
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def _wrapped(text: str) -> list[str]:
    clean = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return textwrap.wrap(clean, WIDTH, break_long_words=False, break_on_hyphens=False)[:4] or [""]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
