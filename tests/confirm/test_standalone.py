"""Stand-alone scripts, run by a plain interpreter as their user runs them."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rebug.confirm import ScriptSource, standalone
from rebug.model import (
    Basis,
    Candidate,
    Critique,
    Ended,
    Environment,
    Failure,
    Frame,
    Hypothesis,
    Loss,
    Observation,
    Stage,
    Symptom,
    SymptomKind,
    Trial,
    Variation,
    Verdict,
)

SOURCE = ScriptSource(
    title="load() fails on 'bad'", package="box", version="1.0", requirement="box==1.0", as_of="2024-05-01"
)
PLAIN = Variation()
SCRIPT = "from __future__ import annotations\nfrom box import load\n\nprint('set up')\nload('bad')\nprint('after')\n"

BUGGY = "def load(value):\n    return {}[value]\n"
SOUND = "def load(value):\n    return value\n"
ANSWERING = "class Refused(Exception):\n    pass\n\n\ndef load(value):\n    raise Refused(value)\n"
OTHER_INTERFACE = "def load():\n    return 1\n"
OTHER_KEY = "def load(value):\n    return {}['another key']\n"
UNIMPORTABLE = "import not_installed_anywhere\n"


def trial(script: str = SCRIPT, basis: Basis = Basis.NONE, variation: Variation = PLAIN, **more: object) -> Trial:
    failure = Failure(type="KeyError", message="'bad'", frames=(Frame(file="repro.py", line=5, function="<module>"),))
    observation = Observation(ended=Ended.EXITED, exit=1, failures=(failure,), script_line=5)
    return Trial(
        candidate=Candidate(
            script=script,
            hypothesis=Hypothesis(claim="load() fails"),
            proposer="t",
            basis=basis,
            variation=variation,
            **more,
        ),
        observation=observation,
        loss=Loss(total=0.03, stage=Stage.MATCH),
        verdict=Verdict.SUPPORTED,
        critique=Critique(shows=""),
    )


def made(what: Trial, symptom: Symptom | None = None, *, cut: bool = True) -> str:
    environment = Environment(
        python=Path(sys.executable),
        prefix=Path(sys.prefix),
        python_version="3.11.7",
        package="box",
        version="1.0",
        packages={"box": "1.0", "tool-kit": "2.1"},
    )
    return standalone(
        what, symptom or Symptom(kind=SymptomKind.EXCEPTION), SOURCE, environment, modules=("box",), cut=cut
    )


def run(script: str, subject: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    (tmp_path / "box.py").write_text(subject)
    (tmp_path / "repro.py").write_text(script)
    return subprocess.run(
        [sys.executable, "repro.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize(
    ("subject", "status"),
    [
        (BUGGY, 1),
        (SOUND, 0),
        (ANSWERING, 0),  # the same call is now refused by the software's own exception
        (OTHER_INTERFACE, 125),  # it does not even bind
        (OTHER_KEY, 125),  # the same type, other words
        (UNIMPORTABLE, 125),
    ],
)
def test_exit_status_means_what_the_contract_says(subject: str, status: int, tmp_path: Path) -> None:
    assert run(made(trial()), subject, tmp_path).returncode == status


def test_an_expected_exception_is_the_absence_of_the_bug(tmp_path: Path) -> None:
    symptom = Symptom(kind=SymptomKind.EXCEPTION, expected_exception="ValueError")
    script = made(trial(), symptom)
    assert run(script, "def load(value):\n    raise ValueError(value)\n", tmp_path).returncode == 0
    assert run(script, BUGGY, tmp_path).returncode == 1


def test_an_expected_exception_counts_inside_a_group_too(tmp_path: Path) -> None:
    symptom = Symptom(kind=SymptomKind.WRONG_OUTPUT, expected_exception="box.WouldBlock")
    script = made(trial("from box import x\n\nassert x() == 4, 'expected 4, got 3'\n", Basis.REPORT), symptom)
    kinds = "class WouldBlock(Exception): pass\nclass Other(Exception): pass\n"
    body = "def x():\n    raise ExceptionGroup('all', [ExceptionGroup('some', [{}('taken')])])\n"
    assert run(script, kinds + body.format("WouldBlock"), tmp_path).returncode == 0
    assert run(script, kinds + body.format("Other"), tmp_path).returncode == 125


@pytest.mark.parametrize(("subject", "status"), [("x = 3", 1), ("x = 4", 0), ("", 125)])
def test_an_asserting_script_fails_by_its_assertion_only(subject: str, status: int, tmp_path: Path) -> None:
    script = "from box import x\n\nassert x == 4, f'expected 4, got {x}'\n"
    assert run(made(trial(script, Basis.REPORT)), subject, tmp_path).returncode == status


def test_statements_that_never_ran_are_dropped_and_the_rest_is_kept_as_it_was() -> None:
    script = made(trial())
    assert "print('after')" not in script
    assert "print('after')" in made(trial(), cut=False)
    assert script.index("from __future__") < script.index("import sys") < script.index("load('bad')")


def test_the_header_names_claim_report_environment_and_how_to_run() -> None:
    script = made(trial(requirements=("Tool_Kit",)))
    assert script.startswith("# load() fails\n")
    assert "# Report: load() fails on 'bad'\n" in script
    assert '# dependencies = ["box==1.0", "Tool_Kit==2.1"]\n' in script
    assert '# requires-python = "==3.11.*"\n' in script
    assert '# exclude-newer = "2024-05-01"\n' in script


def test_hostile_titles_stay_inside_the_comment(tmp_path: Path) -> None:
    environment = Environment(python=Path("p"), prefix=Path("p"), python_version="3.11", package="box", version="1")
    source = ScriptSource(title='x"\n# ///\nimport os; os._exit(7)\r\u2028raise SystemExit(8)', requirement="box")
    script = standalone(trial(), Symptom(kind=SymptomKind.EXCEPTION), source, environment, modules=("box",), cut=True)
    assert run(script, SOUND, tmp_path).returncode == 0
    assert sum(line == "# ///" for line in script.splitlines()) == 1


def test_environment_variables_are_part_of_the_script(tmp_path: Path) -> None:
    script = "import os, time\n\nassert time.tzname[0] != 'JST', f'expected another zone, got {time.tzname}'\n"
    varied = trial(script, Basis.REPORT, Variation(variables=(("TZ", "Asia/Tokyo"),)))
    assert run(made(varied), "", tmp_path).returncode == 1


def test_interpreter_settings_run_the_script_again(tmp_path: Path) -> None:
    script = (
        "import sys\n\nassert not sys.flags.optimize, 'unreachable under -O'\nsys.exit(int(sys.flags.optimize) * 3)\n"
    )
    varied = trial(script, Basis.REPORT, Variation(flags=("-O",)))
    assert run(made(varied), "", tmp_path).returncode == 3


def test_temporary_files_go_when_the_script_ends(tmp_path: Path) -> None:
    script = (
        "import os, tempfile\n\nfolder = tempfile.mkdtemp()\nopen(os.path.join(folder, 'x'), 'w').close()\n"
        "print(folder)\nassert 1 == 2, 'expected 2, got 1'\n"
    )
    done = run(made(trial(script, Basis.REPORT), cut=False), "", tmp_path)
    assert done.returncode == 1
    folder = Path(done.stdout.strip())
    assert folder.name.startswith("tmp")
    assert not folder.exists()
    assert not folder.parent.exists()


def crashed(script: str, tmp_path: Path, library: str) -> "subprocess.CompletedProcess[str]":
    """Runs the stand-alone script of a trial that SIGSEGV ended, against another state of the software."""
    base = trial("from box import load\n\nload('bad')\nprint('after')\n")
    frame = Frame(file="repro.py", line=3, function="<module>")
    seen = Observation(
        ended=Ended.SIGNALLED,
        signal="SIGSEGV",
        failures=(Failure(type="", message="Fatal Python error: Segmentation fault", frames=(frame,)),),
        script_line=3,
    )
    died = replace(base, candidate=replace(base.candidate, script=script), observation=seen)
    environment = Environment(
        python=Path(sys.executable), prefix=tmp_path, python_version="3.11", package="box", version="1"
    )
    text = standalone(
        died, Symptom(kind=SymptomKind.CRASH, signal="SIGSEGV"), SOURCE, environment, modules=("box",), cut=True
    )
    (tmp_path / "box.py").write_text(library)
    (tmp_path / "repro.py").write_text(text)
    return subprocess.run(
        [sys.executable, "repro.py"], cwd=tmp_path, check=False, capture_output=True, text=True, timeout=30
    )


@pytest.mark.parametrize(
    ("library", "status"),
    [
        ("import ctypes\n\ndef load(value):\n    return ctypes.string_at(8, 1)\n", -11),
        ("def load(value):\n    return value\n", 0),
        ("def load(value):\n    raise MemoryError\n", 0),
        ("load = int\n", 0),  # compiled code leaves no frame when it refuses
        ("def load(value):\n    open('/no/such/file')\n", 125),
        ("import not_installed_anywhere\n", 125),
    ],
)
def test_a_script_that_a_signal_ends(library: str, status: int, tmp_path: Path) -> None:
    done = crashed("from box import load\n\nload('bad')\n", tmp_path, library)
    assert done.returncode == status, done.stderr
    if status == -11:
        assert "line" in done.stderr
        assert "Fatal Python error: Segmentation fault" in done.stderr


def test_a_release_without_the_function_that_crashed_cannot_tell(tmp_path: Path) -> None:
    done = crashed("import box\n\nbox.load('bad')\n", tmp_path, "other = 1\n")
    assert done.returncode == 125, done.stderr
