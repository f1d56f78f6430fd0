"""Logs that a collector exported as one document, turned into lines: JSON arrays, CSV, journald's export, OTLP.

Each record becomes `TIME LEVEL logger: message`, so that all that reads lines reads these too. Lines are then those of
the turned log, and a record's number in the export where each has one line.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO

from rebug.intake.logs.formats import LogRecord, of_mapping, parse_line
from rebug.intake.logs.times import iso

HEAD = 1 << 16  # bytes that tell the form
MAX_DOCUMENT = 16 << 20  # characters of one record
_BATCH = 2000  # records in a block
_LIST = re.compile(rb'"(?:events|logEvents|resourceLogs|results|hits|data|logs|items|messages|entries)"\s*:\s*\[')
_JOURNAL = re.compile(rb"^(?:__CURSOR|__REALTIME_TIMESTAMP|_[A-Z_]{2,40})=")
_MESSAGE_COLUMNS = {"message", "msg", "@message", "_raw", "content", "log", "body", "event", "text"}
_TIME_COLUMNS = {"time", "timestamp", "@timestamp", "_time", "date", "datetime", "eventtime"}


def as_lines(head: bytes, stream: BinaryIO) -> Iterator[bytes] | None:
    """Blocks of lines of an export whose first bytes are `head` (read already), None when it is a log of lines."""
    whole = _Joined(head, stream)
    first = head.split(b"\n", 1)[0].strip()
    if _JOURNAL.match(head):
        return _blocks(_journal(whole))
    if first.startswith(b'{"resourceLogs"') and first.endswith(b"}"):
        return _blocks(_otlp_lines(whole))
    if head.lstrip()[:1] == b"[" and head.lstrip()[1:].lstrip()[:1] in (b"{", b"]"):
        return _blocks(_documents(whole, head.index(b"[") + 1))
    if head.lstrip()[:1] == b"{" and not _complete(first):
        found = _LIST.search(head)
        return _blocks(_documents(whole, found.end())) if found else None
    columns = [name.strip().strip('"').lower() for name in first.decode("utf-8", "replace").split(",")]
    if len(columns) > 1 and _MESSAGE_COLUMNS & set(columns) and _TIME_COLUMNS & set(columns):
        return _blocks(_rows(whole))
    return None


def _complete(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


class _Joined(io.RawIOBase):
    """The bytes read already, then the rest of the stream."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head, self._stream = head, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # typeshed's buffer has no len
        data = self._head[: len(buffer)] if self._head else self._stream.read(len(buffer))
        self._head = self._head[len(data) :] if self._head else b""
        buffer[: len(data)] = data
        return len(data)


def _blocks(records: Iterable[LogRecord]) -> Iterator[bytes]:
    lines: list[str] = []
    for record in records:
        lines.append(line_of(record))
        if len(lines) >= _BATCH:
            yield ("\n".join(lines) + "\n").encode("utf-8", "replace")
            lines.clear()
    if lines:
        yield ("\n".join(lines) + "\n").encode("utf-8", "replace")


def line_of(record: LogRecord) -> str:
    """The record as lines of text, the first with its time, level and logger."""
    when = iso(record.time) if record.time is not None else ""
    name = re.sub(r"[^\w.]", "_", record.logger)
    if name[:1].isdigit():
        name = f"_{name}"
    parts = [when, record.level or "INFO", f"{name}:" if name else "", record.message.rstrip("\n")]
    return " ".join(part for part in parts if part)


def record_of(document: Mapping[str, object]) -> LogRecord | None:
    """The record of an exported document, whatever it is wrapped in; a message that is a log line itself is read."""
    for key in ("content", "attributes", "result", "_source", "jsonPayload"):
        inner = document.get(key)
        if isinstance(inner, dict):
            document = {**document, **inner}
    if "textPayload" in document:
        document = {**document, "message": document["textPayload"]}
    record = of_mapping(document)
    if record is None:
        return None
    inner_record = parse_line(record.message.split("\n", 1)[0]) if not record.level else None
    if inner_record is None:
        return record
    rest = record.message.partition("\n")[2]
    return LogRecord(
        message=f"{inner_record.message}\n{rest}" if rest else inner_record.message,
        time=inner_record.time if inner_record.time is not None else record.time,
        level=inner_record.level,
        logger=inner_record.logger or record.logger,
        fields=(*record.fields, *inner_record.fields),
        source=record.source,
    )


def _documents(stream: io.RawIOBase, start: int) -> Iterator[LogRecord]:
    """The records of a JSON list whose first item comes after `start` bytes, read piece by piece."""
    decoder, json_decoder = codecs.getincrementaldecoder("utf-8")("replace"), json.JSONDecoder()
    stream.read(start)
    text, at = "", 0
    while True:
        try:
            while text[at : at + 1] in (",", " ", "\n", "\r", "\t") and at < len(text):
                at += 1
            if text[at : at + 1] == "]":
                return
            value, at = json_decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            data = stream.read(1 << 18)
            if not data or len(text) - at > MAX_DOCUMENT:
                return
            text, at = text[at:] + decoder.decode(data), 0
            continue
        if isinstance(value, dict):
            yield from _otlp(value) if "scopeLogs" in value or "resourceLogs" in value else _one(value)


def _one(value: Mapping[str, object]) -> Iterator[LogRecord]:
    record = record_of(value)
    if record is not None:
        yield record


def _otlp_lines(stream: io.RawIOBase) -> Iterator[LogRecord]:
    for line in io.BufferedReader(stream):
        try:
            value = json.loads(line[:MAX_DOCUMENT])
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield from _otlp(value)


def _items(value: object, key: str) -> list[Mapping[str, object]]:
    found = value.get(key) if isinstance(value, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _otlp(value: Mapping[str, object]) -> Iterator[LogRecord]:
    """Records of the OpenTelemetry protocol's JSON (resourceLogs, scopeLogs, logRecords)."""
    for resource in _items(value, "resourceLogs") or [value]:
        held = resource.get("resource")
        named = dict(_attributes(held)) if isinstance(held, dict) else {}
        for scope in _items(resource, "scopeLogs"):
            about = scope.get("scope")
            logger = about.get("name") if isinstance(about, dict) else ""
            for entry in _items(scope, "logRecords"):
                body, moment = entry.get("body"), str(entry.get("timeUnixNano") or entry.get("observedTimeUnixNano"))
                fields = tuple(_attributes(entry)) + tuple(
                    (key, str(entry[key])) for key in ("traceId", "spanId") if entry.get(key)
                )
                number = entry.get("severityNumber")
                stack = next((text for key, text in fields if key == "exception.stacktrace"), "")
                message = _value(body) + (f"\n{stack}" if stack else "")
                yield LogRecord(
                    message=message,
                    time=int(moment) / 1e9 if moment.isdigit() else None,
                    level=_otlp_level(number),
                    logger=str(logger or named.get("service.name", "")),
                    fields=fields,
                    source=named.get("service.name", ""),
                )


def _otlp_level(number: object) -> str:
    """Severity numbers come in fours: TRACE 1-4, DEBUG, INFO, WARN, ERROR, FATAL 21-24."""
    if not isinstance(number, int) or not 1 <= number <= 24:
        return ""
    return ("DEBUG", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")[(number - 1) // 4]


def _attributes(held: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for item in _items(held, "attributes")[:40]:
        if isinstance(item.get("key"), str):
            yield str(item["key"]), _value(item.get("value"))


def _value(value: object) -> str:
    if isinstance(value, dict):
        return str(next(iter(value.values()), ""))
    return value if isinstance(value, str) else ""


def _rows(stream: io.RawIOBase) -> Iterator[LogRecord]:
    text = io.TextIOWrapper(io.BufferedReader(stream), encoding="utf-8-sig", errors="replace", newline="")
    csv.field_size_limit(MAX_DOCUMENT)
    try:
        for row in csv.DictReader(text):
            lower = {str(key).strip().lower(): value for key, value in row.items() if isinstance(value, str)}
            if "content" in lower and "message" not in lower:
                lower["message"] = lower.pop("content")
            yield from _one(lower)
    except csv.Error:
        return


def _journal(stream: io.RawIOBase) -> Iterator[LogRecord]:
    """`journalctl -o export`: KEY=value lines, or KEY, a length of 8 bytes and as many bytes; a blank line ends one."""
    buffered = io.BufferedReader(stream)
    entry: dict[str, object] = {}
    while line := buffered.readline(1 << 20):
        line = line.rstrip(b"\n")
        if not line:
            yield from _one(entry)
            entry = {}
            continue
        key, equals, value = line.partition(b"=")
        if not equals:
            length = int.from_bytes(buffered.read(8), "little")
            value = buffered.read(min(length, MAX_DOCUMENT))
            buffered.readline()
        entry[key.decode("ascii", "replace")[:80]] = value.decode("utf-8", "replace")
    yield from _one(entry)
