from __future__ import annotations

from made import Made

from rebug.model import Basis, Block, BlockKind
from rebug.propose import Shell
from rebug.propose.commands import commands


def _commands(text: str, language: str = "console") -> list[tuple[str, str]]:
    block = Block(text=text, kind=BlockKind.SHELL, line=1, language=language)
    return [(c.text, c.output) for c in commands(block, ["boxes"])]


def test_commands_are_told_from_their_output() -> None:
    text = "$ cat > a.txt <<EOF\none\nEOF\n(venv) me@host:~/x$ boxes a.txt\nerror: no\n$ echo $?\n3\n"
    assert _commands(text) == [("cat > a.txt <<EOF\none\nEOF", ""), ("boxes a.txt", "error: no")]
    assert _commands("C:\\Users\\jo>boxes list\nout") == [("boxes list", "out")]
    assert _commands("% env A=1 boxes x \\\n   --y\n") == [("env A=1 boxes x  --y", "")]
    assert _commands("# a comment\ncd x\nboxes run\n", "bash") == [("cd x", ""), ("boxes run", "")]


def test_words_and_assignments() -> None:
    found = commands(Block(text="$ A=1 env B=2 boxes 'x y'", kind=BlockKind.SHELL, line=1), [])[0]
    assert (found.assignments, found.words) == ((("A", "1"),), ("env", "B=2", "boxes", "x y"))
    assert found.simple


REPORT = """# boxes ends with an error

```text
why?
```

```console
$ pip install boxes
$ mkdir work && cp note.txt work/ || true
$ boxes note.txt
error: cannot pack note.txt: question mark
$ echo $?
3
```

It should be packed.
"""


def test_a_session_fails_iff_the_reported_text_is_printed(made: Made) -> None:
    report = REPORT.replace("```text\nwhy?", "`note.txt`:\n\n```text\nwhy?")
    found = [c for c in Shell().propose(made.situation(report)) if c.basis is Basis.REPORT]
    script = found[0].script.replace("run('boxes note.txt')", "run(sys.executable + ' -m boxes note.txt')")
    assert "pip" not in script
    assert "why?" in script
    from dataclasses import replace

    assert made.exits(replace(found[0], script=script)) == (1, 0)


def test_a_missing_command_is_no_evidence(made: Made) -> None:
    found = next(c for c in Shell().propose(made.situation(REPORT)) if c.basis is Basis.REPORT)
    assert made.exits(found) == (125, 125)


def test_a_crashing_command_is_run_in_the_same_process(made: Made) -> None:
    trace = (
        'Traceback (most recent call last):\n  File "/usr/bin/boxes", line 8, in <module>\n    main()\n'
        '  File "/x/boxes/__init__.py", line 53, in main\n    text = open(sys.argv[1]).read()\n'
        "FileNotFoundError: [Errno 2] No such file or directory: 'absent'\n"
    )
    report = f"# crash\n\n```\n$ export A=b\n$ boxes absent\n{trace}```\n"
    found = list(Shell().propose(made.situation(report)))
    assert found[0].basis is Basis.NONE
    assert "sys.argv = ['boxes', 'absent']" in found[0].script
    assert "os.environ['A'] = 'b'" in found[0].script
    assert made.exits(found[0]) == (1, 1)


def test_words_alone_give_nothing(made: Made) -> None:
    assert list(Shell().propose(made.situation("# It is slow\n\nWhen I work with it, it is slow.\n"))) == []
