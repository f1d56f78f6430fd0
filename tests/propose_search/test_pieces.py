"""The pure parts: lines of tracebacks, literals, templates, values, mutation of values."""

from __future__ import annotations

import random
import re

import pytest

from rebug.intake import find_symptom, parse_report
from rebug.ports import Parameter
from rebug.propose import probe_values
from rebug.propose.frames import closed, free_of_self, is_stdlib, statement
from rebug.propose.literals import Literals, literals, message_pattern
from rebug.propose.prune import pruned
from rebug.propose.sequences import unrolled
from rebug.propose.synthesis import kind_by_name, values
from rebug.propose.templates import filled, template_of


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('return doc.get("hooks")', 'doc.get("hooks")'),
        ("with Lock(path) as lock:", "with Lock(path) as lock:\n    pass"),
        ("with gzip.GzipFile(", "with gzip.GzipFile():\n    pass"),
        ("if not store.login():", "not store.login()"),
        ("x = client.fetch(url, timeout=3)", "x = client.fetch(url, timeout=3)"),
        ("yield load(name)", "load(name)"),
        ("await session.put(URL, data=b'')", "await session.put(URL, data=b'')"),
        ("value = convert(", "value = convert()"),
        ("raise KeyAlreadyPresent(key)", ""),
        ("def build(self):", ""),
        ("42", ""),
        ("", ""),
    ],
)
def test_lines_of_a_traceback_become_statements(line: str, expected: str) -> None:
    assert statement(line) == expected


def test_open_brackets_are_closed_in_order() -> None:
    assert closed("f([1, {2: 'a") == "f([1, {2: 'a'}])"
    assert closed("f(1,") == "f(1)"
    assert closed("f(1)") == "f(1)"


def test_state_of_an_unknown_object_becomes_plain_names() -> None:
    assert free_of_self("open(os.path.join(self.path, 'a'))") == "open(os.path.join(path, 'a'))"
    assert free_of_self("f(myself.path)") == "f(myself.path)"


def test_frames_of_the_interpreter_are_told_from_others() -> None:
    assert is_stdlib("/usr/lib/python3.11/gzip.py")
    assert is_stdlib("<frozen runpy>")
    assert is_stdlib("C:\\Python312\\Lib\\contextlib.py")
    assert not is_stdlib("/usr/lib/python3.11/site-packages/a/b.py")
    assert not is_stdlib("C:\\Python312\\Lib\\site-packages\\a\\b.py")
    assert not is_stdlib("/srv/app.py")


def test_messages_of_the_same_kind_match_and_show_what_differs() -> None:
    pattern = message_pattern('Key "Stop" already exists.')
    found = re.search(pattern, 'Key "a.b" already exists.')
    assert found is not None
    assert found.groups() == ("a.b",)
    assert re.search(pattern, "Key missing") is None
    assert re.search(message_pattern("expected 3, got -1.5"), "expected 10, got 0") is not None


def test_a_report_yields_its_literals_in_order() -> None:
    text = """# `load` fails for "green"

The file `settings.toml` has `[a.b]`, then `load("x", 7)` breaks. With 12 items too. Seen in run.py.

```toml
[a.b]
c = 1
```
"""
    report = parse_report(text)
    known = literals(report, find_symptom(report, "pack", ["pack"]))
    assert "green" in known.quoted
    assert known.calls == ('load("x", 7)',)
    assert "12" in known.numbers
    assert known.files[0] == "settings.toml"
    assert "run.py" not in known.files
    assert [text.strip() for text in known.data] == ["[a.b]\nc = 1"]


def test_templates_keep_everything_but_the_literals() -> None:
    script = 'import m\n\nx = m.load("é", [1, 2], mode="fast")  # note\nprint(m.open("w"))\n'
    template = template_of(script)
    assert template is not None
    assert template.values == ('"é"', "[1, 2]")
    assert template.text == 'import m\n\nx = m.load(DATA_0, DATA_1, mode="fast")  # note\nprint(m.open("w"))\n'
    assert filled(template.text, template.values) == script
    assert template_of("import m\nm.run()\n") is None
    assert template_of("no program (") is None


def test_files_that_nobody_wrote_are_written_by_the_program() -> None:
    template = template_of('from pathlib import Path\nprint(Path("conf/a.toml").read_text())\n')
    assert template is not None
    assert template.files == ("conf/a.toml",)
    script = filled(template.text, [repr("a = 1\nb = 2\n" * 20)])
    assert "document = (" in script
    assert "os.chdir(folder)" in script
    assert "atexit.register(shutil.rmtree, folder" in script


def test_values_that_do_not_fit_give_no_program() -> None:
    assert filled("f(DATA_0)\n", ["1)) ("]) == ""


@pytest.mark.parametrize(
    ("parameter", "first"),
    [
        (Parameter(name="count", annotation="int"), "1"),
        (Parameter(name="x", annotation="Optional[bytes]"), "b'a'"),
        (Parameter(name="rows", annotation="list[dict[str, int]]"), "[{'a': 1}]"),
        (Parameter(name="mode", annotation='Literal["r", "w"]'), "'r'"),
        (Parameter(name="callback"), "lambda *args, **kwargs: args[0] if args else None"),
        (Parameter(name="flag", default="False"), "True"),
        (Parameter(name="whatever"), "'a'"),
        (Parameter(name="broken", annotation="(((" * 50), "'a'"),
    ],
)
def test_values_follow_annotation_default_and_name(parameter: Parameter, first: str) -> None:
    assert values(parameter, Literals())[0].expression == first


def test_the_reports_words_come_before_made_up_ones() -> None:
    known = Literals(quoted=("Stop",), numbers=("7",))
    assert values(Parameter(name="key", annotation="str"), known)[0].expression == "'Stop'"
    assert values(Parameter(name="n"), known)[0].expression == "7"


def test_names_tell_what_they_take() -> None:
    assert [kind_by_name(n) for n in ("lock_file", "base_url", "is_open", "on_error", "start_date", "thing")] == [
        "file", "url", "bool", "function", "datetime", "text",
    ]  # fmt: skip


def test_loops_over_steps_are_written_out() -> None:
    chain = "    if step == 0:\n        it.a(1)\n    elif step == 1:\n        it.b = 2\n"
    script = f"it = T()\nfor step in [1, 0, 1]:\n{chain}str(it)\n"
    assert unrolled(script) == "it = T()\nit.b = 2\nit.a(1)\nit.b = 2\nstr(it)\n"
    assert unrolled("for step in steps:\n    f(step)\n") == "for step in steps:\n    f(step)\n"


def test_what_a_program_does_not_use_is_left_out() -> None:
    script = """from __future__ import annotations
import os
from a import (
    b,
    c,
)
WORDS = ["x"]
SIZE = len(WORDS)
try:
    from enum import Enum
except ImportError:
    Enum = None
def helper():
    return os.getcwd()
class Box:
    pass
it = Box()
it.size = 3
print(b)
"""
    assert pruned(script).splitlines() == [
        "from __future__ import annotations",
        "from a import b",
        'WORDS = ["x"]',
        "SIZE = len(WORDS)",
        "class Box:",
        "    pass",
        "it = Box()",
        "it.size = 3",
        "print(b)",
    ]
    assert pruned("no program (") == "no program ("


PLAN = {"words": ["Stop"], "lines": ["[a]"], "numbers": [7], "constants": [None], "typed": False, "weights": [3.0, 1.0]}


def test_mutation_is_seeded_and_keeps_the_number_of_values() -> None:
    start = ("[a]\nb = 1\n", {"k": [1, "x", None], "l": 2.5})
    runs = []
    for _ in range(2):
        mutator = probe_values.Mutator(PLAN, random.Random(3))
        runs.append([mutator.change(start, [start]) for _ in range(300)])
    assert repr(runs[0]) == repr(runs[1])
    assert all(len(values) == 2 for values in runs[0])
    assert len({repr(values) for values in runs[0]}) > 100
    assert start == ("[a]\nb = 1\n", {"k": [1, "x", None], "l": 2.5})


def test_mutated_values_can_be_written_down_and_read_again() -> None:
    mutator = probe_values.Mutator(PLAN, random.Random(5))
    value: tuple[object, ...] = ("text", b"\xff", 3, 0.5, [1, {"a": (2, None)}], True)
    plan = {**PLAN, "weights": [1.0] * 6}
    mutator = probe_values.Mutator(plan, random.Random(5))
    for _ in range(300):
        value = mutator.change(value, [value])
        text = probe_values.source(value)
        assert repr(eval(text, {"float": float})) == repr(value)


def test_reductions_are_smaller() -> None:
    texts = list(probe_values.reduced("a\nb\nc\n"))
    assert "c\n" in texts
    assert all(len(text) < 6 for text in texts)
    assert {"a": 1} in list(probe_values.reduced({"a": 1, "b": 2}))
    assert list(probe_values.reduced(3)) == []
    assert probe_values.swap({"a": ["a b", 1]}, "a", "c") == {"c": ["c b", 1]}
