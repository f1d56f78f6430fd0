"""Reading of terminal sessions: which lines are commands, and what each of them answered."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rebug.model import Block, BlockKind

_PROMPT = re.compile(
    r"^\s*(?:\([\w.-]{1,40}\)\s*)?(?:"
    r"(?:\[?[\w.-]{1,40}@[\w.-]{1,60}[^$#%>\n]{0,80})?[$%❯➜]\s+"
    r"|[\w.-]{1,40}@[\w.-]{1,60}[^$#%>\n]{0,80}#\s*"
    r"|(?:PS )?[A-Za-z]:\\[^>\n]{0,120}>\s*"
    r"|[~/][^$#%>\n]{0,80}[$%]\s+"
    r"|\+{1,2}\s+(?=[\w./-]+(?:\s|$))"
    r")(?P<command>\S.*)$"
)
_ANGLE = re.compile(r"^\s*>\s+(?P<command>[\w./-]+(?:\s.*)?)$")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(?P<word>\w+)\1")
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=")
_SHELLS = {
    "sh",
    "bash",
    "shell",
    "console",
    "shell-session",
    "shellsession",
    "zsh",
    "terminal",
    "cmd",
    "powershell",
    "bat",
    "fish",
}
_DROPPED = (
    "pip pip3 git docker docker-compose apt apt-get ls ll dir sudo brew conda mamba source . deactivate which vim "
    "vi nano less more tree clear virtualenv uv poetry pipenv pipx pdm hatch uname whoami pwd sw_vers yum dnf pacman "
    "wget history exit code open man cls npm yarn systemctl service kubectl ssh scp sleep"
)
DROPPED = frozenset(_DROPPED.split())
"""Commands that set something up that is there already, or that only look around."""
_INTERPRETERS = re.compile(r"(?:python|pypy|py)[\d.]*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command line with what it printed; `words` are those of the command itself, without assignments."""

    text: str
    output: str
    assignments: tuple[tuple[str, str], ...] = ()
    words: tuple[str, ...] = ()
    status: int | None = None  # as shown by `echo $?` after it

    @property
    def program(self) -> str:
        return re.split(r"[/\\]", self.words[0])[-1].removesuffix(".exe") if self.words else ""

    @property
    def simple(self) -> bool:
        """No pipe, redirection or list: one program with its arguments."""
        return not re.search(r"[|<>&;`\n]|\$[({\w]", self.text)


def commands(block: Block, known: Iterable[str]) -> list[Command]:
    """The commands of a block with their output; `known` are programs that count as commands without a prompt."""
    lines = block.text.splitlines()
    prompted = any(_PROMPT.match(line) for line in lines)
    is_shell = block.language in _SHELLS or block.kind is BlockKind.SHELL
    names = {
        *known,
        "python",
        "python3",
        "cd",
        "mkdir",
        "echo",
        "cat",
        "touch",
        "export",
        "env",
        "pytest",
        "printf",
        "cp",
    }
    found: list[Command] = []
    text, output = "", list[str]()
    heredoc = ""
    for line in lines:
        if heredoc:
            text += "\n" + line.removeprefix("> ")
            heredoc = "" if line.removeprefix("> ").strip() == heredoc else heredoc
            continue
        if text.endswith("\\") and not output:
            text = text[:-1] + " " + line.strip().removeprefix("> ")
            continue
        command = _command_of(line, prompted=prompted, is_shell=is_shell, names=names)
        if command is None:
            output.append(line)
            continue
        found.extend(_made(text, output))
        text, output = command, []
        opened = _HEREDOC.search(command)
        heredoc = opened["word"] if opened else ""
    found.extend(_made(text, output))
    return _with_status(found)


def _with_status(found: Sequence[Command]) -> list[Command]:
    """The commands without `echo $?`, whose answer is the status of the command before it."""
    kept: list[Command] = []
    for command in found:
        if re.search(r"^echo\s+[\"']?(?:\$\?|%ERRORLEVEL%)", command.text):
            if kept and command.output.strip().isdigit():
                kept[-1] = replace(kept[-1], status=int(command.output.strip()) % 256)
        else:
            kept.append(command)
    return kept


def _command_of(line: str, *, prompted: bool, is_shell: bool, names: set[str]) -> str | None:
    match = _PROMPT.match(line) or (None if prompted else _ANGLE.match(line))
    if match:
        first = match["command"].split()[0]
        angled = match.re is _ANGLE
        return match["command"].strip() if not angled or first in names else None
    if prompted or not is_shell or line.startswith((" ", "\t", "#")):
        return None
    words = [w for w in line.split() if not _ASSIGNMENT.match(w)]
    return line.strip() if words and words[0] in names else None


def _made(text: str, output: Sequence[str]) -> list[Command]:
    if not text.strip() or len(text) > 10_000:
        return []
    text = re.sub(r"\s+#\s.*$", "", text) if "\n" not in text and "'" not in text and '"' not in text else text
    try:
        words = shlex.split(text.partition("\n")[0], comments=False)
    except ValueError:
        words = text.split()
    if words[:1] == ["env"]:
        words = words[1:]
    if words[:1] == ["set"] and len(words) == 2 and "=" in words[1]:
        words = words[1:]
    assignments = []
    while words and _ASSIGNMENT.match(words[0]):
        name, _, value = words.pop(0).partition("=")
        assignments.append((name, value))
    return [
        Command(text=text, output="\n".join(output).strip("\n"), assignments=tuple(assignments), words=tuple(words))
    ]


def is_dropped(command: Command) -> bool:
    """Whether a command says nothing about the bug: installing, looking around, asking for a version."""
    if not command.words:
        return not command.assignments
    if command.program in DROPPED:
        return True
    rest = command.words[1:]
    if _INTERPRETERS.match(command.program):
        return not rest or rest[0] in {"-V", "-i"} or rest[:2] in {("-m", "pip"), ("-m", "venv")} or "--version" in rest
    return rest in {("--version",), ("-V",), ("version",)}


def is_interpreter(command: Command) -> bool:
    """Whether the command is the Python interpreter itself."""
    return bool(_INTERPRETERS.match(command.program))
