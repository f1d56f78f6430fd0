"""Candidates out of a language model's reply, however it is shaped. Pure, linear time, never raises.

The format asked for is Markdown (a heading, `key: value` lines, one fenced script per hypothesis), because it survives
truncation, prose around it and small models better than code inside JSON strings does. JSON is read too when it comes.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

MOST = 12
"""Hypotheses read from one reply."""

LONGEST_SCRIPT = 20_000
"""Characters; a longer script is not a reproduction but a runaway reply."""

_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([\w+.-]*)[^\n]*\n", re.MULTILINE)
_KEY = re.compile(
    r"^[\s>*#_-]*(claim|cause|hypothesis|conditions?|prediction|predicts?|suspects?|env|variation)\b[^:\n]{0,20}:[\s*_]*(.+)$",
    re.IGNORECASE,
)
_OTHER_LANGUAGES = {
    "bash",
    "sh",
    "shell",
    "console",
    "json",
    "javascript",
    "js",
    "text",
    "toml",
    "yaml",
    "diff",
    "sql",
    "html",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One hypothesis of a reply, with its script as written."""

    claim: str
    script: str
    conditions: str = ""
    prediction: str = ""
    variables: tuple[tuple[str, str], ...] = ()  # environment variation


def read_reply(text: str) -> tuple[Written, ...]:
    """The hypotheses of a reply that come with a script which parses as Python, in order; empty when there are none."""
    text = _THINKING.sub("", text)
    found = list(_from_json(text)) or list(_from_markdown(text))
    unique: dict[str, Written] = {}
    for written in found:
        if _usable(written.script):
            unique.setdefault(written.script.strip(), written)
    return tuple(unique.values())[:MOST]


def _usable(script: str) -> bool:
    if not script.strip() or len(script) > LONGEST_SCRIPT:
        return False
    try:
        tree = ast.parse(script)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(not isinstance(node, ast.Import | ast.ImportFrom | ast.Pass) for node in tree.body)


# ------------------------------------------------------------------------------------------------------------- markdown


def _from_markdown(text: str) -> Iterator[Written]:
    position = 0
    while (opening := _FENCE.search(text, position)) is not None:
        closing = re.compile(rf"^[ \t]*{re.escape(opening[1])}[ \t]*$", re.MULTILINE).search(text, opening.end())
        end = closing.start() if closing else len(text)
        if opening[2].lower() not in _OTHER_LANGUAGES:
            fields = _fields(text[position : opening.start()])
            script = _whole(text[opening.end() : end], truncated=closing is None)
            yield _written(fields, script)
        position = closing.end() if closing else len(text)
    if position == 0 and _usable(text):
        yield _written({}, text)  # nothing but code


def _fields(prose: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in prose[-4000:].splitlines():
        match = _KEY.match(line)
        if match:
            fields[_canonical(match[1])] = match[2].strip(" *_`")
    if "claim" not in fields:
        words = [line.strip(" #*->") for line in prose.splitlines() if line.strip(" #*->")]
        fields["claim"] = words[-1][:300] if words else ""
    return fields


def _canonical(key: str) -> str:
    key = key.lower()
    if key in {"claim", "cause", "hypothesis"}:
        return "claim"
    return {"c": "conditions", "p": "prediction", "s": "suspects"}.get(key[0], "env")


def _whole(code: str, *, truncated: bool) -> str:
    """A script cut off by the end of the reply keeps the statements that are complete."""
    if not truncated:
        return code
    lines = code.splitlines()
    for count in range(len(lines), max(0, len(lines) - 40), -1):
        text = "\n".join(lines[:count])
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        return text + "\n"
    return code


def _written(fields: Mapping[str, str], script: str) -> Written:
    return Written(
        claim=fields.get("claim", "")[:400] or "the report's description",
        script=script,
        conditions=fields.get("conditions", "")[:400],
        prediction=fields.get("prediction", "")[:400],
        variables=_variables(fields.get("env", "")),
    )


def _variables(text: str) -> tuple[tuple[str, str], ...]:
    pairs = re.findall(r"\b([A-Z][A-Z0-9_]{1,40})=([^\s,;`]{0,200})", text)
    return tuple(pairs[:8])


# ----------------------------------------------------------------------------------------------------------------- json


def _from_json(text: str) -> Iterator[Written]:
    start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    if start < 0 or '"' not in text:
        return
    try:
        data, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return
    yield from _walk(data, depth=0)


def _walk(data: object, depth: int) -> Iterator[Written]:
    if depth > 4:
        return
    if isinstance(data, list):
        for item in data[: 2 * MOST]:
            yield from _walk(item, depth + 1)
    elif isinstance(data, dict):
        script = next((data[key] for key in ("script", "code", "python") if isinstance(data.get(key), str)), None)
        if script is not None:
            fields = {_canonical(key): str(value) for key, value in data.items() if _KEY.match(f"{key}: x")}
            yield _written(fields, _unfenced(script))
        else:
            for value in list(data.values())[:20]:
                yield from _walk(value, depth + 1)


def _unfenced(script: str) -> str:
    opening = _FENCE.search(script)
    if opening is None:
        return script
    rest = script[opening.end() :]
    return rest.rpartition(opening[1])[0] or rest
