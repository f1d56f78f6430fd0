"""Real sandboxes, real interpreters, and after every test proof that nothing was left behind."""

from __future__ import annotations

import os
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rebug.errors import SandboxUnavailable
from rebug.execute import LocalEngine, choose_sandbox
from rebug.execute.cap import MOUNT
from rebug.model import Candidate, Environment, Hypothesis, Observation, Variation
from rebug.ports import Job, Limits, Sandbox

MARK = f"REBUG_TEST_{uuid.uuid4().hex}"


@pytest.fixture(params=["bwrap", "none"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return sandbox_called(request.param)


@pytest.fixture
def bwrap() -> Sandbox:
    return sandbox_called("bwrap")


def sandbox_called(name: str) -> Sandbox:
    try:
        return choose_sandbox(name)
    except SandboxUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The importable package of a small subject, under /tmp as virtual environments often are."""
    package = tmp_path_factory.mktemp("subject") / "src" / "pkg"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "mod.py").write_text(
        "def outer(value):\n    doubled = value * 2\n    return inner(doubled)\n\n\n"
        "def inner(value):\n    return 10 / (value - 4)\n\n\n"
        "class Thing:\n    def method(self):\n        return 1\n"
    )
    return package


@pytest.fixture
def environment(subject: Path) -> Environment:
    return environment_of(Path(sys.executable), subject)


def environment_of(python: Path, subject: Path) -> Environment:
    return Environment(
        python=python,
        prefix=Path(sys.prefix) if python == Path(sys.executable) else python.parent.parent,
        python_version="",
        package="pkg",
        version="1",
        roots=(subject,),
        paths=(subject.parent,),
        base_prefixes=(Path(sys.base_prefix),),
        variables={MARK: "1"},
    )


Run = Callable[..., Observation]


@pytest.fixture
def run(sandbox: Sandbox, environment: Environment) -> Run:
    return runner(sandbox, environment)


@pytest.fixture
def run_in_bwrap(bwrap: Sandbox, environment: Environment) -> Run:
    return runner(bwrap, environment)


def runner(sandbox: Sandbox, environment: Environment) -> Run:
    def go(script: str, *, harness: bool = True, variation: Variation | None = None, **limits: float) -> Observation:
        made = job(script, environment, harness=harness, variation=variation, **limits)
        return LocalEngine(sandbox, workers=1).run([made])[0]

    return go


def job(
    script: str, environment: Environment, *, harness: bool = True, variation: Variation | None = None, **limits: float
) -> Job:
    candidate = Candidate(
        script=script, hypothesis=Hypothesis(claim="it fails"), proposer="test", variation=variation or Variation()
    )
    bounds = Limits(**{"wall_seconds": 20.0, **limits})  # type: ignore[arg-type]
    return Job(candidate=candidate, environment=environment, limits=bounds, harness=harness)


@pytest.fixture(autouse=True)
def nothing_left_behind(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    place = tmp_path_factory.mktemp("temp")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    mounts, descriptors = mount_points(), open_descriptors()
    yield
    assert marked_processes() == []
    assert list(place.iterdir()) == []
    assert mount_points() == mounts
    assert [*MOUNT.glob(f"**/rebug-*-{os.getpid()}-*")] == []
    assert open_descriptors() <= descriptors


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def mount_points() -> int:
    return len(Path("/proc/self/mountinfo").read_text().splitlines())


def marked_processes() -> list[str]:
    """Command lines of all processes on the machine that were started with the mark of these tests."""
    found = []
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        try:
            command = (place / "cmdline").read_bytes()
            if MARK.encode() in command + (place / "environ").read_bytes():
                found.append(command.replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found
