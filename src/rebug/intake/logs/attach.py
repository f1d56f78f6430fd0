"""Attachments that are logs: packed ones unpacked as they are read, large ones read whole and shown in part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rebug.intake.logs.digest import digest_text, followed, joined, log_blocks, read_log
from rebug.intake.logs.exports import HEAD, as_lines
from rebug.intake.logs.formats import parse_line
from rebug.intake.logs.stream import DAMAGED
from rebug.model import Attachment, BlockKind, Report
from rebug.model.logs import LogDigest

_LOOKED_AT = 200  # first lines that tell whether a text is a log


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """An attachment, what of it could not be read and why, and its digest where it is a log."""

    attachment: Attachment
    note: str = ""
    digest: LogDigest | None = None


def attached_log(path: Path, size: int, most: int) -> Attached | None:
    """A packed or large text file, read whole; its text up to `most` bytes, an excerpt of a longer one. None for a
    packed file that holds no text or is damaged from its beginning."""
    try:
        read = read_log(path)
    except DAMAGED:
        return None
    source = read.digest.sources[0]
    notes = list(read.notes)
    if source.size <= most:
        text = b"".join(_until_damaged(path)).decode("utf-8", "replace")
    else:
        text = read.excerpt
        shown = f"all {source.lines:,} lines of the attachment {path.name} were read"
        notes.insert(0, f"{shown}; {text.count(chr(10)) + 1:,} of them stand for the rest")
    attachment = Attachment(name=path.name, path=path, size=size, text=text.removeprefix("\ufeff"))
    return Attached(attachment=attachment, note="; ".join(notes), digest=read.digest)


def exported_log(path: Path, size: int, most: int) -> Attached | None:
    """A collector's export of records with times (JSON, CSV, journald), as the lines of a log; None for other files,
    such as data that merely has the same form."""
    try:
        with path.open("rb") as stream:
            if as_lines(stream.read(HEAD), stream) is None:
                return None
    except OSError:
        return None
    read = attached_log(path, size, most)
    if read is None or read.digest is None or not read.digest.sources[0].begins:
        return None
    told = any(template.level not in {"", "INFO"} for template in read.digest.templates) or read.digest.failures
    return read if told else None


def _until_damaged(path: Path) -> list[bytes]:
    out: list[bytes] = []
    try:
        out.extend(log_blocks(path))
    except DAMAGED:
        return out
    return out


def looks_like_log(text: str) -> bool:
    """Whether at least a fifth of the first lines begin a record with a time or a level, and two of them do."""
    lines = [line for line in text[:100_000].split("\n", _LOOKED_AT)[:_LOOKED_AT] if line.strip()]
    records = [record for line in lines if (record := parse_line(line[:4000])) is not None]
    found = sum(record.time is not None or bool(record.level) for record in records)
    return found >= 2 and found * 5 >= len(lines)


def logs_of(report: Report, attached: Sequence[Attached]) -> LogDigest | None:
    """The digest of all logs of a report, those in its own text among them; None when it has none. Identifiers of
    errors are followed through the attached files."""
    known = [one for one in attached if one.digest is not None]
    small = [
        one.attachment
        for one in attached
        if one.digest is None and one.attachment.text and looks_like_log(one.attachment.text)
    ]
    digests = [digest_text(block.text, f"line {block.line}") for block in report.blocks
               if block.kind is BlockKind.LOG and not block.attachment and looks_like_log(block.text)]  # fmt: skip
    digests += [digest_text(attachment.text, attachment.name) for attachment in small]
    digests += [one.digest for one in known if one.digest is not None]
    if not digests:
        return None
    files = [(attachment.name, attachment.path) for attachment in (*small, *(one.attachment for one in known))]
    return followed(joined(digests), files)


def with_logs(report: Report, attached: Sequence[Attached]) -> Report:
    """The report with the digest of its logs."""
    return replace(report, log_digest=logs_of(report, attached))
