"""Which optional dependencies of the subject a report implies."""

from __future__ import annotations

import re

from packaging.utils import canonicalize_name

_NAMED = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9._-]{0,99})\[([A-Za-z0-9][A-Za-z0-9._, -]{0,199})\](?=$|[\s\"'`=<>!~;,.)@])", re.MULTILINE
)
_INSTALLS = re.compile(r"install|add|require|depend|\bsync\b", re.IGNORECASE)


def implied_extras(text: str, package: str) -> tuple[str, ...]:
    """The extras that `text` installs `package` with (`pip install package[fast,all]`), sorted.

    Indexing (`package[key]`) looks the same, so a mention counts only on a line that speaks of installing, or with a
    version or a quote behind it.
    """
    found: set[str] = set()
    for line in text.splitlines():
        if "[" not in line or len(line) > 2000:
            continue
        for match in _NAMED.finditer(line):
            behind = line[match.end() : match.end() + 2]
            named = canonicalize_name(match.group(1)) == package
            if named and (_INSTALLS.search(line) or behind.startswith(("==", ">=", "<=", "~=", "!="))):
                found |= {canonicalize_name(extra.strip()) for extra in match.group(2).split(",") if extra.strip()}
    return tuple(sorted(found))
