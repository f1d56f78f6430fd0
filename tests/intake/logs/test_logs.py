"""Logs of any size and packing: templates, errors, silences, tracebacks, identifiers, exports."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from rebug.intake import load_report
from rebug.intake.logs import digest_text, lines_of, read_log
from rebug.intake.logs.exports import as_lines
from rebug.intake.logs.templates import Miner, shape

try:
    from compression import zstd
except ModuleNotFoundError:  # before Python 3.14
    from backports import zstd

TRACE = """Traceback (most recent call last):
  File "/srv/app/jobs.py", line 41, in run
    step()
  File "/srv/app/jobs.py", line 12, in step
    raise JobError("no answer")
app.jobs.JobError: no answer
"""


def _log(lines: int = 3000) -> str:
    """One line a second, two minutes of silence after line 1000, an error with a traceback at 1500 and 2500."""
    out: list[str] = []
    for number in range(lines):
        clock = number + (120 if number >= 1000 else 0)
        when = f"2024-03-04 {5 + clock // 3600:02d}:{clock // 60 % 60:02d}:{clock % 60:02d},000"
        if number in (1500, 2500):
            out.append(f"{when} ERROR app.jobs: job {number} failed, request_id=ab12cd34ef\n{TRACE}")
        elif number == 1499:
            out.append(f"{when} WARNING app.jobs: retrying for the last time\n")
        else:
            out.append(f"{when} INFO app.web: served {number} in {number % 7} ms\n")
    return "".join(out)


def test_shape_keeps_the_words() -> None:
    assert shape("took 3.5 ms for 'ab c' at 0x7f00 in /srv/a/b.py from 10.0.0.1") == (
        "took <> ms for <> at <> in <> from <>"
    )


def test_mining_joins_what_differs_in_a_word() -> None:
    miner = Miner()
    numbers = [miner.of(f"user {name} logged in from 10.0.0.{n}", "INFO") for n, name in enumerate(["ada", "bob"])]
    assert numbers == [0, 0]
    assert miner.found[0].text == "user <> logged in from <>"
    assert miner.of("the disk is full on this machine", "INFO") == 1


def test_a_digest_of_a_plain_log() -> None:
    digest = digest_text(_log(), "app.log")
    assert (digest.sources[0].lines, digest.sources[0].begins) == (3012, "2024-03-04T05:00:00.000Z")
    served = digest.templates[0]
    assert (served.text, served.count, served.level, served.logger) == ("served <> in <> ms", 2997, "INFO", "app.web")
    assert [(f.type, f.count, f.first, f.last) for f in digest.failures] == [("app.jobs.JobError", 2, 1502, 2508)]
    assert [(gap.seconds, gap.line) for gap in digest.gaps] == [(121.0, 1001)]
    error = next(moment for moment in digest.moments if moment.why == "error")
    assert error.line == 1501
    assert error.before[-1].endswith("retrying for the last time")
    assert any(moment.why == "rare" and "last time" in moment.text for moment in digest.moments)
    assert any("silent for 121 s" in line for line in lines_of(digest))


def test_lines_are_counted_alike_over_several_blocks(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text(_log(40_000))
    digest = read_log(path).digest
    assert digest.templates[0].count == 39_997
    assert [(f.count, f.first, f.last) for f in digest.failures] == [(2, 1502, 2508)]


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress), ("zst", zstd.compress)],
)
def test_packed_attachments(tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    report, log = tmp_path / "report.md", tmp_path / f"app.log.{suffix}"
    report.write_text("# Jobs fail\n\nSee the log.\n")
    log.write_bytes(pack(_log().encode()))
    loaded = load_report(str(report), [log])
    assert loaded.attachments[0].text == _log()
    assert [failure.type for failure in loaded.failures] == ["app.jobs.JobError"]
    assert loaded.log_digest is not None
    assert loaded.log_digest.failures[0].count == 2


def test_a_packed_archive_and_a_damaged_log(tmp_path: Path) -> None:
    report, tar, cut = tmp_path / "report.md", tmp_path / "a.tar.gz", tmp_path / "cut.log.gz"
    report.write_text("# Jobs fail\n\nSee the log.\n")
    tar.write_bytes(gzip.compress(b"name\0" * 300))
    cut.write_bytes(gzip.compress(_log(60_000).encode())[:-4000])
    loaded = load_report(str(report), [tar, cut])
    assert [a.media for a in loaded.attachments] == ["archive", "text"]
    assert "JobError" in loaded.attachments[1].text
    assert any("not unpacked" in note for note in loaded.notes)
    assert any("damaged after line" in note for note in loaded.notes)


def test_a_large_log_keeps_what_matters(tmp_path: Path) -> None:
    report, log = tmp_path / "report.md", tmp_path / "app.log"
    report.write_text("# Jobs fail\n\nSee the log.\n")
    log.write_text(_log(60_000))
    loaded = load_report(str(report), [log])
    text = loaded.attachments[0].text
    assert len(text) < 400_000
    assert "lines left out ...]" in text
    assert text.endswith("served 59999 in 2 ms")
    assert [failure.type for failure in loaded.failures] == ["app.jobs.JobError"]
    assert any("all 60,012 lines" in note for note in loaded.notes)


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    with log.open("w") as file:
        for _ in range(3):
            file.write(_log(20_000))
        file.write("x" * 5_000_000 + "\n")
    tracemalloc.start()
    read_log(log)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


def test_identifiers_are_followed_through_other_logs(tmp_path: Path) -> None:
    report, log, other = tmp_path / "report.md", tmp_path / "app.log", tmp_path / "gateway.log"
    report.write_text("# Jobs fail\n\nSee the logs.\n")
    log.write_text(_log())
    other.write_text("2024-03-04 05:20:00 INFO gw: in ab12cd34ef\n2024-03-04 05:20:01 INFO gw: out 9\n")
    digest = load_report(str(report), [log, other]).log_digest
    assert digest is not None
    thread = next(thread for thread in digest.threads if thread.identifier == "ab12cd34ef")
    assert ("gateway.log", 1, "2024-03-04 05:20:00 INFO gw: in ab12cd34ef") in thread.lines


@pytest.mark.parametrize("prefix", ["api-1  | ", "2024-03-04T05:06:07.0{n}Z stderr F "])
def test_tracebacks_behind_a_collectors_prefix(prefix: str) -> None:
    lines = [line for n in range(3) for line in ["ERROR:app:failed", *TRACE.splitlines(), "INFO:app:on"]]
    text = "\n".join(prefix.replace("{n}", str(n % 10)) + line for n, line in enumerate(lines))
    digest = digest_text(text, "pod.log")
    assert [(f.type, f.message, f.count) for f in digest.failures] == [("app.jobs.JobError", "no answer", 3)]


def _turned(text: bytes) -> list[str]:
    blocks = as_lines(text, io.BytesIO(b""))
    assert blocks is not None
    return b"".join(blocks).decode().splitlines()


EVENTS = [
    {"timestamp": 1709528767000, "message": "2024-03-04 05:06:07 ERROR app: it broke"},
    {"timestamp": 1709528768000, "message": "2024-03-04 05:06:08 INFO app: on"},
]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(EVENTS),
        json.dumps(EVENTS, indent=2),
        json.dumps({"events": EVENTS}, indent=1),
        json.dumps({"data": [{"id": "x", "content": event} for event in EVENTS]}, indent=1),
    ],
)
def test_exports_in_json(text: str) -> None:
    assert _turned(text.encode()) == [
        "2024-03-04T05:06:07.000Z ERROR app: it broke",
        "2024-03-04T05:06:08.000Z INFO app: on",
    ]


def test_exports_in_csv() -> None:
    file = io.StringIO()
    rows = csv.writer(file)
    rows.writerow(["Date", "Service", "Status", "Message"])
    rows.writerow(["2024-03-04T05:06:07Z", "app", "error", "it broke\n" + TRACE.strip()])
    lines = _turned(file.getvalue().encode())
    assert lines[0] == "2024-03-04T05:06:07.000Z ERROR app: it broke"
    assert lines[-1] == "app.jobs.JobError: no answer"


def test_otlp() -> None:
    record = {"timeUnixNano": "1709528767000000000", "severityNumber": 17, "body": {"stringValue": "it broke"}}
    service = {"attributes": [{"key": "service.name", "value": {"stringValue": "app"}}]}
    document = {"resourceLogs": [{"resource": service, "scopeLogs": [{"scope": {}, "logRecords": [record]}]}]}
    expected = ["2024-03-04T05:06:07.000Z ERROR app: it broke"]
    assert _turned(json.dumps(document).encode() + b"\n") == expected
    assert _turned(json.dumps(document, indent=1).encode()) == expected


def test_journald_export() -> None:
    body = b"it broke\non two lines"
    entry = b"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1709528767000000\nPRIORITY=3\nSYSLOG_IDENTIFIER=app\nMESSAGE\n"
    entry += len(body).to_bytes(8, "little") + body + b"\n\n"
    assert _turned(entry) == ["2024-03-04T05:06:07.000Z ERROR app: it broke", "on two lines"]


def test_small_exports_become_logs_and_data_stays_data(tmp_path: Path) -> None:
    report, export, data, journal = (tmp_path / name for name in ("report.md", "e.json", "d.json", "j.export"))
    report.write_text("# Jobs fail\n\nSee the logs.\n")
    export.write_text(json.dumps([{**EVENTS[0], "message": f"{EVENTS[0]['message']}\n{TRACE}"}, *EVENTS]))
    data.write_text(json.dumps([{"message": "hello", "to": "ada"}] * 3))
    body = TRACE.encode()
    entry = b"__REALTIME_TIMESTAMP=1709528767000000\nPRIORITY=3\nMESSAGE\n"
    journal.write_bytes((entry + len(body).to_bytes(8, "little") + body + b"\n\n") * 3)
    loaded = load_report(str(report), [export, data, journal])
    texts = [attachment.text for attachment in loaded.attachments]
    assert texts[0].startswith("2024-03-04T05:06:07.000Z ERROR app: it broke\nTraceback")
    assert texts[1] == data.read_text()
    assert texts[2].startswith("2024-03-04T05:06:07.000Z ERROR Traceback")
    assert [failure.type for failure in loaded.failures] == ["app.jobs.JobError"]
    assert loaded.log_digest is not None
    assert sum(failure.count for failure in loaded.log_digest.failures) == 4


def test_a_kernels_line_without_a_level_is_an_error() -> None:
    lines = [f"[{n}.000000] eth0: link is up" for n in range(5)]
    lines.append("[6.500000] python3[88]: segfault at 0 ip 00007f sp 00007f error 4 in box.so[1000+200]")
    (moment,) = digest_text("\n".join(lines), "dmesg").moments
    assert (moment.line, moment.why, moment.before[-1]) == (6, "error", lines[4])
