"""Which sandbox is chosen, and what is said when none works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rebug.errors import InputError, SandboxUnavailable
from rebug.execute import BwrapSandbox, NoSandbox, choose_sandbox, probe
from rebug.execute.choose import advise, bwrap_programs
from rebug.ports import Command, Sandbox


def test_none_only_when_asked_for() -> None:
    assert isinstance(choose_sandbox("none"), NoSandbox)
    if any(result.works for result in probe() if result.backend == "bwrap"):
        assert isinstance(choose_sandbox("auto"), BwrapSandbox)
    else:
        with pytest.raises(SandboxUnavailable, match="no sandbox works here"):
            choose_sandbox("auto")


def test_an_unknown_name() -> None:
    with pytest.raises(InputError, match=r"unknown sandbox 'docker': choose auto, bwrap or none"):
        choose_sandbox("docker")


def test_the_probe_lists_every_backend() -> None:
    results = probe()
    assert {result.backend for result in results} == {"bwrap", "none"}
    assert all(result.works or result.advice for result in results)


def test_every_bubblewrap_found_works_alike(bwrap: Sandbox) -> None:
    for program in bwrap_programs():
        done = BwrapSandbox(program).run(Command(argv=["/bin/sh", "-c", "cat file; exit 3"], files={"file": b"text"}))
        assert (done.exit, done.stdout, done.stderr) == (3, b"text", b"")


BLOCKED = """
from rebug.errors import SandboxUnavailable
from rebug.execute import choose_sandbox
for name in ("auto", "bwrap"):
    try:
        print(choose_sandbox(name))
    except SandboxUnavailable as error:
        print(error)
print(type(choose_sandbox("none")).__name__)
"""


def test_user_namespaces_blocked(bwrap: Sandbox) -> None:
    """In a namespace that allows no further one, as containers and hardened kernels do."""
    assert isinstance(bwrap, BwrapSandbox)
    argv = [bwrap.program, "--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--bind", "/", "/"]
    argv += [
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--unshare-pid",
        "--die-with-parent",
        "--",
        sys.executable,
        "-c",
        BLOCKED,
    ]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    auto, named, bare = done.stdout.splitlines()
    assert auto == named
    assert auto.startswith(
        "no sandbox works here (/usr/bin/bwrap: " if bwrap.program == "/usr/bin/bwrap" else "no sandbox"
    )
    assert "user namespaces" in auto
    assert auto.endswith("or say --sandbox none to run without one")
    assert (bare, done.stderr) == ("NoSandbox", "")


@pytest.mark.parametrize(
    ("file", "content", "advice"),
    [
        ("proc/sys/kernel/unprivileged_userns_clone", "0\n", "sysctl kernel.unprivileged_userns_clone=1"),
        ("proc/sys/user/max_user_namespaces", "0\n", "sysctl user.max_user_namespaces"),
        ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n", "bwrap-userns-restrict"),
        (".dockerenv", "", "--security-opt seccomp=unconfined"),
        ("other", "", "allow unprivileged user namespaces"),
    ],
)
def test_advice(file: str, content: str, advice: str, tmp_path: Path) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(content)
    assert advice in advise("bwrap: setting up uid map: Permission denied", tmp_path)
    assert "0.8 or newer" in advise("bwrap: Unknown option --disable-userns", tmp_path)
