"""What a run hands over: `result.json`, the scripts, the pytest module and the page on the terminal."""

from rebug.report.build import Run, build, order
from rebug.report.files import JOURNAL, RESULT, prepare, write, write_text
from rebug.report.pytest_export import export
from rebug.report.schema import Result, json_schema, read_result
from rebug.report.terminal import clean, show

__all__ = [
    "JOURNAL",
    "RESULT",
    "Result",
    "Run",
    "build",
    "clean",
    "export",
    "json_schema",
    "order",
    "prepare",
    "read_result",
    "show",
    "write",
    "write_text",
]
