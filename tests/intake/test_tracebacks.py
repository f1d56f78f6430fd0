"""Every shape in which people paste a traceback."""

from __future__ import annotations

import textwrap
import traceback

import pytest

from rebug.intake import parse_tracebacks
from rebug.model import Failure

PLAIN = """\
Traceback (most recent call last):
  File "/srv/app/run.py", line 7, in <module>
    main()
  File "/srv/app/.venv/lib/python3.11/site-packages/pack/core.py", line 31, in load
    return table[key]
           ~~~~~^^^^^
KeyError: 'spam'
"""
PLACES = [("run.py", 7, "<module>"), ("core.py", 31, "load")]


def only(text: str) -> Failure:
    failures = parse_tracebacks(text)
    assert len(failures) == 1, failures
    return failures[0]


def places(failure: Failure) -> list[tuple[str, int | None, str]]:
    return [(frame.file.rpartition("/")[2], frame.line, frame.function) for frame in failure.frames]


def prefixed(prefix: str) -> str:
    return "\n".join(prefix + line for line in PLAIN.splitlines())


def run(code: str) -> str:
    """What the interpreter prints when it runs `code`, which raises."""
    compiled = compile(textwrap.dedent(code), "<string>", "exec")
    with pytest.raises((RuntimeError, ExceptionGroup)) as caught:
        exec(compiled, {})
    assert caught.tb.tb_next is not None
    return "".join(traceback.format_exception(caught.value.with_traceback(caught.tb.tb_next)))


def test_a_plain_traceback_gives_type_message_frames_and_code() -> None:
    failure = only(PLAIN)
    assert (failure.type, failure.message, failure.complete, failure.line) == ("KeyError", "'spam'", True, 1)
    assert places(failure) == PLACES
    assert [frame.code for frame in failure.frames] == ["main()", "return table[key]"]
    assert failure.where == "printed"


SURROUNDINGS = {
    "indented": textwrap.indent(PLAIN, "    "),
    "tabbed": textwrap.indent(PLAIN, "\t"),
    "quoted": prefixed("> "),
    "quoted twice": prefixed("> > "),
    "compose": prefixed("web_1  | "),
    "commented": prefixed("# "),
    "journal": prefixed("Jan 02 10:11:12 host app[4242]: "),
    "after a log line": "2024-05-06 07:08:09 ERROR pack: it broke\n" + PLAIN,
    "log prefix on the header": "2024-05-06 07:08:09 ERROR pack " + PLAIN,
    "crlf": PLAIN.replace("\n", "\r\n"),
    "ansi": "\x1b[31m" + PLAIN.replace("KeyError", "\x1b[1;31mKeyError\x1b[0m"),
    "in prose": f"before\n\n{PLAIN}\nafter\n",
    "header at the margin": "Traceback (most recent call last):\n" + textwrap.indent(PLAIN.split("\n", 1)[1], "    "),
    "lost indentation": "\n".join(line.strip() for line in PLAIN.splitlines() if "^^^" not in line),
}


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_what_stands_around_the_lines_does_not_matter(name: str) -> None:
    failure = only(SURROUNDINGS[name])
    assert (failure.type, failure.message) == ("KeyError", "'spam'")
    assert places(failure) == PLACES
    assert failure.complete


def test_a_traceback_in_a_json_log_is_unescaped() -> None:
    escaped = PLAIN.strip().replace('"', '\\"').replace("\n", "\\n")
    failure = only('first\n{"level": "error", "exc_info": "' + escaped + '", "n": 1}\n')
    assert (failure.type, failure.message, failure.line) == ("KeyError", "'spam'", 2)
    assert places(failure) == PLACES


def test_windows_paths_get_forward_slashes() -> None:
    failure = only(
        "Traceback (most recent call last):\n"
        '  File "C:\\Users\\jo\\app\\x.py", line 3, in go\n    run()\nOSError: [WinError 5] x\n'
    )
    assert failure.frames[0].file == "C:/Users/jo/app/x.py"
    assert failure.message == "[WinError 5] x"


def test_chained_exceptions_are_one_failure_with_causes() -> None:
    failure = only(
        run(
            """
            try:
                try:
                    {}["a"]
                except KeyError as error:
                    raise ValueError("bad") from error
            except ValueError:
                raise RuntimeError("worse")
            """
        )
    )
    assert (failure.type, failure.message) == ("RuntimeError", "worse")
    assert failure.cause is not None
    assert (failure.cause.type, failure.cause.message) == ("ValueError", "bad")
    assert failure.cause.cause is not None
    assert failure.cause.cause.type == "KeyError"
    assert failure.cause.cause.cause is None


@pytest.mark.parametrize("quote", ["", "> ", "    "])
def test_exception_groups_keep_their_members_nested_and_chained(quote: str) -> None:
    text = run(
        """
        def inner():
            raise ExceptionGroup("inner", [KeyError("x"), ValueError("a\\nb")])
        try:
            inner()
        except ExceptionGroup as group:
            kept = group
        try:
            try:
                1 / 0
            except ZeroDivisionError as error:
                raise TypeError("t") from error
        except TypeError as error:
            wrapped = error
        raise ExceptionGroup("outer", [wrapped, kept, OSError("o")])
        """
    )
    failure = only("\n".join(quote + line for line in text.splitlines()))
    assert failure.message == "outer (3 sub-exceptions)"
    assert [member.type for member in failure.members] == ["TypeError", "ExceptionGroup", "OSError"]
    first, second, third = failure.members
    assert first.cause is not None
    assert first.cause.type == "ZeroDivisionError"
    assert [(m.type, m.message, m.notes) for m in second.members] == [
        ("KeyError", "'x'", ()),
        ("ValueError", "a", ("b",)),  # the second line of a message cannot be told from a note
    ]
    assert places(second) == [("<string>", 5, "<module>"), ("<string>", 3, "inner")]
    assert third.message == "o"


def test_a_line_that_the_interpreter_sets_at_the_margin_of_a_group() -> None:
    failure = only(
        "  + Exception Group Traceback (most recent call last):\n"
        '  |   File "a.py", line 1, in <module>\n  | ExceptionGroup: two (2 sub-exceptions)\n'
        "  +-+---------------- 1 ----------------\n    | ValueError: a\nb\n"
        "    +---------------- 2 ----------------\n    | OSError: o\n    +------------------------------------\n"
    )
    assert [(m.type, m.message) for m in failure.members] == [("ValueError", "a\nb"), ("OSError", "o")]


def test_a_syntax_error_has_a_place_without_a_function() -> None:
    failure = only('  File "conf.py", line 3\n    x = = 1\n        ^\nSyntaxError: invalid syntax\n')
    assert (failure.type, failure.message, failure.complete) == ("SyntaxError", "invalid syntax", True)
    assert places(failure) == [("conf.py", 3, "")]


def test_cut_at_the_top() -> None:
    failure = only(PLAIN.split("\n", 1)[1])
    assert failure.type == "KeyError"
    assert places(failure) == PLACES
    assert not failure.complete


def test_cut_at_the_bottom() -> None:
    failure = only(PLAIN.rsplit("\n", 2)[0] + "\n\nSome prose follows here.\n")
    assert (failure.type, failure.complete) == ("", False)
    assert places(failure) == PLACES


@pytest.mark.parametrize("mark", ["[...]", "  ...", "  [Previous line repeated 970 more times]"])
def test_omissions_in_the_middle_are_passed_over(mark: str) -> None:
    lines = PLAIN.splitlines()
    failure = only("\n".join([*lines[:3], mark, *lines[3:]]))
    assert places(failure) == PLACES
    assert failure.complete


def test_only_the_last_line() -> None:
    failure = only("It says\n\npack.errors.LoadError: no such table: spam\n\nand stops.\n")
    assert (failure.type, failure.message) == ("pack.errors.LoadError", "no such table: spam")
    assert not failure.complete


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Error: the build failed\n",
        "Note: KeyError is common here.\n",
        "ReferenceError: x is not defined\n    at f (a.js:1:2)\n",
    ],
)
def test_what_is_no_python_failure(text: str) -> None:
    assert parse_tracebacks(text) == ()


def test_a_message_of_several_lines_and_what_follows_it() -> None:
    head = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n'
    fields = only(head + "pack.ValidationError: 1 validation error for Point\nx\n  Field required\n")
    assert fields.message == "1 validation error for Point\nx\n  Field required"
    noted = only(head + "OSError: no\nmake: *** Error 1\n")
    assert (noted.message, noted.notes) == ("no", ("make: *** Error 1",))
    followed = parse_tracebacks(head + "OSError: no\n2024-01-02 03:04:05 INFO next\n$ ls\n")
    assert (followed[0].message, followed[0].notes) == ("no", ())


@pytest.mark.parametrize(
    ("before", "where"),
    [
        ("Exception in thread Thread-1 (work):", "thread"),
        ("Exception ignored in: <function Pool.__del__ at 0x7f0>", "unraisable"),
        ("Task exception was never retrieved\nfuture: <Task finished name='Task-2'>", "task"),
        ("nothing of note", "printed"),
    ],
)
def test_the_line_before_says_where_it_was_raised(before: str, where: str) -> None:
    assert only(f"{before}\n{PLAIN}").where == where


def test_dumps_are_turned_round() -> None:
    failures = parse_tracebacks(
        "Fatal Python error: Segmentation fault\n\n"
        "Thread 0x00007f738e7646c0 (most recent call first):\n"
        '  File "/x/pack/a.py", line 3 in wait\n  File "/x/run.py", line 9 in main\n\n'
        "Current thread 0x00007f738e764700 (most recent call first):\n"
        '  File "/x/pack/b.py", line 5 in put\n'
    )
    functions = [(failure.type, [frame.function for frame in failure.frames]) for failure in failures]
    assert functions == [("", ["main", "wait"]), ("", ["put"])]


def test_ipython_old_and_new() -> None:
    head = f"-----\nKeyError{' ' * 34}Traceback (most recent call last)\n"
    new = only(
        f"{head}Cell In[3], line 1\n----> 1 load('spam')\n\n"
        "File ~/lib/pack/core.py:31, in Table.load(self, key)\n     29     def load(self, key):\n"
        "---> 31         return self[key]\n\nKeyError: 'spam'\n"
    )
    assert (new.type, new.message) == ("KeyError", "'spam'")
    assert [(frame.line, frame.function) for frame in new.frames] == [(1, "<module>"), (31, "Table.load")]
    assert new.frames[1].code == "return self[key]"
    old = only(
        f"{head}<ipython-input-3-ab12> in <module>\n----> 1 load('spam')\n\n"
        "~/lib/pack/core.py in load(key)\n     29     def load(key):\n"
        "---> 31         return d[key]\n\nKeyError: 'spam'\n"
    )
    assert [(frame.line, frame.function) for frame in old.frames] == [(1, "<module>"), (31, "load")]


def test_pytest_long_and_short() -> None:
    long = parse_tracebacks(
        "=================================== FAILURES ===================================\n"
        "__________________________________ test_load ___________________________________\n\n"
        "    def test_load():\n>       load('spam')\n\ntest_core.py:5: \n_ _ _ _ _ _ _ _\n\n"
        "    def load(key):\n>       return table[key]\nE       KeyError: 'spam'\n\nsrc/pack/core.py:31: KeyError\n"
    )[0]
    assert (long.type, long.message) == ("KeyError", "'spam'")
    assert places(long) == [("test_core.py", 5, "test_load"), ("core.py", 31, "load")]
    assert long.frames[1].code == "return table[key]"
    short = only(
        "test_core.py:5: in test_load\n    assert load(1) == 2\nE   assert 1 == 2\nE    +  where 1 = load(1)\n"
    )
    assert (short.type, short.message) == ("AssertionError", "assert 1 == 2")
    assert places(short) == [("test_core.py", 5, "test_load")]


def test_rich_boxes() -> None:
    failure = only(
        "╭──────────── Traceback (most recent call last) ────────────╮\n"
        "│ /srv/run.py:7 in <module>                                 │\n"
        "│   6                                                       │\n"
        "│ ❱ 7 main()                                                │\n"
        "╰───────────────────────────────────────────────────────────╯\nKeyError: 'spam'\n"
    )
    assert (failure.type, failure.message) == ("KeyError", "'spam'")
    assert places(failure) == [("run.py", 7, "<module>")]
    assert failure.frames[0].code == "main()"


def test_several_tracebacks_stay_apart() -> None:
    failures = parse_tracebacks(f"{PLAIN}\nand then\n\n{PLAIN.replace('KeyError', 'struct.error')}")
    assert [failure.type for failure in failures] == ["KeyError", "struct.error"]
    assert all(failure.cause is None for failure in failures)


def test_a_dump_of_py_spy_is_read_thread_by_thread() -> None:
    text = (
        "Process 1234: python app.py\nPython v3.11.4 (/usr/bin/python3.11)\n\n"
        'Thread 1234 (idle): "MainThread"\n'
        "    wait (threading.py:327)\n"
        "    close (wire/line.py:40)\n"
        "    <module> (app.py:3)\n"
        'Thread 0x7F12 (active+gil): "Thread-1 (take)"\n'
        "    take (wire/line.py:23)\n"
    )
    main, other = parse_tracebacks(text)
    assert [(f.file, f.line, f.function) for f in main.frames] == [
        ("app.py", 3, "<module>"),
        ("wire/line.py", 40, "close"),
        ("threading.py", 327, "wait"),
    ]
    assert (main.type, main.line, [f.function for f in other.frames]) == ("", 4, ["take"])
    assert parse_tracebacks("Thread 12 (idle): nothing of the kind\n") == ()
