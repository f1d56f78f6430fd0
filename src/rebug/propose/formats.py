# ruff: noqa: E501 - documents are written as they are read
"""Small valid documents of common text formats: where a search for inputs starts when the report gives none."""

from __future__ import annotations

import re

SEEDS: dict[str, tuple[str, ...]] = {
    "toml": (
        'title = "a"\n\n[owner]\nname = "b"\nage = 1\n\n[owner.address]\ncity = "c"\n\n[[items]]\nid = 1\n\n[[items]]\nid = 2\n',
        'a.b = 1\n[x]\ny = [1, 2]\nz = {k = "v"}\n[x.w]\n[[x.v]]\nu = true\n',
        "d = 1979-05-27T07:32:00Z\nf = 1.5\nt = '''a\nb'''\n",
    ),
    "json": ('{"a": [1, 2.5, null], "b": {"c": "d", "e": true}}', '[{"id": 1}, {"id": 2}]', '"a"', "{}"),
    "yaml": ("a: 1\nb:\n  - c\n  - d: e\nf: {g: [1, 2]}\n", "- &x a\n- *x\n", "key: |\n  text\n  more\n"),
    "ini": ("[section]\nkey = value\nother: 1\n; comment\n[empty]\n",),
    "env": ("A=1\nexport B='two words'\n# comment\nC=${A}\n",),
    "csv": ('a,b,c\n1,"two, three",\n"x ""y""",4,5\n',),
    "xml": ('<?xml version="1.0"?>\n<a b="c"><d>e</d><f/>&amp;<!-- g --></a>\n',),
    "html": ("<!DOCTYPE html>\n<html><body><p class=\"a\">b<br>c</p><ul><li>d</ul><script>e < f</script></body></html>\n",),
    "markdown": ("# a\n\nb *c* `d`\n\n- e\n  - f\n\n> g\n\n```py\nh\n```\n\n| i | j |\n|---|---|\n| k | l |\n\n[m](n)\n",),
    "rst": ("Title\n=====\n\n.. note:: a\n\n* b\n\n``c`` and `d`_\n\n.. _d: http://e/\n",),
    "sql": ("SELECT a, b AS c FROM t WHERE d = 'e' AND f IN (1, 2) ORDER BY g;\n", "CREATE TABLE t (id INT PRIMARY KEY, n TEXT);\n",
            "-- note\nSELECT CASE WHEN a THEN 1 ELSE 2 END; SELECT (SELECT 1) x;\n"),
    "python": ("def f(a, b=1):\n    return [x for x in a if x]\n", "class A:\n    def m(self):\n        with open('a') as f:\n            pass\n"),
    "css": ("a:hover, .b > c { color: red; margin: 0 1px }\n@media print { d { e: f } }\n",),
    "url": ("http://user:pw@example.org:8080/a/b;c?d=e&f#g", "//h/../i", "mailto:a@b.example"),
    "mail": ("From: a@b.example\nTo: c <d@e.example>\nSubject: =?utf-8?q?f?=\n\nbody\n",),
    "http": ("GET /a?b=c HTTP/1.1\r\nHost: d\r\nContent-Length: 1\r\n\r\ne", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"),
    "date": ("2024-02-29T12:30:00+01:00", "29 Feb 2024 12:30", "P1DT2H", "next monday"),
    "number": ("1", "-1.5", "1e3", "1,000.00", "0x1F", "½"),
    "version": ("1.0", "1.0.0rc1+build.5", ">=1,<2", "==1.*"),
    "regex": ("(a|b)*c{1,2}[^d-f]\\w+?$",),
    "template": ("{{ a }} {% for b in c %}{{ b|d }}{% endfor %} ${e} {f!r:>3} %(g)s",),
    "po": ('msgid ""\nmsgstr "Language: de\\n"\n\n#: a.py:1\nmsgid "b"\nmsgid_plural "bs"\nmsgstr[0] "c"\nmsgstr[1] "cs"\n',),
    "diff": ("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n",),
    "cron": ("*/5 0 1,15 * 1-5",),
    "color": ("#ff8000", "rgb(1, 2, 3)", "bold red on blue"),
}  # fmt: skip

_SAYS = (
    (r"toml", "toml"), (r"\bjson|json\b|ujson", "json"), (r"ya?ml", "yaml"), (r"\bini\b|configparser|\.cfg", "ini"),
    (r"dotenv|\.env\b", "env"), (r"\bcsv\b|\btsv\b", "csv"), (r"\bxml\b|etree|\bsax\b", "xml"), (r"html|\bsoup\b", "html"),
    (r"markdown|\.md\b|commonmark", "markdown"), (r"\brst\b|docutils|restructuredtext", "rst"), (r"sql", "sql"),
    (r"\bcss\b", "css"), (r"gettext|\.po\b|pofile|msgid", "po"), (r"\bdiff\b|\bpatch(es)?\b", "diff"),
    (r"\bcron", "cron"), (r"template|jinja|mustache", "template"), (r"regex|\bre\.compile", "regex"), (r"\bhttp|header|wsgi", "http"),
    (r"e?mail\b|mime", "mail"), (r"\burl|\buri", "url"), (r"datetime|\bdate\b|\biso8601|duration|\btz\b", "date"),
    (r"version|specifier", "version"), (r"colou?r", "color"), (r"\.py\b|\bast\b|source code", "python"), (r"number|decimal|unit", "number"),
)  # fmt: skip


def guess(*hints: str) -> str:
    """The format that the hints speak of, the first hint that says anything deciding; "" when none does."""
    for hint in hints:
        found = next((kind for pattern, kind in _SAYS if re.search(pattern, hint[:2000], re.IGNORECASE)), "")
        if found:
            return found
    return ""
