"""Cut-off dates, as uv takes them."""

from __future__ import annotations

from datetime import UTC, datetime, time

from rebug.errors import InputError


def cutoff(as_of: str) -> str:
    """`as_of` (ISO 8601, "" for none) as an RFC 3339 instant in UTC; a bare date means the end of that day.

    Raises InputError for what is no date.
    """
    if not as_of.strip():
        return ""
    try:
        moment = datetime.fromisoformat(as_of.strip())
    except ValueError as error:
        raise InputError(f"{as_of!r} is not a date; write it as 2024-05-31 or 2024-05-31T12:00:00Z") from error
    if len(as_of.strip()) <= len("2024-05-31"):
        moment = datetime.combine(moment.date(), time(23, 59, 59))
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
