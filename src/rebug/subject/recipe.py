"""How one environment is made, as a value, and the making of it with uv."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rebug.errors import EnvironmentFailed
from rebug.ports import Narrator
from rebug.subject import archives, registry, tree, uv
from rebug.subject.pythons import Python

_BUILD_TOOLS = (
    "setuptools",
    "wheel",
    "hatchling",
    "flit-core",
    "poetry-core",
    "pdm-backend",
    "meson-python",
    "maturin",
)
_SETUPTOOLS_WITH_PKG_RESOURCES = "setuptools<81"
_OLD_SETUP = re.compile(r"pkg_resources|use_2to3|setuptools\.command\.test|No module named 'distutils")
_LISTS = ("requirements.txt", "requirements/base.txt", "requirements/requirements.txt")
_FAR = "2100-01-01T00:00:00Z"
_SETUP_SECONDS = 1800


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything that decides what an environment holds."""

    python: Python
    package: str = ""  # the subject's normalised name, "" for none
    requirement: str = ""  # the subject as uv installs it; "TREE" in it stands for the copied tree
    requirements: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    as_of: str = ""
    source: Path | None = None  # a tree to copy beside the environment
    content: str = ""  # digest of that tree, or of the archive
    version: str = ""  # what the tree is told to be where it derives its version from tags
    plain: bool = False  # the tree is used from its path

    def key(self) -> list[object]:
        """What the cache goes by: the content of everything, and no path of the user's."""
        python = [self.python.version, str(self.python.executable)]
        subject = [self.package, self.content or self.requirement, self.plain, self.source is not None, self.version]
        return [2, python, subject, self.requirements, self.setup, self.as_of]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    arguments: tuple[str, ...]
    note: str = ""  # narrated before a further attempt
    build_constraint: str = ""


def make(recipe: Recipe, path: Path, narrate: Narrator) -> None:
    """Make the environment of `recipe` in path/venv (and path/tree, where it has a tree).

    Raises EnvironmentFailed with the tool's own last lines.
    """
    if recipe.source is not None:
        archives.copy_tree(recipe.source, iter(tree.files(recipe.source)), path / "tree")
    # The user's set-up commands may call pip; anything else is better off without what it did not ask for.
    seed = ["--seed"] if recipe.setup else []
    made = uv.uv(
        "venv",
        *seed,
        "--python",
        recipe.python.executable,
        "--no-python-downloads",
        "--no-project",
        path / "venv",
        cwd=path,
    )
    if not made.ok:
        raise EnvironmentFailed(
            f"no virtual environment could be made with Python {recipe.python.version}", made.detail
        )
    arguments = _wanted(recipe, path)
    if arguments:
        _install(recipe, arguments, path, narrate)
    for command in recipe.setup:
        _set_up(command, path, narrate)


def _wanted(recipe: Recipe, path: Path) -> list[str]:
    subject = recipe.requirement.replace("TREE", str(path / "tree"))
    arguments = ["--", *([subject] if subject else []), *recipe.requirements]
    if recipe.plain:
        listed = [path / "tree" / name for name in _LISTS if (path / "tree" / name).is_file()]
        if not listed and tree.about(path / "tree").installable:
            listed = [path / "tree" / "pyproject.toml"]
        arguments = [part for file in listed[:1] for part in ("-r", str(file))] + arguments
    return arguments if len(arguments) > 1 else []


def _attempts(recipe: Recipe) -> Iterator[_Attempt]:
    """Ways to install, the most faithful first."""
    own = f"{recipe.package}={_FAR}"
    # The subject's version is chosen by name, so the date only bounds what comes with it.
    dated = ("--exclude-newer", recipe.as_of, *(("--exclude-newer-package", own) if recipe.package else ()))
    if recipe.as_of:
        yield _Attempt(arguments=dated)
        tools = tuple(part for tool in _BUILD_TOOLS for part in ("--exclude-newer-package", f"{tool}={_FAR}"))
        yield _Attempt(arguments=(*dated, *tools), note="trying again with today's build tools")
        yield _Attempt(arguments=(), note=f"nothing fits as of {recipe.as_of}; dependencies are of today")
    else:
        yield _Attempt(arguments=())
    yield _Attempt(
        arguments=(), note="trying again with older build tools", build_constraint=_SETUPTOOLS_WITH_PKG_RESOURCES
    )


def _install(recipe: Recipe, arguments: Sequence[str], path: Path, narrate: Narrator) -> None:
    failures: list[uv.Outcome] = []
    for attempt in _attempts(recipe):
        if attempt.build_constraint and not any(_OLD_SETUP.search(failure.stderr) for failure in failures):
            break
        if attempt.note:
            narrate(attempt.note)
        done = _attempt(recipe, arguments, attempt, path)
        if done.ok:
            return
        failures.append(done)
        if done.network:
            break
    raise _failure(recipe, failures)


def _attempt(recipe: Recipe, arguments: Sequence[str], attempt: _Attempt, path: Path) -> uv.Outcome:
    more = list(attempt.arguments)
    if attempt.build_constraint:
        constraints = path / "build-constraints.txt"
        constraints.write_text(attempt.build_constraint + "\n", "utf-8")
        more += ["--build-constraints", str(constraints)]
    python = path / "venv" / "bin" / "python"
    # In the tree, its own index configuration counts; elsewhere only the user's does.
    cwd = path / "tree" if (path / "tree").is_dir() else path
    return uv.uv("pip", "install", "--python", python, *more, *arguments, cwd=cwd, variables=_pretended(recipe))


def _pretended(recipe: Recipe) -> dict[str, str]:
    """A version for trees that derive theirs from tags, which a copy of the files does not have."""
    if not recipe.version or recipe.source is None:
        return {}
    suffix = re.sub(r"[-_.]+", "_", recipe.package).upper()
    names = (f"SETUPTOOLS_SCM_PRETEND_VERSION_FOR_{suffix}", "PBR_VERSION", "PDM_BUILD_SCM_VERSION")
    return dict.fromkeys(names, recipe.version)


def _failure(recipe: Recipe, failures: Sequence[uv.Outcome]) -> EnvironmentFailed:
    last = failures[-1]
    if last.network:
        return EnvironmentFailed(
            "the package index cannot be reached; check the network and uv's configuration", last.detail
        )
    subject = recipe.requirement.replace("TREE", "the source") or ", ".join(recipe.requirements)
    built = next((failure for failure in failures if failure.build), None)
    if built is not None:
        return EnvironmentFailed(f"{subject} could not be built for Python {recipe.python.version}", built.detail)
    if (
        last.unknown
        and recipe.requirement
        and recipe.source is None
        and f"of {recipe.package}" in " ".join(last.stderr.split())
    ):
        return registry.refusal(last, recipe.requirement, as_of="")
    reason = " ".join(last.detail.split())[:400]
    return EnvironmentFailed(
        f"{subject} could not be installed for Python {recipe.python.version}: {reason}", last.detail
    )


def _set_up(command: str, path: Path, narrate: Narrator) -> None:
    """Run one of the user's own set-up commands with the environment's PATH."""
    narrate(f"running {command}")
    home = path / "tree" if (path / "tree").is_dir() else path
    variables = {
        "VIRTUAL_ENV": str(path / "venv"),
        "PATH": os.pathsep.join([str(path / "venv" / "bin"), os.environ.get("PATH", os.defpath)]),
    }
    done = uv.run(["/bin/sh", "-c", command], cwd=home, variables=variables, seconds=_SETUP_SECONDS)
    if not done.ok:
        both = uv.meaningful(done.stdout + "\n" + done.stderr)
        raise EnvironmentFailed(f"the set-up command {command!r} failed with exit status {done.exit}", both)
