"""Lines of many formats as records."""

from __future__ import annotations

import json

import pytest

from rebug.intake.logs import parse_line
from rebug.intake.logs.times import time_at

MOMENT = 1709528767.0  # 2024-03-04 05:06:07 UTC


@pytest.mark.parametrize(
    ("line", "time", "level", "logger", "message"),
    [
        ("2024-03-04 05:06:07,000 - app.jobs - ERROR - it broke", MOMENT, "ERROR", "app.jobs", "it broke"),
        ("2024-03-04 05:06:07,000 ERROR app.jobs: it broke", MOMENT, "ERROR", "app.jobs", "it broke"),
        ("[2024-03-04 05:06:07] [WARNING] [app.jobs] it broke", MOMENT, "WARNING", "app.jobs", "it broke"),
        ("2024-03-04T05:06:07Z INFO it broke", MOMENT, "INFO", "", "it broke"),
        ("2024-03-04T07:06:07+02:00 WARN it broke", MOMENT, "WARNING", "", "it broke"),
        (
            "2024-03-04 05:06:07.000 | SUCCESS  | app.jobs:run:41 - it broke", MOMENT, "INFO", "app.jobs:run:41",
            "it broke",
        ),
        ("WARNING:app.jobs:it broke", None, "WARNING", "app.jobs", "it broke"),
        ("INFO:     127.0.0.1:5 - GET / 200", None, "INFO", "", "127.0.0.1:5 - GET / 200"),
        ("[04/Mar/2024:05:06:07 +0000] ERROR it broke", MOMENT, "ERROR", "", "it broke"),
        ("time=2024-03-04T05:06:07Z level=warn msg=\"it broke\" n=3", MOMENT, "WARNING", "", "it broke"),
        ("<11>1 2024-03-04T05:06:07Z box jobs 12 - - it broke", MOMENT, "ERROR", "jobs", "it broke"),
        ("api-1  | 2024-03-04 05:06:07,000 ERROR app.jobs: it broke", MOMENT, "ERROR", "app.jobs", "it broke"),
        (
            "2024-03-04T05:06:07.000000000Z stderr F ERROR:app.jobs:it broke", MOMENT, "ERROR", "app.jobs",
            "it broke",
        ),
        ("\x1b[31m2024-03-04 05:06:07 ERROR\x1b[0m app.jobs: it broke", MOMENT, "ERROR", "app.jobs", "it broke"),
        ("E0304 05:06:07.000000 12 jobs.cc:41] it broke", None, "ERROR", "", "it broke"),
    ],
)  # fmt: skip
def test_lines(line: str, time: float | None, level: str, logger: str, message: str) -> None:
    record = parse_line(line, 7)
    assert record is not None
    assert (record.level, record.logger, record.message, record.line) == (level, logger, message, 7)
    assert time is None or record.time == time


def test_syslog_of_old_and_a_source() -> None:
    record = parse_line("Mar  4 05:06:07 box app[12]: WARNING it broke")
    assert record is not None
    assert (record.level, record.logger, record.source, record.message) == ("WARNING", "app", "box", "it broke")


@pytest.mark.parametrize(
    "document",
    [
        {"timestamp": "2024-03-04T05:06:07Z", "level": "error", "event": "it broke", "logger": "app", "job": 3},
        {"time": "2024-03-04T05:06:07.000Z", "level": 50, "name": "app", "msg": "it broke", "job": 3, "v": 0},
        {"@timestamp": "2024-03-04T05:06:07Z", "log.level": "ERROR", "logger_name": "app", "message": "it broke",
         "job": 3},
        {"ts": 1709528767, "severity": "ERROR", "component": "app", "message": "it broke", "job": 3},
        {"__REALTIME_TIMESTAMP": "1709528767000000", "PRIORITY": "3", "SYSLOG_IDENTIFIER": "app",
         "MESSAGE": "it broke", "job": 3},
        {
            "text": "…",
            "record": {
                "time": {"timestamp": 1709528767.0}, "level": {"name": "ERROR", "no": 40}, "name": "app", "job": 3,
                "message": "it broke",
            },
        },
    ],
)  # fmt: skip
def test_json(document: dict[str, object]) -> None:
    record = parse_line(json.dumps(document))
    assert record is not None
    assert (record.time, record.level, record.logger, record.message) == (MOMENT, "ERROR", "app", "it broke")
    assert dict(record.fields).get("job") == "3"


def test_docker_json_file_holds_a_line() -> None:
    line = json.dumps({"log": "ERROR:app:it broke\n", "stream": "stderr", "time": "2024-03-04T05:06:07Z"})
    record = parse_line(line.replace('{"log": ', '{"log":'))
    assert record is not None
    assert (record.time, record.level, record.logger, record.message) == (MOMENT, "ERROR", "app", "it broke")


@pytest.mark.parametrize(
    "line", ['  File "a.py", line 3, in f', "    return 1", "ValueError: no", "", "{", "plain words"]
)
def test_what_begins_no_record(line: str) -> None:
    assert parse_line(line) is None


def test_times_that_are_none() -> None:
    assert time_at("2024-13-45 99:99:99") is None
    assert time_at("12:3") is None


def test_hostile_lines_take_no_time() -> None:
    for text in ("=" * 50_000, 'a="' * 20_000, "[" * 50_000, "{" * 50_000, "2024-03-04 " * 5000, "a=" * 20_000):
        parse_line(text)
