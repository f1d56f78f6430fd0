"""The time that stands at the head of a log line, in any of the notations in use, as seconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_MONTHS = dict(Jan=1, Feb=2, Mar=3, Apr=4, May=5, Jun=6, Jul=7, Aug=8, Sep=9, Oct=10, Nov=11, Dec=12)  # noqa: C408
_CLOCK = r"(?P<h>\d{1,2}):(?P<mi>\d\d):(?P<s>\d\d)(?:[.,:](?P<f>\d{1,9}))?"
_ZONE = r"\s?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)?(?![\w:])"
_NUMERIC = re.compile(rf"(?P<y>\d{{4}})[-/.](?P<mo>\d\d)[-/.](?P<d>\d\d)[T _,]{{1,2}}{_CLOCK}{_ZONE}")
_DAY_FIRST = re.compile(rf"(?P<a>\d\d)[-/.](?P<b>\d\d)[-/.](?P<y>\d{{4}}|\d\d)[ ,T]{{1,2}}{_CLOCK}{_ZONE}")
_APACHE = re.compile(rf"(?P<d>\d\d)/(?P<name>[A-Z][a-z]{{2}})/(?P<y>\d{{4}}):{_CLOCK}{_ZONE}")
_NAMED = re.compile(
    rf"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?P<name>[A-Z][a-z]{{2}}) {{1,2}}(?P<d>\d{{1,2}}) {_CLOCK}"
    rf"(?: (?P<y>\d{{4}}))?{_ZONE}"
)
_GLOG = re.compile(rf"[IWEF](?P<mo>\d\d)(?P<d>\d\d) {_CLOCK}(?P<zone>)(?=\s)")
_UPTIME = re.compile(r" {0,6}(?P<seconds>\d{1,8}\.\d{3,9})(?=[\]\s])")
_BARE = re.compile(rf"{_CLOCK}(?P<zone>)(?![\w:])")
_EPOCH = re.compile(r"(?P<seconds>1\d{9}(?:\.\d{1,9})?)(?![\w.])|(?P<milliseconds>1\d{12})(?!\w)")
_SHAPES = (_NUMERIC, _DAY_FIRST, _APACHE, _NAMED, _GLOG, _UPTIME, _EPOCH, _BARE)
_ASSUMED_YEAR = 2000
"""Of notations without a year: a leap year, so that 29 February is a day. Only differences are used."""


def time_at(text: str, start: int = 0) -> tuple[float, int] | None:
    """The time at `start` and the index after it: seconds since 1970, times without a zone taken as UTC; since an
    unknown beginning for uptimes and bare clocks. None where no time stands there."""
    for shape in _SHAPES:
        found = shape.match(text, start)
        if found:
            seconds = _seconds(found)
            if seconds is not None:
                return seconds, found.end()
    return None


def _seconds(found: re.Match[str]) -> float | None:
    groups = found.groupdict()
    if groups.get("seconds") or groups.get("milliseconds"):
        return float(groups["seconds"]) if groups.get("seconds") else float(groups["milliseconds"]) / 1000
    year = int(groups.get("y") or _ASSUMED_YEAR)
    month, day = groups.get("mo"), groups.get("d")
    if found.re is _DAY_FIRST:
        first, second = int(groups["a"]), int(groups["b"])
        day, month = (groups["a"], groups["b"]) if second <= 12 and first > 12 else (groups["b"], groups["a"])
        year += 2000 if year < 100 else 0
    if groups.get("name"):
        month = str(_MONTHS.get(groups["name"], 0))
    try:
        moment = datetime(
            year, int(month or 1), int(day or 1), int(groups["h"]), int(groups["mi"]), int(groups["s"]), tzinfo=UTC
        )
    except ValueError:
        return None
    fraction = float(f"0.{groups['f']}") if groups.get("f") else 0.0
    return moment.timestamp() + fraction - _offset(groups.get("zone") or "")


def _offset(zone: str) -> int:
    """Seconds east of Greenwich."""
    if zone[:1] not in ("+", "-") or not zone:
        return 0
    digits = zone[1:].replace(":", "")
    return (int(digits[:2]) * 3600 + int(digits[2:]) * 60) * (-1 if zone[0] == "-" else 1)


def iso(seconds: float) -> str:
    """`seconds` since 1970 as ISO 8601 in UTC with milliseconds; "" when out of range."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    except (ValueError, OverflowError, OSError):
        return ""
