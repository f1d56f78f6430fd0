"""Which deaths by a signal are the reported crash, and which say nothing of the subject."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from rebug.model import Ended, Failure, Frame, NativeCrash, Observation, Stage, Symptom, SymptomKind, Trial

SYMPTOM = Symptom(kind=SymptomKind.CRASH, signal="SIGSEGV", suspects=("load",))
VAGUE = Symptom(kind=SymptomKind.CRASH, signal="SIGSEGV")
SCRIPT = "import box\n\nbox.load('x')\n"


def died(signal: str = "SIGSEGV", *frames: Frame, stderr: str = "") -> Observation:
    failures = (Failure(type="", message="Fatal Python error", frames=frames),) if frames else ()
    return Observation(ended=Ended.SIGNALLED, signal=signal, failures=failures, stderr=stderr, reached=("box:load",))


def at(line: int, file: str = "repro.py", function: str = "<module>") -> Frame:
    return Frame(file=file, line=line, function=function)


def stage(trial: Trial) -> Stage:
    return trial.loss.stage


def test_the_reported_signal_in_a_line_that_uses_the_subject_matches(verdict_of: Callable[..., Trial]) -> None:
    assert stage(verdict_of(SCRIPT, died("SIGSEGV", at(3)), SYMPTOM)) is Stage.MATCH
    assert stage(verdict_of(SCRIPT, died(), SYMPTOM)) is Stage.MATCH


def test_another_signal_or_another_line_is_only_of_the_kind(verdict_of: Callable[..., Trial]) -> None:
    assert stage(verdict_of(SCRIPT, died("SIGABRT", at(3)), SYMPTOM)) is Stage.KIND
    other = "import box\nimport zlib\n\nbox.load('x')\nzlib.crc32(b'')\n"
    assert stage(verdict_of(other, died("SIGSEGV", at(5)), SYMPTOM)) is Stage.KIND


def test_a_broken_heap_may_end_in_other_signals_and_places(verdict_of: Callable[..., Trial]) -> None:
    heap = replace(SYMPTOM, native=NativeCrash(corruption=True))
    other = "import box\nimport zlib\n\nbox.load('x')\nzlib.crc32(b'')\n"
    assert stage(verdict_of(other, died("SIGABRT", at(5)), heap)) is Stage.MATCH


def test_a_call_back_counts_for_the_call_that_led_to_it(verdict_of: Callable[..., Trial]) -> None:
    script = "import box\n\ndef back(x):\n    return [].pop\n\nbox.load(back)\n"
    assert stage(verdict_of(script, died("SIGSEGV", at(6), at(4, function="back")), SYMPTOM)) is Stage.MATCH


@pytest.mark.parametrize(
    "line",
    [
        "import os; os.kill(os.getpid(), 11)",
        "import os; os.abort()",
        "from os import abort; abort()",
        "import ctypes; ctypes.string_at(0)",
        "import faulthandler; faulthandler._sigsegv()",
        "import signal; signal.raise_signal(11)",
        "import os; getattr(os, '_sigsegv')",
        "import os; os.system('kill -SEGV $PPID')",
        "import sys; sys.setrecursionlimit(10**9)",
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (1, 1))",
    ],
)
def test_a_script_that_can_kill_itself_never_counts(line: str, verdict_of: Callable[..., Trial]) -> None:
    trial = verdict_of(f"import box\n{line}\nbox.load('x')\n", died("SIGSEGV", at(3)), SYMPTOM)
    assert stage(trial) not in {Stage.KIND, Stage.MATCH, Stage.PROVEN}


def test_what_never_used_the_subject_or_ran_out_of_memory_does_not_count(verdict_of: Callable[..., Trial]) -> None:
    lost = died("SIGABRT", at(3), stderr="memory allocation of 99999999999 bytes failed")
    aborted = Symptom(kind=SymptomKind.CRASH, signal="SIGABRT")
    for trial in (
        verdict_of("import zlib\nzlib.crc32(b'')\n", died("SIGSEGV", at(2)), SYMPTOM),
        verdict_of(SCRIPT, lost, aborted),
        verdict_of(SCRIPT, died("SIGKILL", at(3)), SYMPTOM),
        verdict_of(SCRIPT, Observation(ended=Ended.LIMITED, signal="SIGSEGV", limit="memory"), SYMPTOM),
    ):
        assert stage(trial) not in {Stage.KIND, Stage.MATCH, Stage.PROVEN}


def test_a_script_may_watch_a_child_but_not_make_its_status_up(verdict_of: Callable[..., Trial]) -> None:
    passed_on = Observation(ended=Ended.EXITED, exit=139)
    watching = (
        "import subprocess, sys\n"
        "done = subprocess.run([sys.executable, '-c', 'import box; box.load(1)'])\n"
        "sys.exit(done.returncode % 256)\n"
    )
    assert stage(verdict_of(watching, passed_on, SYMPTOM)) is Stage.MATCH
    made_up = "import box, subprocess, sys\nbox.load('x')\nsys.exit(139)\n"
    assert stage(verdict_of(made_up, passed_on, SYMPTOM)) not in {Stage.KIND, Stage.MATCH}


def test_what_the_report_names_has_to_take_part(verdict_of: Callable[..., Trial]) -> None:
    named = Symptom(kind=SymptomKind.CRASH, signal="SIGSEGV", suspects=("Shelf.put",))
    assert stage(verdict_of(SCRIPT, died("SIGSEGV", at(3)), named)) is Stage.KIND
    right = "import box\n\nbox.Shelf().put('x')\n"
    assert stage(verdict_of(right, died("SIGSEGV", at(3)), named)) is Stage.MATCH


def test_the_reported_frame_of_the_subject_is_met_or_not(verdict_of: Callable[..., Trial]) -> None:
    reported = Failure(type="", frames=(at(9, "/srv/site-packages/box/core.py", "put"),))
    symptom = Symptom(kind=SymptomKind.CRASH, signal="SIGSEGV", failure=reported)
    met = verdict_of(SCRIPT, died("SIGSEGV", at(3), at(4, "box/core.py", "put")), symptom)
    missed = verdict_of(SCRIPT, died("SIGSEGV", at(3), at(12, "box/core.py", "load")), symptom)
    assert stage(met) is Stage.MATCH
    assert stage(missed) is Stage.KIND


def test_a_made_up_script_for_a_report_that_names_no_call_needs_another_link(verdict_of: Callable[..., Trial]) -> None:
    seen = died("SIGSEGV", at(3))
    body = "# Dies\n\nThe last line of the log is rule 'a{2}?'.\n"
    assert stage(verdict_of(SCRIPT, seen, VAGUE)) is Stage.KIND
    assert stage(verdict_of("import box\n\nbox.load('a{2}?')\n", seen, VAGUE, body=body)) is Stage.MATCH
    page = Symptom(kind=SymptomKind.CRASH, signal="SIGSEGV", native=NativeCrash(address="page"))
    assert stage(verdict_of(SCRIPT, seen, page)) is Stage.MATCH
    theirs = "# Dies\n\n```python\nimport box\n\nbox.load('x')\n```\n"
    assert stage(verdict_of(SCRIPT, seen, VAGUE, body=theirs)) is Stage.MATCH


def test_a_stack_used_up_leads_to_deep_data(verdict_of: Callable[..., Trial]) -> None:
    stack = Symptom(kind=SymptomKind.CRASH, signal="SIGSEGV", native=NativeCrash(address="stack"))
    deep = "import box\n\nbox.load('[' * 200000)\n"
    assert stage(verdict_of(deep, died("SIGSEGV", at(3)), stack)) is Stage.MATCH
    assert stage(verdict_of(SCRIPT, died("SIGSEGV", at(3)), stack)) is Stage.KIND
    assert stage(verdict_of(SCRIPT, died("SIGSEGV"), stack)) is Stage.KIND
