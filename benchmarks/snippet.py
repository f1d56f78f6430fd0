"""What `rebug reproduce` takes over running the report's own code, with the environments cached.

For each report the two are run alternately: the report's first code block as a plain script in an environment of its
own, and rebug on the report. Medians are compared. Needs a package index the first time.

Usage: python benchmarks/snippet.py [--runs N]
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import rebug
from rebug.subject import find_uv

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A report whose first code block shows its bug, and the release it is about."""

    report: Path
    package: str
    version: str


CASES = (
    Case(report=Path(rebug.__file__).parent / "data" / "demo" / "report.md", package="tabulate", version="0.9.0"),
    Case(report=HERE / "snippet" / "naturalsize.md", package="humanize", version="4.12.0"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Medians in seconds, and what rebug said."""

    name: str
    script: float
    rebug: float
    status: str

    @property
    def ratio(self) -> float:
        return self.rebug / self.script


def seconds(command: list[str], cwd: Path) -> float:
    started = time.perf_counter()
    subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return time.perf_counter() - started


def environment(case: Case, directory: Path) -> Path:
    """An interpreter with the case's package."""
    venv = directory / case.package
    uv = str(find_uv())
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(venv)], check=True)
    python = venv / "bin" / "python"
    subprocess.run([uv, "pip", "install", "-q", "--python", str(python), f"{case.package}=={case.version}"], check=True)
    return python


def measure(case: Case, runs: int, directory: Path) -> Row:
    python = environment(case, directory)
    block = re.search(r"(?ms)^```python\n(.*?)^```$", case.report.read_text("utf-8"))
    assert block, f"{case.report} has no code block"
    script = directory / f"{case.package}.py"
    script.write_text(block[1], "utf-8")
    out = directory / f"{case.package}-run"
    source = f"pypi:{case.package}=={case.version}"
    reproduce = [
        sys.executable,
        "-m",
        "rebug",
        "reproduce",
        str(case.report),
        "--source",
        source,
        "--quiet",
        "--model",
        "none",
    ]
    reproduce += ["--out", str(out)]
    seconds(reproduce, directory)  # builds the environments, which is not what is measured
    pairs = [(seconds([str(python), str(script)], directory), seconds(reproduce, directory)) for _ in range(runs)]
    return Row(
        name=case.report.stem if case.report.parent.name == "snippet" else f"demo ({case.package})",
        script=statistics.median(own for own, _ in pairs),
        rebug=statistics.median(ours for _, ours in pairs),
        status=json.loads((out / "result.json").read_text("utf-8"))["status"],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory(prefix="rebug-benchmark-") as directory:
        rows = [measure(case, runs, Path(directory)) for case in CASES]
    print(f"{'report':20} {'script s':>9} {'rebug s':>9} {'ratio':>7}  status")
    for row in rows:
        print(f"{row.name:20} {row.script:9.3f} {row.rebug:9.3f} {row.ratio:7.1f}  {row.status}")
    figures = {
        "ratio": round(statistics.median(row.ratio for row in rows), 2),
        "overhead_seconds": round(statistics.median(row.rebug - row.script for row in rows), 3),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
