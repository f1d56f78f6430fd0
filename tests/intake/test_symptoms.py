"""Short reports of many shapes and the symptom each one claims. The subject is always `pack`, imported as `pack`."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from rebug.intake import find_symptom, parse_report
from rebug.model import SymptomKind

TRACEBACK = """\
```
Traceback (most recent call last):
  File "/srv/run.py", line 7, in <module>
    pack.load("a")
  File "/srv/.venv/lib/python3.11/site-packages/pack/core.py", line 31, in load
    return table[key]
KeyError: 'a'
```
"""
CODE = '```python\nimport pack\n\nprint(pack.load("a"))\n```\n'


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A report and what must be read out of it; None means that it does not matter."""

    text: str
    kind: str
    type: str | None = None
    message: str | None = None
    actual: tuple[str, ...] | None = None
    expected: tuple[str, ...] | None = None
    raises: str = ""
    good: tuple[str, ...] = ()
    warning: str = ""
    signal: str = ""
    exit: int | None = None
    line: int | None = None


CLAIMS = {
    # ---- exceptions
    "traceback": Claim(
        text=f"# load fails\n\n{CODE}\n{TRACEBACK}", kind="exception", type="KeyError", message="'a'", line=10
    ),
    "named in the title": Claim(text=f"# load() raises KeyError\n\n{CODE}", kind="exception", type="KeyError", line=1),
    "code span in the title": Claim(
        text="# `NoSuchTable` on load\n\nIt comes with every file.\n", kind="exception", type="NoSuchTable"
    ),
    "type and message in the title": Claim(
        text="# TypeError: unhashable type: 'list'\n\nSince today.\n",
        kind="exception",
        type="TypeError",
        message="unhashable type: 'list'",
    ),
    "last line only": Claim(
        text="# load is broken\n\nWhat I get:\n\n```\n...\npack.errors.LoadError: no table\n```\n",
        kind="exception",
        type="pack.errors.LoadError",
        message="no table",
    ),
    "raised in prose": Claim(
        text="# Odd\n\nCalling it twice raises `pack.Closed` here.\n", kind="exception", type="pack.Closed"
    ),
    "unfenced traceback": Claim(
        text="Loading fails\n\nTraceback (most recent call last):\n"
        '  File "/srv/pack/core.py", line 3, in load\n    go()\nOSError: no\n\nThanks!\n',
        kind="exception",
        type="OSError",
        message="no",
    ),
    "the one in the subject, not its consequence": Claim(
        text="# Loading fails\n\n```\nException ignored in: <function T.__del__ at 0x7f00>\n"
        'Traceback (most recent call last):\n  File "/v/pack/core.py", line 9, in __del__\n    self.x\n'
        "AttributeError: no x\nTraceback (most recent call last):\n"
        '  File "/v/app.py", line 1, in <module>\n    T(1)\n  File "/v/pack/core.py", line 4, in new\n    f(**kw)\n'
        "TypeError: unexpected keyword\n```\n",
        kind="exception",
        type="TypeError",
    ),
    "the expected one is not it": Claim(
        text=f"# Wrong error\n\nIt should raise ValueError, not KeyError.\n\n{CODE}\n{TRACEBACK}",
        kind="exception",
        type="KeyError",
        raises="ValueError",
    ),
    "contrast in the title": Claim(
        text=f"# Ends in a KeyError and not in `Invalid`\n\n{TRACEBACK}",
        kind="exception",
        type="KeyError",
        raises="Invalid",
    ),
    "interpreter session": Claim(
        text="# pop\n\n```pycon\n>>> import pack\n>>> pack.pop([])\nTraceback (most recent call last):\n"
        '  File "<stdin>", line 1, in <module>\nIndexError: pop from empty list\n```\n\nThose are empty sometimes.\n',
        kind="exception",
        type="IndexError",
        message="pop from empty list",
    ),
    # ---- races
    "once in a while": Claim(
        text=f"# Error in poller\n\nOnce in a while this happens:\n\n{TRACEBACK}", kind="race", type="KeyError"
    ),
    "from several threads": Claim(
        text=f"# load is not thread-safe\n\nCalled from several threads.\n\n{TRACEBACK}", kind="race", type="KeyError"
    ),
    # ---- hangs, slowness, leaks, crashes
    "never returns": Claim(text=f"# load() never returns\n\n{CODE}", kind="hang"),
    "stuck, with a timeout shown": Claim(
        text="# Upload gets stuck\n\n```\nTraceback (most recent call last):\n"
        '  File "/v/pack/c.py", line 3, in put\n    await x\nTimeoutError\n```\n',
        kind="hang",
        type="TimeoutError",
    ),
    "deadlock in the body": Claim(text="# close()\n\nThe second call deadlocks.\n", kind="hang"),
    "hang with a dump": Claim(
        text="# Threads block for good at exit\n\n```\nThread 0x00007f738e7646c0 (most recent call first):\n"
        '  File "/v/pack/queue.py", line 24 in put\n  File "/v/app.py", line 2 in main\n```\n',
        kind="hang",
        type="",
    ),
    "quadratic, looks like a hang": Claim(text="# lines() looks like it hangs: quadratic\n\nSee it.\n", kind="slow"),
    "cpu": Claim(text="# Main thread at 100 % CPU\n\nNothing in the log.\n", kind="slow"),
    "takes minutes": Claim(text="# load of a big file\n\nIt takes 5 minutes for 3 MB.\n", kind="slow"),
    "leak": Claim(
        text=f"# Memory leak in load\n\n{CODE}\nWith 1.4.0 the memory stays flat.\n\npack 1.5.0\n",
        kind="leak",
        good=("1.4.0",),
    ),
    "memory grows": Claim(text=f"# load in a loop\n\nMemory keeps growing.\n\n{CODE}", kind="leak"),
    "segfault": Claim(
        text=f"# load\n\n{CODE}\n```\nSegmentation fault (core dumped)\n```\n", kind="crash", signal="SIGSEGV"
    ),
    "kernel log": Claim(
        text=(
            "# Random crashes\n\n```\n"
            "[Sun Mar  3 12:11:22 2024] python3.11[89]: segfault at 7e ip 7f sp 7f error 4\n```\n"
        ),
        kind="crash",
        signal="SIGSEGV",
    ),
    "abort": Claim(text="# double free in pack.load\n\nIt ends with SIGABRT.\n", kind="crash", signal="SIGABRT"),
    # ---- warnings, logs, exit status
    "deprecation warning": Claim(
        text=(
            "# Importing pack warns\n\n```\n/v/pack/core.py:3: DeprecationWarning: old() is deprecated\n  old()\n```\n"
        ),
        kind="warning",
        warning="DeprecationWarning",
    ),
    "warning as an error": Claim(
        text='# Tests fail\n\n```\nTraceback (most recent call last):\n  File "/v/pack/core.py", line 3, in load\n'
        "    warn()\nUserWarning: careful\n```\n",
        kind="warning",
        type="UserWarning",
        warning="UserWarning",
    ),
    "logged twice": Claim(text="# Every message is logged twice\n\nSince the update.\n", kind="log"),
    "exit status": Claim(text="# pack check\n\nThe exit code is 0 although files are bad.\n", kind="exit", exit=0),
    "a command's error": Claim(
        text=(
            "# pack can't read it\n\n```sh\n$ pack read a.txt\nerror: cannot read a.txt: INTERNAL\n$ echo $?\n3\n```\n"
        ),
        kind="exit",
        exit=3,
    ),
    # ---- wrong output
    "expected and actual sections": Claim(
        text=f"# load\n\n{CODE}\n### Expected\n\n```\n[1, 2]\n```\n\n### Actual\n\n```\n[2, 1]\n```\n",
        kind="wrong_output",
        expected=("[1, 2]",),
        actual=("[2, 1]",),
    ),
    "bold headings": Claim(
        text=f"**What happened**\n\n{CODE}\n**Actual result:**\n`None`\n\n**Expected result:**\n`7`\n",
        kind="wrong_output",
        expected=("7",),
        actual=("None",),
    ),
    "shared lines fall away": Claim(
        text=f"# load\n\n{CODE}\nOutput:\n```\na\nb\nc\n```\nExpected output:\n```\na\nx\nc\n```\n",
        kind="wrong_output",
        expected=("x",),
        actual=("b",),
    ),
    "comment with both": Claim(
        text="# size\n\n```python\nimport pack\nprint(pack.size('x'))  # -> 3 (expected 4)\n```\n",
        kind="wrong_output",
        expected=("4",),
        actual=("3",),
    ),
    "comment that it prints": Claim(
        text="# size\n\n```python\nimport pack\nprint(pack.size('x'))  # prints 3, should be 4\n```\n",
        kind="wrong_output",
        expected=("4",),
        actual=("3",),
    ),
    "comment expected only": Claim(
        text="# size\n\n```python\nimport pack\nprint(pack.size('x'))  # expected: 4\n```\n",
        kind="wrong_output",
        expected=("4",),
    ),
    "session with its output": Claim(
        text="# size\n\n```\n>>> import pack\n>>> pack.size('x')\n3\n>>> pack.kind('x')\n'word'\n```\n",
        kind="wrong_output",
        actual=("3", "'word'"),
    ),
    "code then output": Claim(text=f"# load\n\n{CODE}\n```\n3\n```\n", kind="wrong_output", actual=("3",)),
    "instead of": Claim(
        text="# size\n\n`size('x')` returns `3` instead of `4`.\n", kind="wrong_output", expected=("4",), actual=("3",)
    ),
    "should but": Claim(
        text="# size\n\nIt should return `4` but returns `3`.\n", kind="wrong_output", expected=("4",), actual=("3",)
    ),
    "returns but should": Claim(
        text="# size\n\nIt returns `3` but should return `4`.\n", kind="wrong_output", expected=("4",), actual=("3",)
    ),
    "expected got": Claim(
        text="# size\n\nI expected `[4]`, but got `[3]`.\n", kind="wrong_output", expected=("[4]",), actual=("[3]",)
    ),
    "where it had": Claim(
        text="# bools\n\nThe JSON has `null` where it had `false`.\n",
        kind="wrong_output",
        expected=("false",),
        actual=("null",),
    ),
    "words are not exact": Claim(text="# headers\n\nThe result is empty.\n", kind="wrong_output", actual=("empty",)),
    "assertion of the reporter's test": Claim(
        text="# size\n\n```\ntest_a.py:5: in test_size\n    assert pack.size(1) == 2\nE   assert 1 == 2\n```\n",
        kind="wrong_output",
        type="AssertionError",
        expected=("2",),
        actual=("1",),
    ),
    "linter output": Claim(
        text=(
            "2.9.0 complains where 2.8.0 did not have anything to say:\n\n```console\n"
            "$ pack a.py\na.py:4:2: E2 no blank\n```\n"
        ),
        kind="wrong_output",
        actual=("a.py:4:2: E2 no blank",),
        good=("2.8.0",),
    ),
    # ---- versions
    "arrow in the title": Claim(
        text="# split() no longer cuts a block (0.5.3 -> 0.5.4)\n\nIt no longer cuts.\n",
        kind="wrong_output",
        good=("0.5.3",),
    ),
    "upgrading from to": Claim(
        text="# split\n\nAfter upgrading from 0.5.3 to 0.5.4 it no longer cuts.\n", kind="wrong_output", good=("0.5.3",)
    ),
    "going back": Claim(
        text="# split ignored since 3.1.0\n\nGoing back from `3.1.0` to `3.0.6` makes it work again.\n",
        kind="wrong_output",
        good=("3.0.6",),
    ),
    "does not in the other": Claim(
        text="# split ignored\n\nWith pack 3.15.3 that fails, with 3.15.1 it does not.\n",
        kind="wrong_output",
        good=("3.15.1",),
    ),
    "last working version": Claim(
        text="# split ignored\n\nThe last working version is 2.4.1, I use pack 2.5.0.\n",
        kind="wrong_output",
        good=("2.4.1",),
    ),
    "good version of another package": Claim(
        text="# split ignored\n\nIt works with other==1.0.0. I use pack==2.0.0.\n", kind="wrong_output", good=()
    ),
    "rejected by the older one": Claim(
        text="# check too lenient since 2.10.0\n\nWith 2.9.0 the same token is rejected with `BadIssuer`.\n",
        kind="wrong_output",
        raises="BadIssuer",
        good=("2.9.0",),
    ),
    "an expected exception of any name": Claim(
        text="# lets two in\n\nIt prints `2 of 1`. I'd expect `pack.WouldBlock`, as the place is taken.\n",
        kind="wrong_output",
        raises="pack.WouldBlock",
    ),
    # ---- little to go by
    "prose": Claim(text="# `.env` wins over the environment\n\nValues of the file are ignored.\n", kind="wrong_output"),
    "nothing": Claim(text="hello\n", kind="unknown"),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_the_symptom_that_a_report_claims(name: str) -> None:
    claim = CLAIMS[name]
    symptom = find_symptom(parse_report(claim.text), "pack", ["pack"])
    assert symptom.kind is SymptomKind(claim.kind)
    if claim.type is not None:
        assert symptom.failure is not None
        assert symptom.failure.type == claim.type
    if claim.message is not None:
        assert symptom.failure is not None
        assert symptom.failure.message == claim.message
    if claim.actual is not None:
        assert tuple(value.text for value in symptom.actual) == claim.actual
    if claim.expected is not None:
        assert tuple(value.text for value in symptom.expected) == claim.expected
    assert symptom.expected_exception == claim.raises
    assert symptom.good_versions == claim.good
    assert (symptom.warning, symptom.signal, symptom.exit_status) == (claim.warning, claim.signal, claim.exit)
    if claim.line is not None:
        assert symptom.line == claim.line
    assert len(symptom.missing) <= 3


def test_literals_are_exact_and_words_are_not() -> None:
    report = parse_report("# headers\n\nThe result is empty.\n\nIt returns `[]` instead of `[1]`.\n")
    symptom = find_symptom(report, "pack", ["pack"])
    assert {(value.text, value.exact) for value in symptom.actual} == {("empty", False), ("[]", True)}
    assert [(value.text, value.exact, value.line) for value in symptom.expected] == [("[1]", True, 5)]


def test_suspects_come_from_the_title_the_frames_and_the_prose() -> None:
    text = f"# `Table.load` fails\n\nI looked at `find_row()`.\n\n{CODE}\n{TRACEBACK}"
    symptom = find_symptom(parse_report(text), "pack", ["pack"])
    assert symptom.suspects[:3] == ("Table.load", "load", "find_row")
    assert "pack.load" in symptom.suspects


def test_a_warning_message_is_kept_with_its_category() -> None:
    claim = CLAIMS["deprecation warning"]
    symptom = find_symptom(parse_report(claim.text), "pack", ["pack"])
    assert [value.text for value in symptom.messages] == ["old() is deprecated"]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (f"# load\n\n{CODE.replace('print', 'open(')}", "version"),
        ("# load fails\n\n```python\nimport pack\npack.load(open('a.toml'))\n```\n", "What does a.toml contain?"),
        ("# load is wrong\n\nIt is just wrong.\n", "shortest program"),
        (f"# load raises KeyError\n\n{CODE}", "full traceback"),
    ],
)
def test_what_is_missing_is_asked_for(text: str, question: str) -> None:
    symptom = find_symptom(parse_report(text), "pack", ["pack"])
    assert any(question in asked for asked in symptom.missing)
