"""Reading a report from a file, a directory or standard input, and its attachments; the only I/O of this package."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from rebug.errors import InputError
from rebug.intake.logs.attach import Attached, attached_log, exported_log, with_logs
from rebug.intake.logs.stream import packing_of
from rebug.intake.parse import MAX_TEXT, parse_report
from rebug.model import Attachment, Report

MAX_BYTES = 4 * MAX_TEXT  # of a report, at most four bytes a character
MAX_ATTACHMENT = 2_000_000  # bytes of one attachment that are read
MAX_ATTACHMENTS = 100

_URL = re.compile(r"^[a-z][a-z0-9+.-]{1,20}://", re.IGNORECASE)
_FORMS = "a Markdown, text or JSON file, a directory with report.md and attachments/, or - for standard input"
_NAMES = ("report.md", "report.markdown", "report.txt", "report.json", "issue.md", "README.md")
_ARCHIVES = (
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ",
    b"7z\xbc\xaf",
    b"Rar!",
    b"\x28\xb5\x2f\xfd",
)


def load_report(reference: str, attachments: Sequence[Path] = (), stdin: BinaryIO | None = None) -> Report:
    """The report that `reference` names: a file, a directory (report.md + attachments/) or "-" for `stdin`.

    JSON is an object with `title`, `body` and optionally `comments`, `url`, `date` (or the names a forge's API uses).
    Invalid UTF-8 is read with replacement characters, and a note says so. Raises InputError for what is missing, empty,
    binary or a URL.
    """
    if _URL.match(reference):
        raise InputError(
            f"cannot read the report {_printable(reference)}: URLs are not read yet; save it and give {_FORMS}"
        )
    if reference == "-":
        if stdin is None:
            raise InputError("the report is -, but there is no standard input to read it from")
        return _parsed(_read_stream(stdin), "standard input", "", attachments)
    path = Path(reference)
    try:
        if path.is_dir():
            return _load_directory(path, attachments)
        if not path.exists():
            raise InputError(f"there is no report at {_printable(reference)}; give {_FORMS}")
        if not path.is_file():
            raise InputError(f"the report {_printable(reference)} is not a regular file; give {_FORMS}")
        return _parsed(_read_file(path, MAX_BYTES), str(path), path.suffix.lower(), attachments)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise InputError(f"cannot read the report {_printable(reference)}: {_reason(error)}") from error


def _load_directory(path: Path, attachments: Sequence[Path]) -> Report:
    found = next((path / name for name in _NAMES if (path / name).is_file()), None)
    if found is None:
        raise InputError(f"the directory {path} holds no report.md; give {_FORMS}")
    inside = path / "attachments"
    own = sorted(p for p in inside.rglob("*") if p.is_file()) if inside.is_dir() else []
    return _parsed(_read_file(found, MAX_BYTES), str(found), found.suffix.lower(), [*own, *attachments])


def _read_stream(stream: BinaryIO) -> bytes:
    try:
        return stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the report from standard input: {_reason(error)}") from error


def _read_file(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        return file.read(limit + 1)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return _printable(str(error))


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)[:300]


def _parsed(data: bytes, name: str, suffix: str, attachments: Sequence[Path]) -> Report:
    text, notes = _decode(data, name)
    if not text.strip():
        raise InputError(f"the report in {name} is empty")
    attached, unread = _attachments(attachments)
    document = _json_object(text) if suffix in {".json", ""} else None
    if suffix == ".json" and document is None:
        raise InputError(f"the report in {name} is no JSON object with a title and a body")
    files = tuple(one.attachment for one in attached)
    report = _from_json(document, name, files) if document is not None else parse_report(text, attachments=files)
    report = with_logs(report, attached)
    return replace(report, notes=(*notes, *report.notes, *unread))


def _decode(data: bytes, name: str) -> tuple[str, tuple[str, ...]]:
    """The text of a report. Raises InputError for binary content."""
    notes: list[str] = []
    if len(data) > MAX_BYTES:
        data = data[:MAX_BYTES]
        notes.append(f"only the first {MAX_BYTES // 1_000_000} MB of {name} were read")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace"), tuple(notes)
    if _is_binary(data):
        kind = "an archive" if data.startswith(_ARCHIVES) else "binary data"
        raise InputError(f"the report in {name} is {kind}, not text; give {_FORMS}")
    try:
        return data.decode("utf-8-sig"), tuple(notes)
    except UnicodeDecodeError as error:
        if not notes or error.start < len(data) - 4:  # else: a character cut in two by the limit
            notes.append(f"{name} is not valid UTF-8 (byte {error.start}); what could not be decoded was replaced")
        return data.decode("utf-8", errors="replace").removeprefix("\ufeff"), tuple(notes)


def _is_binary(data: bytes) -> bool:
    """Whether bytes are no text: an archive, a NUL near the start, or mostly control characters."""
    head = data[:8192]
    if head.startswith(_ARCHIVES) or b"\0" in head:
        return True
    controls = sum(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in head)
    return controls * 10 > len(head) or head.decode("utf-8", errors="replace").count("\ufffd") * 3 > max(len(head), 1)


def _json_object(text: str) -> Mapping[str, object] | None:
    """The object in `text` if it has a report's fields, else None."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    inner = value.get("issue")
    if isinstance(inner, dict):
        value = {**value, **inner}
    return (
        value if any(isinstance(value.get(key), str) for key in ("title", "body", "description", "summary")) else None
    )


def _from_json(document: Mapping[str, object] | None, name: str, attached: Sequence[Attachment]) -> Report:
    assert document is not None

    def field(*keys: str) -> str:
        return next((v for v in (document.get(key) for key in keys) if isinstance(v, str) and v.strip()), "")

    title, body = field("title", "summary").strip(), field("body", "description", "text")
    if not (title or body):
        raise InputError(f"the report in {name} has neither a title nor a body")
    comments = document.get("comments")
    texts = tuple(_comment(item) for item in comments) if isinstance(comments, list) else ()
    date = field("date", "created_at", "created")
    first_line = title.splitlines()[0] if title else ""
    report = parse_report(f"# {first_line}\n\n{body}" if title else body, attachments=attached, date=date)
    return replace(
        report, url=field("html_url", "url", "web_url"), comments=tuple(text for text in texts if text.strip())
    )


def _comment(item: object) -> str:
    if isinstance(item, dict):
        item = item.get("body")
    return item[:MAX_TEXT] if isinstance(item, str) else ""


def _attachments(paths: Sequence[Path]) -> tuple[tuple[Attached, ...], tuple[str, ...]]:
    """What was read of the attachments, and what could not be read and why. Raises InputError for a missing one."""
    out: list[Attached] = []
    notes: list[str] = []
    for path in paths[:MAX_ATTACHMENTS]:
        try:
            size = path.stat().st_size
            if not path.is_file():
                raise InputError(f"the attachment {path} is not a regular file")
            data = _read_file(path, MAX_ATTACHMENT)
        except (OSError, ValueError) as error:
            raise InputError(f"cannot read the attachment {_printable(str(path))}: {_reason(error)}") from error
        large = packing_of(data) or (len(data) > MAX_ATTACHMENT and not _is_binary(data))
        read = (attached_log if large else exported_log)(path, size, MAX_ATTACHMENT)
        if read is None:
            attachment, note = _attachment(path, size, data)
            read = Attached(attachment=attachment, note=note)
        out.append(read)
        notes += [read.note] if read.note else []
    if len(paths) > MAX_ATTACHMENTS:
        notes.append(f"only the first {MAX_ATTACHMENTS} of {len(paths)} attachments were read")
    return tuple(out), tuple(notes)


def _attachment(path: Path, size: int, data: bytes) -> tuple[Attachment, str]:
    """Archives of several files are never unpacked: their size when unpacked is the sender's to choose."""
    name = path.name
    if data.startswith(_ARCHIVES) or zipfile.is_zipfile(path):
        return Attachment(name=name, path=path, size=size, media="archive"), f"the archive {name} was not unpacked"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Attachment(
            name=name, path=path, size=size, text=data[:MAX_ATTACHMENT].decode("utf-16", errors="replace")
        ), ""
    if _is_binary(data):
        return Attachment(
            name=name, path=path, size=size, media="binary"
        ), f"the attachment {name} is binary and was not read"
    note = ""
    if len(data) > MAX_ATTACHMENT:
        note = f"only the first {MAX_ATTACHMENT // 1_000_000} MB of the attachment {name} were read"
    text = data[:MAX_ATTACHMENT].decode("utf-8", errors="replace").removeprefix("\ufeff")
    return Attachment(name=name, path=path, size=size, text=text), note
