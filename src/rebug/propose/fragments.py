"""Bits of code in a report's running text, as the content of a file that the report does not show."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rebug.model import Report
from rebug.propose.code import parses

_INLINE = re.compile(r"(?<!`)`{1,2}(?P<text>[^`\n]{2,200})`{1,2}(?!`)")
_ENDINGS = ("", " 1", " x", "\n    pass", ":\n    pass", ")", " = 1")


def inline_code(report: Report) -> list[str]:
    """Code within the sentences of a report, the title's first."""
    text = f"{report.title}\n{report.body}"[:100_000]
    return list(dict.fromkeys(m["text"].strip() for m in _INLINE.finditer(text) if m["text"].strip()))


def contents(report: Report, name: str) -> Iterator[str]:
    """What a file of this name may hold if what the report says of its content is in its inline code."""
    for fragment in inline_code(report)[:12]:
        if fragment == name or re.fullmatch(r"[\w./-]+", fragment):
            continue
        if name.endswith(".py"):
            whole = next((fragment + end for end in _ENDINGS if parses(fragment + end)), "")
            if whole:
                yield whole + "\n"
        else:
            yield fragment + "\n"
