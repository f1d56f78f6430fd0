"""A terminal session of the report as a program that runs the same commands in a directory of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from rebug.model import Basis, Block, BlockKind, Candidate, Hypothesis, Symptom, SymptomKind
from rebug.ports import Situation
from rebug.propose.commands import Command, commands, is_dropped, is_interpreter
from rebug.propose.files import quoted, relative
from rebug.propose.needles import pieces_of, reported_texts
from rebug.propose.shell_files import file_sets, needed_files
from rebug.propose.snippet import prediction

_HEAD = """import os
import subprocess
import sys
import tempfile

_directory = tempfile.TemporaryDirectory()
os.chdir(_directory.name)
os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "/usr/bin:/bin")
os.environ.setdefault("HOME", _directory.name)
"""
_RUN = '''
def run(command):
    """The output of a command line, which is passed through; 125 when there is no such command."""
    done = subprocess.run(
        command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60
    )
    output = done.stdout.decode("utf-8", "replace")
    sys.stdout.write(output)
    if done.returncode in (126, 127):
        sys.exit(125)
    return done.returncode, output

'''
_FILE = re.compile(r"[\w./\\-]*[\w-]\.[A-Za-z][A-Za-z0-9]{0,5}\Z")
_INLINE = re.compile(r"(?<!`)`(?P<text>[^`\n]{3,200})`(?!`)")


class Shell:
    """Proposes the commands of the report, run as they are, and the last one in the script's own process."""

    name = "shell"
    reactive = False

    def propose(self, situation: Situation) -> Iterator[Candidate]:
        if situation.round != 1:
            return
        for session, block in sessions(situation):
            yield from _candidates(situation, session, block)


def sessions(situation: Situation) -> list[tuple[list[Command], Block | None]]:
    """Every terminal session of the report that runs something worth running, and the commands named in its text."""
    known = {*situation.environment.scripts, *situation.index.modules, situation.environment.package} - {""}
    found: list[tuple[list[Command], Block | None]] = []
    for block in situation.report.blocks:
        if block.kind in {BlockKind.PYTHON, BlockKind.REPL, BlockKind.DATA, BlockKind.CONFIG}:
            continue
        kept = [c for c in commands(block, known) if not is_dropped(c)]
        if any(_is_own(c, situation) for c in kept):
            found.append((kept, block))
    if not found:
        for text in _inline(situation):
            block = Block(text=f"$ {text}", kind=BlockKind.SHELL, line=0, language="console")
            kept = [c for c in commands(block, known) if not is_dropped(c)]
            if kept and kept[-1].program in known:
                found.append((kept, None))
    if len(found) > 1:
        found.append(([c for session, _ in found for c in session], found[0][1]))
    return found[:6]


def _inline(situation: Situation) -> list[str]:
    known = {*situation.environment.scripts} - {""}
    texts = [
        m["text"].strip() for m in _INLINE.finditer(f"{situation.report.title}\n{situation.report.body}"[:100_000])
    ]
    return list(
        dict.fromkeys(
            t.removeprefix("$ ")
            for t in texts
            if t.removeprefix("$ ").split()[:1] and set(t.removeprefix("$ ").split()[:3]) & known
        )
    )[:4]


def _is_own(command: Command, situation: Situation) -> bool:
    """Whether a command runs the subject or the report's own script."""
    if command.program in situation.environment.scripts or is_interpreter(command):
        return True
    return command.program in {"pytest", "py.test", situation.environment.package} or any(
        re.search(rf"\b{re.escape(m)}\b", command.text)
        for m in (*situation.index.modules, *situation.environment.scripts)
    )


def _decisive(session: Sequence[Command], situation: Situation) -> int:
    """The number of the command that shows the symptom: by its output, else the last one that runs the subject."""
    texts = reported_texts(situation.symptom)
    for number, command in enumerate(session):
        shown = "Traceback (most recent call last)" in command.output
        if shown or any(all(piece in command.output for piece in pieces_of(text)) for text in texts):
            return number
    own = [n for n, command in enumerate(session) if _is_own(command, situation)]
    return own[-1] if own else len(session) - 1


def _candidates(situation: Situation, session: Sequence[Command], block: Block | None) -> Iterator[Candidate]:
    last = _decisive(session, situation)
    before, command = list(session[:last]), session[last]
    crash = situation.symptom.failure is not None and bool(situation.symptom.failure.frames)
    inside = in_process(command, situation)
    for files in file_sets(needed_files([*before, command], situation, block), situation):
        setup = _HEAD + _RUN + _written(files) + "".join(_step(c) for c in before)
        scripts = [(setup + _checked(command, situation.symptom), Basis.REPORT)]
        if inside and situation.symptom.kind is SymptomKind.EXCEPTION:
            scripts.insert(0 if crash else 1, (setup + inside, Basis.NONE))
        for script, basis in scripts:
            yield _candidate(situation, tidied(script), basis, command, files)


def _candidate(
    situation: Situation, script: str, basis: Basis, command: Command, files: Mapping[str, str]
) -> Candidate:
    texts = telling_texts(command, situation.symptom) if basis is Basis.REPORT else []
    return Candidate(
        script=script,
        hypothesis=Hypothesis(
            claim=f"The command `{command.text.splitlines()[0][:100]}` shows the reported behaviour.",
            conditions="; ".join(f"{name} holds what the report says" for name in files),
            prediction=prediction(situation.symptom),
        ),
        proposer=Shell.name,
        basis=basis,
        actual=texts[0] if texts else "",
        expected="output without it" if texts else "",
    )


def tidied(script: str) -> str:
    """The script without the helper that it does not use."""
    return (
        script
        if "run(" in script.replace("def run(", "").replace("subprocess.run(", "")
        else script.replace(_RUN, "\n").replace("import subprocess\n", "")
    )


def _written(files: Mapping[str, str]) -> str:
    parts = []
    for name, content in files.items():
        if "/" in name:
            parts.append(f"os.makedirs({name.rpartition('/')[0]!r}, exist_ok=True)\n")
        parts.append(f"with open({name!r}, 'w', encoding='utf-8') as _file:\n    _file.write({quoted(content)})\n")
    return "".join(parts)


def _step(command: Command) -> str:
    """Python for a command of the set-up."""
    if command.program == "cat" and command.simple:
        return ""
    if command.program == "cd" and len(command.words) == 2 and command.simple:
        target = relative(command.words[1]).strip("/")
        return f"os.makedirs({target!r}, exist_ok=True)\nos.chdir({target!r})\n" if target not in {"", "~"} else ""
    if command.program == "export" or (not command.words and command.assignments):
        pairs = [w.partition("=") for w in command.words[1:] if "=" in w] or [
            (n, "=", v) for n, v in command.assignments
        ]
        return "".join(f"os.environ[{name!r}] = {value!r}\n" for name, _, value in pairs)
    return f"run({_portable(command)!r})\n"


def _portable(command: Command) -> str:
    """The command line without the reporter's own directories in front of programs and files."""
    text = re.sub(
        r"(?<!\S)(?:~|/(?:home|Users|opt|usr|srv|var|root)(?:/[\w.-]+)*|[A-Za-z]:(?:\\[\w. -]+)*)[/\\]([\w.-]+)",
        r"\1",
        command.text,
    )
    return re.sub(r"^set (\w+=)", r"export \1", text)


def _checked(command: Command, symptom: Symptom) -> str:
    """The decisive command with the check that its output does not have the reported text."""
    call = f"status, output = run({_portable(command)!r})\n"
    texts = [pieces for text in telling_texts(command, symptom) if (pieces := pieces_of(text))]
    if symptom.kind is SymptomKind.EXIT and symptom.exit_status is not None:
        return call + f"assert status != {symptom.exit_status}, f'the command ends with status {{status}}'\n"
    if not texts:
        check = f"!= {command.status}" if command.status else "== 0"
        return call + f"assert status {check}, f'the command ends with status {{status}}'\n"
    shown = ", ".join(repr(piece) for piece in texts[0])
    return (
        call
        + f"reported = [{shown}]\n"
        + "assert not all(piece in output for piece in reported), f'the output has {reported}'\n"
    )


def telling_texts(command: Command, symptom: Symptom) -> list[str]:
    """What the command's output has when the bug shows: of what the report says, that which its own output holds;
    else the lines of this output that complain, else its last line."""
    texts = reported_texts(symptom)
    if not command.output:
        return texts
    held = [text for text in texts if all(piece in command.output for piece in pieces_of(text.splitlines()[0]))]
    lines = [line.strip() for line in command.output.splitlines() if line.strip() and len(line) < 2000]
    complaints = [x for x in lines if re.search(r"\b[Ee]rror\b|\bERROR\b|\w+Error\b|Exception\b|\bfatal\b", x)]
    return held or complaints[-1:] or lines[-1:]


def in_process(command: Command, situation: Situation) -> str:
    """The command run in the script's own process, so that its exception ends the script; "" when that cannot be."""
    if not command.simple or not command.words:
        return ""
    variables = "".join(f"os.environ[{name!r}] = {value!r}\n" for name, value in command.assignments)
    words = [relative(w) if _FILE.match(w) else w for w in command.words[1:]]
    entry = situation.environment.scripts.get(command.program, "")
    if entry:
        module, _, function = entry.partition(":")
        attribute = function.partition(".")[0]
        if attribute == "run":  # the name of this script's own helper
            attribute, function = "run as _command", "_command" + function[3:]
        call = f"from {module} import {attribute}\n\ntry:\n    {function}()\nexcept SystemExit:\n    pass\n"
        return f"{variables}sys.argv = {[command.program, *words]!r}\n{call}"
    if is_interpreter(command) and words[:1] == ["-m"] and len(words) > 1:
        call = f"runpy.run_module({words[1]!r}, run_name='__main__', alter_sys=True)"
    elif is_interpreter(command) and words and words[0].endswith(".py"):
        call, words = f"runpy.run_path({words[0]!r}, run_name='__main__')", ["", *words]
    elif is_interpreter(command) and words[:1] == ["-c"] and len(words) > 1:
        return variables + words[1] + "\n"
    else:
        return ""
    return (
        f"{variables}import runpy\n\nsys.argv = {words[1:]!r}\nsys.path.insert(0, os.getcwd())\n"
        f"try:\n    {call}\nexcept SystemExit:\n    pass\n"
    )
