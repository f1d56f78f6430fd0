"""Where reports are read from, and input that is broken."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from rebug.errors import InputError
from rebug.intake import load_report
from rebug.model import BlockKind

REPORT = "# load fails\n\n```python\nimport pack\npack.load()\n```\n"


def test_a_markdown_file(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_text(REPORT)
    report = load_report(str(path))
    assert (report.title, report.notes) == ("load fails", ())
    assert [block.kind for block in report.blocks] == [BlockKind.PYTHON]


def test_a_directory_with_attachments(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text(REPORT)
    (tmp_path / "attachments").mkdir()
    (tmp_path / "attachments" / "app.log").write_text(
        "2024-01-02 03:04:05 ERROR x\nTraceback (most recent call last):\n"
        '  File "/v/pack/core.py", line 3, in load\n    go()\nOSError: no\n'
    )
    extra = tmp_path / "pack.toml"
    extra.write_text("[pack]\nsize = 3\n")
    report = load_report(str(tmp_path), [extra])
    assert [attachment.name for attachment in report.attachments] == ["app.log", "pack.toml"]
    assert [failure.type for failure in report.failures] == ["OSError"]
    assert [(block.attachment, block.kind) for block in report.blocks[1:]] == [
        ("app.log", BlockKind.LOG),
        ("pack.toml", BlockKind.CONFIG),
    ]
    assert report.blocks[2].filename == "pack.toml"


def test_standard_input() -> None:
    assert load_report("-", stdin=io.BytesIO(REPORT.encode())).title == "load fails"


def test_json_of_our_own_and_of_a_forge(tmp_path: Path) -> None:
    path = tmp_path / "issue.json"
    document = {
        "title": "load fails",
        "body": "It raises `KeyError`.",
        "created_at": "2024-01-02T03:04:05Z",
        "html_url": "https://example.org/issues/1",
        "comments": [{"body": "Me too."}, "And me."],
    }
    path.write_text(json.dumps(document))
    report = load_report(str(path))
    assert (report.title, report.date, report.url) == (
        "load fails",
        "2024-01-02T03:04:05Z",
        "https://example.org/issues/1",
    )
    assert report.comments == ("Me too.", "And me.")
    assert "KeyError" in report.body


@pytest.mark.parametrize(
    ("name", "data", "complaint"),
    [
        ("empty.md", b"", "is empty"),
        ("blank.md", b" \n\t\n", "is empty"),
        ("binary.md", bytes(range(256)) * 40, "binary data"),
        ("core.md", b"\x7fELF\x02\x01\x01\0\0\0\0\0" * 9, "binary data"),
        ("report.zip", b"PK\x03\x04" + b"x" * 90, "an archive"),
        ("latin.md", bytes(range(200, 256)) * 40, "binary data"),
        ("broken.json", b'{"title": "x"', "no JSON object"),
        ("list.json", b"[1, 2]", "no JSON object"),
        ("blank.json", b'{"title": "", "body": ""}', "neither a title nor a body"),
        ("deep.json", b'{"a":' * 100_000, "no JSON object"),
    ],
)
def test_unusable_reports_are_refused_in_one_line(tmp_path: Path, name: str, data: bytes, complaint: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        load_report(str(path))
    message = str(caught.value)
    assert complaint in message
    assert name in message
    assert "\n" not in message
    assert caught.value.exit_status == 2


@pytest.mark.parametrize(
    ("reference", "complaint"),
    [
        ("/nowhere/report.md", "there is no report"),
        ("https://example.org/issues/1", "URLs are not read yet"),
        ("-", "no standard input"),
        ("a\0b", r"there is no report at a\?b"),
        ("x" * 5000, "cannot read"),
        ("/dev/null", "not a regular file"),
    ],
)
def test_references_that_name_nothing(reference: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        load_report(reference)


def test_a_directory_without_a_report(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no report\.md"):
        load_report(str(tmp_path))


def test_a_missing_attachment(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_text(REPORT)
    with pytest.raises(InputError, match=r"cannot read the attachment .*missing\.log"):
        load_report(str(path), [tmp_path / "missing.log"])


def test_invalid_utf8_is_read_and_noted(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_bytes(REPORT.replace("fails", "fails \xe4").encode("latin-1"))
    report = load_report(str(path))
    assert report.title.startswith("load fails")
    assert report.blocks[0].kind is BlockKind.PYTHON
    assert "not valid UTF-8" in report.notes[0]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "report.md"
    path.write_text(REPORT, encoding=encoding)
    assert load_report(str(path)).title == "load fails"


def test_fifty_megabytes_are_read_in_part(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    with path.open("wb") as file:
        file.write(REPORT.encode())
        file.write((b"x" * 99 + b"\n") * 524_288)
    report = load_report(str(path))
    assert report.title == "load fails"
    assert any("only the first" in note for note in report.notes)


def test_an_archive_is_never_unpacked(tmp_path: Path) -> None:
    bomb = tmp_path / "logs.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.log", b"\0" * 20_000_000)
    core = tmp_path / "core"
    core.write_bytes(b"\x7fELF\0" * 99)
    path = tmp_path / "report.md"
    path.write_text(REPORT)
    report = load_report(str(path), [bomb, core])
    assert [(a.media, a.text) for a in report.attachments] == [("archive", ""), ("binary", "")]
    assert "was not unpacked" in report.notes[0]
    assert "is binary" in report.notes[1]
