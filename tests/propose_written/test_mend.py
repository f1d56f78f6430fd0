import ast
from pathlib import Path

import pytest

from rebug.instruments import genuine
from rebug.intake import find_symptom, parse_report
from rebug.model import Basis, Environment
from rebug.ports import Situation
from rebug.propose.complete import Surroundings
from rebug.propose.written import Written
from rebug.propose.written.mend import called_instrument, mended, uncaught, without_idle_imports
from rebug.propose.written.task import Task
from rebug.subject import build_index


def test_a_caught_reported_exception_is_let_through() -> None:
    script = "try:\n    load('x')\nexcept KeyError as error:\n    print(error)\n    raise SystemExit(1)\n"
    assert uncaught(script, "KeyError") == "load('x')\n"


def test_clean_up_stays() -> None:
    script = "try:\n    load('x')\nexcept Exception:\n    pass\nfinally:\n    close()\n"
    assert uncaught(script, "KeyError") == "try:\n    load('x')\nfinally:\n    close()\n"


def test_other_exceptions_stay_caught() -> None:
    script = "try:\n    import fast\nexcept ImportError:\n    fast = None\nload('x')\n"
    assert uncaught(script, "KeyError") == script


def test_broken_code_is_left_alone() -> None:
    assert uncaught("try:\n  (", "KeyError") == "try:\n  ("


def test_an_invented_import_that_is_never_used_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "box.py").write_text("def load(x): return x\n")
    environment = Environment(
        python=Path("python"),
        prefix=tmp_path,
        python_version="3.11",
        package="box",
        version="1",
        modules=("box",),
        packages={"attrs": "25.1"},
    )
    around = Surroundings(index=build_index(tmp_path, ("box",)), environment=environment)
    script = (
        "import os\nimport box_helpers_x\nimport attrs\nfrom trio_x import run\nfrom box import load\nrun(load(1))\n"
    )
    kept = "import os\n\nimport attrs\nfrom trio_x import run\nfrom box import load\nrun(load(1))\n"
    assert without_idle_imports(script, around) == kept


@pytest.mark.parametrize(
    ("script", "instrument"),
    [
        ("import box\ndef act(): box.load(1)\nleak(act)\n", "leak"),
        ("import box\nasync def main(): await leak_async(box.load)\n", "leak"),
        ("import box\ndef act(n): box.load(n)\ngrowth(act)\n", "growth"),
        ("import box\ndef act(): box.load(1)\nhang(act)\n", "watchdog"),
        ("import box\ndef leak(act): act()\nleak(box.load)\n", ""),
        ("import box\nbox.load(1)\n", ""),
    ],
)
def test_an_instrument_that_a_script_counts_on_is_put_in(script: str, instrument: str, tmp_path: Path) -> None:
    assert called_instrument(script) == instrument
    (tmp_path / "box.py").write_text("def load(x): return x\n")
    environment = Environment(
        python=Path("python"), prefix=tmp_path, python_version="3.11", package="box", version="1", modules=("box",)
    )
    report = parse_report("# load() leaks\n")
    situation = Situation(
        report=report,
        symptom=find_symptom(report, "box", ["box"]),
        index=build_index(tmp_path, ("box",)),
        environment=environment,
        round=1,
    )
    candidate = mended(Written(claim="it leaks", script=script), Task(writer="w", text="", hypotheses=1), situation)
    assert (candidate.basis is Basis.MEASURED) == bool(instrument)
    assert not instrument or genuine(ast.parse(candidate.script), instrument)
