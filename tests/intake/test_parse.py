"""Blocks, titles, sections, versions and systems of a report, and text that is hostile."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebug.intake import find_symptom, parse_report, parse_tracebacks
from rebug.model import BlockKind

PYTHON = "import pack\n\nprint(pack.load())"
TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    x\nOSError: no'

BLOCKS = {
    "fenced": (f"# t\n\n```python\n{PYTHON}\n```\n", [("python", 4)]),
    "no label": (f"# t\n\n```\n{PYTHON}\n```\n", [("python", 4)]),
    "wrong label": (f"# t\n\n```bash\n{PYTHON}\n```\n", [("python", 4)]),
    "never closed": (f"# t\n\n```\n{PYTHON}\n", [("python", 4)]),
    "tildes": (f"# t\n\n~~~\n{PYTHON}\n~~~\n", [("python", 4)]),
    "indented": ("# t\n\nRun:\n\n    import pack\n    pack.load()\n\nthen\n", [("python", 5)]),
    "in a list": ("# t\n\n1. Run\n   ```python\n   import pack\n   pack.load()\n   ```\n", [("python", 5)]),
    "in a quotation": ("# t\n\n> ```python\n> import pack\n> pack.load()\n> ```\n", [("python", 4)]),
    "jira": (f"t t\n\n{{code:python}}\n{PYTHON}\n{{code}}\n", [("python", 4)]),
    "pre": (f"# t\n\n<pre>\n{PYTHON}\n</pre>\n", [("python", 4)]),
    "unfenced code": (f"# t\n\nRun this:\n\n{PYTHON}\n\nIt fails.\n", [("python", 5)]),
    "unfenced session": ("# t\n\nSee\n\n>>> import pack\n>>> pack.load()\n3\n\nOdd.\n", [("repl", 5)]),
    "ipython": ("# t\n\n```\nIn [1]: 1 + 1\nOut[1]: 2\n```\n", [("repl", 4)]),
    "shell": ("# t\n\n```\n$ pip install pack\n$ pack a\n3\n```\n", [("shell", 4)]),
    "percent": ("# t\n\n```\n% pack new a\nmade a\n```\n", [("shell", 4)]),
    "cmd": ("# t\n\n```\nC:\\Users\\jo>pack list\nnothing\n```\n", [("shell", 4)]),
    "root": ("# t\n\n```\n# pip install pack\nCollecting pack\n```\n", [("shell", 4)]),
    "commands without a prompt": ("# t\n\n```\npip install pack\npython -m pack a\n```\n", [("shell", 4)]),
    "traceback": (f"# t\n\n```\n{TRACEBACK}\n```\n", [("traceback", 4)]),
    "code and traceback": (f"# t\n\n```python\n{PYTHON}\n\n{TRACEBACK}\n```\n", [("python", 4), ("traceback", 8)]),
    "output and traceback": (f"# t\n\nI get\n```\n1 K\n{TRACEBACK}\n```\n", [("output", 5), ("traceback", 6)]),
    "code and output": (f"# t\n\n```python\n{PYTHON}\n\n# Output:\n3 K\n4 K\n```\n", [("python", 4), ("output", 9)]),
    "pytest": ("# t\n\n```\n=== FAILURES ===\n\n>   f()\nE   KeyError: 1\n\na.py:3: KeyError\n```\n", [("test", 4)]),
    "log": ("# t\n\n```\n2024-01-02 03:04:05 INFO a\n2024-01-02 03:04:06 INFO b\n```\n", [("log", 4)]),
    "toml": ("# t\n\n```toml\n[tool.pack]\nsize = 3\n```\n", [("config", 4)]),
    "ini without label": ("# t\n\n```\n[pack]\nsize = 3\nname = a b\n```\n", [("config", 4)]),
    "env": ("# t\n\n```\nPACK_SIZE=3\nPACK_NAME=a b\n```\n", [("config", 4)]),
    "json": ('# t\n\n```\n{"a": [1,\n 2]}\n```\n', [("data", 4)]),
    "html": ("# t\n\n```\n<p>a</p>\n<p>b</p>\n```\n", [("data", 4)]),
    "sql": ("# t\n\n```\nSELECT a FROM b WHERE c = 3;\n```\n", [("data", 4)]),
    "output after code": (f"# t\n\n```python\n{PYTHON}\n```\n```\nfoo -> 3\n```\n", [("python", 4), ("output", 9)]),
    "inline": ("# t\n\nTry `pack.load('a', 3)` once.\n", [("python", 3)]),
    "inline, not beside code": (f"# t\n\nTry `f(1)`.\n\n```python\n{PYTHON}\n```\n", [("python", 6)]),
    "prose that is indented": ("# t\n\nSo:\n\n    This is only some indented prose of mine.\n", []),
    "template comment": (f"# t\n\n<!-- put\n```python\n{PYTHON}\n```\nhere -->\n\nNo code.\n", []),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_are_found_and_judged_by_their_content(name: str) -> None:
    text, expected = BLOCKS[name]
    assert [(str(block.kind), block.line) for block in parse_report(text).blocks] == expected


def test_block_text_is_verbatim_without_its_quoting() -> None:
    report = parse_report("# t\n\n> ```python\n> if 1:\n>     import pack\n> ```\n")
    assert report.blocks[0].text == "if 1:\n    import pack"
    assert report.blocks[0].language == "python"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("config.toml:\n\n```toml\n[a]\nb = 1\n```\n", "config.toml"),
        ("Save this as `app.py`:\n\n```python\nimport pack\n```\n", "app.py"),
        ("Here:\n\n```python\n# src/app.py\nimport pack\n```\n", "src/app.py"),
        ('Here:\n\n```python title="app.py"\nimport pack\n```\n', "app.py"),
        ("I run it from app.py, that is all.\n\n```\n$ python app.py\n3\n```\n", ""),
        ("See also config.toml. Then:\n\n```python\nimport pack\n```\n", ""),
    ],
)
def test_file_names_of_blocks(text: str, name: str) -> None:
    assert parse_report(f"# t\n\n{text}").blocks[0].filename == name


def test_lead_and_section() -> None:
    block = parse_report("# t\n\n## How\n\nDo this. What I get is:\n\n```\nfoo bar\n```\n").blocks[0]
    assert (block.lead, block.section, block.kind) == ("What I get is:", "How", BlockKind.OUTPUT)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# `load` fails\n\nx\n", "`load` fails"),
        ("load fails\n==========\n\nx\n", "load fails"),
        ("Title: load fails\n\nx\n", "load fails"),
        ("---\ntitle: load fails\ndate: 2024-01-02\n---\n\nx\n", "load fails"),
        ("load fails here\n\nIt does.\n", "load fails here"),
        ("### Describe the bug\n\nThe load fails. It does.\n", "The load fails."),
        ("```\ncode\n```\n", ""),
    ],
)
def test_titles(text: str, title: str) -> None:
    assert parse_report(text).title == title


def test_body_line_and_sections_count_in_the_report() -> None:
    report = parse_report("\n# t\n\nfirst\n\n## Expected\n\nthree\n")
    assert report.body_line == 3
    assert report.sections == (("", "first"), ("Expected", "three"))


@pytest.mark.parametrize(
    ("text", "python", "system"),
    [
        ("Python 3.11.4 on Ubuntu 22.04", "3.11.4", "Ubuntu 22.04"),
        ("- Python: 3.9\n- OS: macOS 13.1", "3.9", "macOS 13.1"),
        ("Same with Python 3.10, 3.11 and 3.12.", "3.10", ""),
        ("| Python version | 3.12.1 |\n| OS | Windows 10 |", "3.12.1", "Windows 10"),
        ("Python (CPython) 3.8.2", "3.8.2", ""),
        ('```\n  File "C:\\Users\\jo\\Python312\\Lib\\a.py", line 1, in f\n```', "3.12", "Windows"),
        ("FreeBSD 14.1, Python 3.11", "3.11", "FreeBSD 14.1"),
        ("nothing said", "", ""),
    ],
)
def test_python_and_system(text: str, python: str, system: str) -> None:
    report = parse_report(f"# t\n\n{text}\n")
    assert (report.python, report.system) == (python, system)


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("pack==1.2.3", [("pack", "1.2.3", "used")]),
        ("pack 1.2.3, Python 3.11", [("pack", "1.2.3", "used")]),
        ("**Version:** my_pack 1.2.3", [("my-pack", "1.2.3", "used")]),
        ("```\npack         1.2.3\nother-pack   7.4\n```", [("pack", "1.2.3", "used"), ("other-pack", "7.4", "used")]),
        ("| pack | 1.2.3 |", [("pack", "1.2.3", "used")]),
        ("### Pack version\n\n4.0.0", [("pack", "4.0.0", "used")]),
        ("It broke in pack 2.0.1.", [("pack", "2.0.1", "bad")]),
        ("Fixed in 2.0.2.", [("", "2.0.2", "fixed")]),
        ("pack 2.0.1 (fine in 1.9.0)", [("", "1.9.0", "good"), ("pack", "2.0.1", "used")]),
        ("It waits for 0.25 s on 127.0.0.1 with `a = 0.3`.", []),
        ("```\n>>> pack.__version__\n'0.2.8'\n```", [("pack", "0.2.8", "used")]),
    ],
)
def test_versions(text: str, versions: list[tuple[str, str, str]]) -> None:
    stated = parse_report(f"# t\n\n{text}\n").versions
    assert sorted((v.name, v.version, v.role) for v in stated) == sorted(versions)


# ------------------------------------------------------------------------------------------------------- hostile text

HOSTILE = {
    "spaces": (" " * 3999 + "x\n") * 20,
    "one line": "a" * 100_000,
    "backticks": "` " * 40_000,
    "brackets": "[(" * 40_000,
    "versions": "1.2.3." * 15_000,
    "fences": "```\n" * 20_000,
    "prompts": ">>> f(\n" * 12_000,
    "frames": '  File "x.py", line 1, in f\n' * 3_000,
    "headers": "Traceback (most recent call last):\n" * 2_500,
    "groups": "  + Exception Group Traceback (most recent call last):\n  +-+---------------- 1 ---------\n" * 900,
    "nested": "\n".join(f"{' ' * i}| Exception Group Traceback (most recent call last):" for i in range(400)),
    "paragraphs of code": "import a\n\n" * 3_000,
    "deep code": "```python\n" + "(" * 50_000 + "\n```\n",
    "chained": "The above exception was the direct cause of the following exception:\nValueError: x\n" * 1_000,
    "quotes": "> " * 40_000,
    "should": "it should return `a` but returns `b` instead of `c` in 1.2.3 " * 1_500,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_takes_no_more_time_than_its_length(name: str) -> None:
    text = HOSTILE[name]
    started = time.process_time()
    find_symptom(parse_report(text), "pack", ["pack"])
    assert time.process_time() - started < 6  # a quadratic reading of any of them takes minutes


PIECES = st.sampled_from(
    [
        "```",
        "```python\n",
        "~~~",
        "\n",
        "\n\n",
        "    ",
        "> ",
        ">>> ",
        "... ",
        "$ ",
        "# ",
        "## Expected\n",
        "**Actual:**\n",
        "Traceback (most recent call last):\n",
        '  File "a.py", line 1, in f\n',
        "KeyError: 'a'\n",
        "  + Exception Group Traceback (most recent call last):\n",
        "  +-+---------------- 1 ----------------\n",
        "    | ",
        "During handling of the above exception, another exception occurred:\n",
        "E   assert 1 == 2\n",
        "a.py:3: KeyError\n",
        "In [1]: ",
        "Out[1]: ",
        "it should return `1` but returns `2`",
        "1.2.3",
        "from 1.0.0 to 2.0.0",
        "pack==1.0",
        "\x1b[31m",
        "\x00",
        "\ud800",
        "é",
        "<!--",
        "-->",
        "<pre>",
        "</pre>",
        "{code}",
        "| a | 1.0 |\n",
        "'",
        '"',
        "`",
        "import pack\n",
        "\t",
    ]
)


@settings(max_examples=120, deadline=None)
@given(st.lists(PIECES | st.text(max_size=12), max_size=40).map("".join))
def test_no_text_makes_it_raise(text: str) -> None:
    failures = parse_tracebacks(text)
    report = parse_report(text)
    symptom = find_symptom(report, "pack", ["pack"])
    assert len(symptom.missing) <= 3
    assert all(failure.line >= 1 for failure in failures)
    assert all(block.text.strip() and block.line >= 1 for block in report.blocks)
