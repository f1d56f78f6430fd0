"""Core dumps of real processes that died, read as attachments of a report."""

import functools
import gzip
import lzma
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from rebug.errors import SandboxUnavailable
from rebug.execute import choose_sandbox
from rebug.intake import find_symptom, load_report, with_cores
from rebug.intake.core_file import is_core, read_core
from rebug.intake.cores import gdb_command, python_stack
from rebug.model import Report, SymptomKind
from rebug.ports import Sandbox

VICTIM = """
import ctypes

def read(address, size):
    label = "last order"
    return ctypes.string_at(address, size)

read(16, 4)
"""
PROGRAM = "int deref(int *p) { return *p; }\nint middle(long n) { return deref((int *)n) + 1; }\n"
PROGRAM += "int main(void) { return middle(8); }\n"


def dump_of(command: Sequence[str], directory: Path) -> Path:
    """The core that the kernel leaves of a command. Skips where it leaves none in the working directory."""
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern != "core":
        pytest.skip(f"the kernel's core_pattern is {pattern!r}: it leaves no core in the working directory")
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY:
        pytest.skip("the hard limit of the size of cores is not unlimited")
    unlimited = functools.partial(resource.setrlimit, resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    subprocess.run(command, cwd=directory, check=False, capture_output=True, preexec_fn=unlimited)
    found = [path for path in directory.iterdir() if path.name.startswith("core")]
    if not found:
        pytest.skip("the kernel left no core")
    return found[0]


@pytest.fixture(scope="module")
def python_core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("python")
    (directory / "victim.py").write_text(VICTIM)
    return dump_of([sys.executable, "victim.py"], directory)


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    try:
        return choose_sandbox()
    except SandboxUnavailable as reason:
        pytest.skip(str(reason))


def report_with(directory: Path, name: str, content: bytes) -> Report:
    (directory / "report.md").write_text("# The worker dies\n\nA core is attached.\n")
    (directory / "attachments").mkdir()
    (directory / "attachments" / name).write_bytes(content)
    return load_report(str(directory))


def test_notes_tell_signal_address_and_files(python_core: Path) -> None:
    core = read_core(python_core.read_bytes())
    assert core is not None
    assert (core.signal, core.address, core.threads) == ("SIGSEGV", 16, 1)
    assert core.program.startswith("python")
    assert core.module is not None
    assert any("python" in mapped.name for mapped in core.files)


def test_a_python_core_gives_its_stack_and_locals(python_core: Path, sandbox: Sandbox, tmp_path: Path) -> None:
    pytest.importorskip("pystack", reason="pystack is not installed: pip install rebug[cores]")
    report = with_cores(report_with(tmp_path, "worker.core", python_core.read_bytes()), sandbox)
    assert report.notes == ()
    assert 'label="last order"' in report.attachments[0].text
    symptom = find_symptom(report, "box", ("box",))
    assert (symptom.kind, symptom.signal) == (SymptomKind.CRASH, "SIGSEGV")
    assert symptom.native is not None
    assert symptom.native.address == "null"
    assert symptom.failure is not None
    assert [frame.function for frame in symptom.failure.frames][:2] == ["<module>", "read"]


@pytest.mark.parametrize(("name", "pack"), [("worker.core.gz", gzip.compress), ("worker.core.xz", lzma.compress)])
def test_packed_cores_are_known_by_their_content(name: str, pack: object, python_core: Path, tmp_path: Path) -> None:
    assert callable(pack)
    report = with_cores(report_with(tmp_path, name, pack(python_core.read_bytes()[: 1 << 20])))
    assert "terminated with signal SIGSEGV" in report.attachments[0].text
    assert report.notes == (f"no tool looked into the core {name}: there is no sandbox to run it in",)


def test_a_core_that_is_cut_off_gives_what_it_holds(python_core: Path, sandbox: Sandbox, tmp_path: Path) -> None:
    pytest.importorskip("pystack", reason="pystack is not installed: pip install rebug[cores]")
    report = with_cores(report_with(tmp_path, "core", python_core.read_bytes()[:300_000]), sandbox)
    assert "segfault at 10 ip" in report.attachments[0].text
    assert any("no Python stack" in note for note in report.notes)
    assert find_symptom(report, "box", ("box",)).signal == "SIGSEGV"


def test_a_core_of_a_c_program_gives_its_native_stack(sandbox: Sandbox, tmp_path: Path) -> None:
    for tool in ("gcc", "gdb"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    place = tmp_path / "run"
    place.mkdir()
    (tmp_path / "p.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O0", "-o", str(tmp_path / "p"), str(tmp_path / "p.c")], check=True)
    core = dump_of([str(tmp_path / "p")], place)
    (tmp_path / "report").mkdir()
    report = with_cores(report_with(tmp_path / "report", "core", core.read_bytes()), sandbox)
    symptom = find_symptom(report, "box", ("box",))
    assert symptom.native is not None
    assert [frame.function for frame in symptom.native.frames] == ["main", "middle", "deref"]


def test_garbage_is_no_core_and_damaged_notes_do_no_harm(python_core: Path) -> None:
    head = python_core.read_bytes()[: 1 << 17]
    assert not is_core(b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x02\0")
    assert read_core(head[:64]) is not None
    for start in range(64, 6000, 97):
        read_core(head[:start] + b"\xff" * 64 + head[start + 64 :])


def test_no_python_frame_is_no_python_stack() -> None:
    told = 'Traceback for thread 7 [Has the GIL] (most recent call last):\n    (C) File "x.c", line 3, in f (lib.so)\n'
    assert python_stack(told) == ""


def test_gdb_loads_no_script_of_the_core() -> None:
    command, further = gdb_command("/usr/bin/gdb", Path("/x/core"), None)
    assert "set auto-load off" in command
    assert "-nx" in command
    assert further == ["/x/core"]
