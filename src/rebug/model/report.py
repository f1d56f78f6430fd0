"""What the reporter wrote and attached, normalised."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rebug.model.logs import LogDigest


class BlockKind(enum.StrEnum):
    """What a block of a report holds, judged by its content rather than by the fence's label."""

    PYTHON = "python"
    REPL = "repl"  # `>>>` or `In [1]:` transcripts
    SHELL = "shell"  # commands with a `$`, `%`, `#` or `C:\\>` prompt, and their output
    TRACEBACK = "traceback"
    TEST = "test"  # pytest's own output
    LOG = "log"
    OUTPUT = "output"  # what a program printed
    CONFIG = "config"  # TOML, INI, YAML, .env, …
    DATA = "data"  # JSON, CSV, XML, HTML, SQL, …
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block of code or data in a report, verbatim save for its quoting, with where it stood."""

    text: str
    kind: BlockKind
    line: int  # 1-based line of the first line of `text` in the report
    language: str = ""  # the fence's label, lower case, "" where there is none
    lead: str = ""  # the sentence or heading just above the block
    section: str = ""  # the heading the block stands under
    filename: str = ""  # a file name the report gives the block, "" where there is none
    attachment: str = ""  # the attachment the block comes from, "" for the report's own text


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One frame of a stack, outermost first wherever frames stand in a sequence."""

    file: str  # as written, with forward slashes
    line: int | None
    function: str
    code: str = ""  # the source line shown, stripped
    values: tuple[tuple[str, str], ...] = ()  # short reprs of locals, only in observations


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An exception as shown in a traceback, in a report or in a run.

    `type` is the name as printed (it may be dotted), `frames` run from the outermost call inwards. `cause` is the
    exception that came before it ("direct cause of" or "during handling of"), `members` those of an exception group.
    """

    type: str
    message: str = ""
    frames: tuple[Frame, ...] = ()
    cause: Failure | None = None
    members: tuple[Failure, ...] = ()
    notes: tuple[str, ...] = ()
    complete: bool = True  # False when the top or the bottom was cut off
    line: int = 0  # 1-based line in the report, 0 for an observed one
    where: str = "raised"  # raised | thread | unraisable | task | printed | logged | child

    @property
    def name(self) -> str:
        """The type without its module."""
        return self.type.rpartition(".")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedVersion:
    """A version that the report gives, and what it says of it."""

    name: str  # the distribution, normalised (PEP 503); "python" and the OS have their own fields in Report
    version: str
    role: Literal["used", "good", "bad", "fixed"] = "used"  # good: said to be free of the bug
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file that came with the report; `text` is the part read (bounded), "" for binary content."""

    name: str
    path: Path
    size: int  # bytes
    media: str = "text"  # text | binary | archive
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the reporter wrote and attached, normalised."""

    title: str
    body: str
    url: str = ""
    date: str = ""  # ISO 8601, "" when not known
    comments: tuple[str, ...] = ()
    sections: tuple[tuple[str, str], ...] = ()  # (heading, text) in order; the text before any heading has heading ""
    blocks: tuple[Block, ...] = ()
    failures: tuple[Failure, ...] = ()  # every traceback in the report and its attachments
    log_lines: tuple[str, ...] = ()
    log_digest: LogDigest | None = None  # None: there are no logs
    versions: tuple[StatedVersion, ...] = ()
    python: str = ""  # "3.11" or "3.11.4"
    system: str = ""  # the operating system as written
    attachments: tuple[Attachment, ...] = ()
    notes: tuple[str, ...] = ()  # what could not be read and why
    body_line: int = 1  # 1-based line of the report on which `body` begins
