"""Files that the commands of a report read, with what the report says of their content."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rebug.model import Block, BlockKind
from rebug.ports import Situation
from rebug.propose.commands import Command
from rebug.propose.files import content_for, relative
from rebug.propose.fragments import contents
from rebug.propose.repair import programs

_FILE = re.compile(r"[\w./\\-]*[\w-]\.[A-Za-z][A-Za-z0-9]{0,5}\Z")
_WRITING = {"-o", "--output", "-d", "--dest", "--out", "-O", "--output-file"}


@dataclass(frozen=True, slots=True)
class Needed:
    """Files that commands read: those with a content, and those whose content the report does not show."""

    files: Mapping[str, str]
    missing: tuple[str, ...] = ()


def needed_files(session: Sequence[Command], situation: Situation, block: Block | None) -> Needed:
    """Files that the commands read and none of them makes, with the content that the report gives them."""
    files: dict[str, str] = {}
    missing: dict[str, None] = {}
    made: set[str] = set()
    for command in session:
        if command.program == "cat" and command.simple and command.output and len(command.words) == 2:
            files[relative(command.words[1])] = command.output + "\n"
            continue
        made.update(re.findall(r">>?\s*([\w./-]+)", command.text))
        made.update(command.words[1:] if command.program in {"touch", "mkdir"} else ())
        for before, word in pairwise(command.words):
            name = relative(word)
            directory = word.endswith(("/", "\\")) and command.program not in {"cd", "mkdir"}
            if word in made or name in files or word.startswith("-") or before in _WRITING:
                continue
            content = _content(word, situation, block) if _FILE.match(word) else ""
            files.update({name: content} if content else {})
            if not content and (directory or _FILE.match(word)):
                missing[name + "example.py" if directory else name] = None
    for other in situation.report.blocks:
        if other.filename and other is not block and relative(other.filename) not in files:
            files[relative(other.filename)] = other.text if other.text.endswith("\n") else other.text + "\n"
    return Needed(files, tuple(name for name in missing if name not in files))


def _content(name: str, situation: Situation, block: Block | None) -> str:
    found = content_for(name, [b for b in situation.report.blocks if b is not block and b.kind is not BlockKind.SHELL])
    if found is None and name.endswith(".py"):
        code = [b for b in situation.report.blocks if b.kind is BlockKind.PYTHON and b is not block]
        earlier = [b for b in code if block is None or b.line < block.line]
        chosen = (earlier[-1:] or code[:1])[:1]
        return next((text for b in chosen for text, _ in programs(b.text)), "")
    if found is None:
        attached = _attached(name, situation)
        if attached:
            return attached
        others = [b for b in situation.report.blocks if b is not block and b.kind in {BlockKind.DATA, BlockKind.CONFIG}]
        found = others[0] if len(others) == 1 else None
    return found.text.rstrip("\n") + "\n" if found else ""


def _attached(name: str, situation: Situation) -> str:
    """The attachment of this name, or the only one of its format."""
    texts = [a for a in situation.report.attachments if a.text]
    base = relative(name).rpartition("/")[2]
    named = [a for a in texts if a.name.rpartition("/")[2] == base]
    alike = [a for a in texts if a.name.rpartition(".")[2] == base.rpartition(".")[2]]
    chosen = named or (alike if len(alike) == 1 else [])
    return chosen[0].text if chosen else ""


def file_sets(needed: Needed, situation: Situation) -> Iterator[dict[str, str]]:
    """Contents to try: what is given; where something is missing, the bits of code in the report's sentences."""
    if not needed.missing:
        yield dict(needed.files)
        return
    name = needed.missing[0]
    found = False
    for text in list(contents(situation.report, name))[:4]:
        found = True
        yield {**needed.files, name: text}
    if not found:
        yield dict(needed.files)
