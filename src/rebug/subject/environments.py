"""Environments of the subject and its variations, built once and kept by content."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from packaging.version import InvalidVersion, Version

from rebug.errors import EnvironmentFailed
from rebug.model import Environment, Variation
from rebug.ports import Narrator
from rebug.subject import git, installed, layout, pythons, recipe, registry, tree
from rebug.subject.cache import digest, once
from rebug.subject.dates import cutoff
from rebug.subject.recipe import Recipe
from rebug.subject.source import Source, open_source

_OLDER, _NEWER = 45, 15
_STEPS = 12  # resolutions spent where the index cannot be listed


def _silent(_line: str) -> None:
    """Narrate nothing."""


class UvEnvironments:
    """Builds the subject's environments with uv; safe to share between threads and with other runs.

    `python` is the user's wish and must be had; `python_hint` (the report's) gives way to the nearest one there is.
    `as_of` (ISO 8601) bounds the dependencies. `requirements`, `setup` and `variables` are the user's own.
    """

    def __init__(
        self,
        source: Source,
        *,
        cache: Path,
        python: str = "",
        python_hint: str = "",
        requirements: Sequence[str] = (),
        setup: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
        as_of: str = "",
        extras: Sequence[str] = (),
        narrate: Narrator = _silent,
    ) -> None:
        self._source = source
        self._cache = cache
        self._python, self._python_hint = python, python_hint
        self._requirements, self._setup = tuple(requirements), tuple(setup)
        self._variables = dict(variables or {})
        self._as_of = cutoff(as_of)
        self._extras = tuple(sorted({*extras, *source.extras}))
        self._narrate = narrate
        self._lock = threading.Lock()
        self._built: dict[Variation, Environment | EnvironmentFailed] = {}
        self._releases: tuple[str, ...] | None = None

    def build(self, variation: Variation) -> Environment:
        """The environment of `variation`, from the cache where it is there. Raises EnvironmentFailed.

        A failure is remembered: many candidates ask for the same variation.
        """
        # Flags and variables belong to the run, so variations that differ in nothing else share an environment.
        plain = replace(variation, variables=(), flags=())
        with self._lock:
            known = self._built.get(plain)
            if known is None:
                known = self._attempt(plain)
                self._built[plain] = known
        if isinstance(known, EnvironmentFailed):
            raise EnvironmentFailed(str(known), known.detail)
        return replace(known, variables={**self._variables, **dict(variation.variables)})

    def releases(self) -> Sequence[str]:
        """The subject's releases up to the cut-off date, oldest first, at most 60 around its own version.

        Those of a repository are its tags. Pre-releases only if the source is one. Empty for a directory or an archive.
        """
        with self._lock:
            if self._releases is None:
                self._releases = self._list()
            return self._releases

    def older_than(self, version: str, limit: int) -> Sequence[str]:
        """Up to `limit` releases older than `version`, newest (nearest) first."""
        known = [release for release in self.releases() if _version(release) < _version(version)]
        return tuple(reversed(known))[:limit]

    def _attempt(self, variation: Variation) -> Environment | EnvironmentFailed:
        try:
            return self._build(variation)
        except EnvironmentFailed as failure:
            return failure

    def _build(self, variation: Variation) -> Environment:
        python = pythons.choose(
            variation.python or self._python or self._python_hint,
            required=bool(variation.python or self._python),
            requires_python=self._source.requires_python,
            narrate=self._narrate,
        )
        common = Recipe(
            python=python,
            requirements=(*self._requirements, *variation.requirements),
            setup=self._setup,
            as_of=self._as_of,
        )
        source = self._of_version(variation.subject_version)
        wanted = self._with_subject(common, source)
        try:
            return _environment(wanted, self._cache, self._narrate)
        except EnvironmentFailed:
            # A pyproject.toml without [build-system] may belong to an application that only lists what it needs.
            if source.kind not in {"directory", "git"} or wanted.plain or tree.about(source.root).declared:
                raise
            self._narrate("it cannot be built as a package; using it from its path")
            plain = replace(common, source=source.root, content=source.content, plain=True)
            return _environment(plain, self._cache, self._narrate)

    def _with_subject(self, common: Recipe, source: Source) -> Recipe:
        """The recipe that also installs `source`."""
        extras = f"[{','.join(self._extras)}]" if self._extras else ""
        beside = source.root if self._setup else None  # set-up commands get a copy of the tree to work in
        if source.kind == "pypi":
            requirement = f"{source.package}{extras}=={source.version}"
            return replace(common, package=source.package, requirement=requirement, source=beside)
        if not source.requirement:
            return replace(common, source=source.root, content=source.content, plain=True)
        common = replace(common, package=source.package, content=source.content + extras)
        if Path(source.requirement).is_file():
            return replace(
                common, requirement=f"{source.package}{extras} @ {Path(source.requirement).as_uri()}", source=beside
            )
        version = source.version or git.described(source.root)
        return replace(common, requirement=f"TREE{extras}", source=source.root, version=version)

    def _of_version(self, version: str) -> Source:
        """The source itself, or another release of it: from its tags, else from the index."""
        source = self._source
        if not version or version == source.version:
            return source
        if source.kind == "git":
            commit = git.releases(source.root, as_of="").get(version)
            place = git.parse(source.spec)
            if commit is None or place is None:
                raise EnvironmentFailed(f"{source.spec} has no tag of version {version}")
            return open_source(f"{place.address}@{commit}", self._cache, narrate=self._narrate)
        if not source.package or source.kind == "directory":
            raise EnvironmentFailed(f"{source.spec} has no releases, so version {version} cannot be installed")
        return replace(
            source,
            kind="pypi",
            version=version,
            requirement=f"{source.package}=={version}",
            content="",
            root=source.root,
        )

    def _list(self) -> tuple[str, ...]:
        source = self._source
        own = _version(source.version or git.described(source.root))
        if source.kind == "git":
            listed = registry.oldest_first(git.releases(source.root, as_of=self._as_of))
        elif source.kind == "pypi":
            listed = registry.releases(source.package, as_of=self._as_of)
        else:
            return ()
        if not listed and source.kind == "pypi":
            older = registry.step_down(source.package, source.version, as_of=self._as_of, limit=_STEPS)
            return (*reversed(older), source.version)
        known = [version for version in listed if own.is_prerelease or not _version(version).is_prerelease]
        older = tuple(version for version in known if _version(version) < own)
        newer = tuple(version for version in known if _version(version) > own)
        same = tuple(version for version in known if _version(version) == own) or (source.version,) * (
            source.kind == "pypi"
        )
        return (*older[-_OLDER:], *same, *newer[: _NEWER - 1])


def build_plain(
    requirements: Sequence[str], *, python: str = "", as_of: str = "", cache: Path, narrate: Narrator = _silent
) -> Environment:
    """An environment of `requirements` alone: what a script's own header names.

    Raises EnvironmentFailed. `python` ("" for any) must be had.
    """
    chosen = pythons.choose(python, required=bool(python), requires_python="", narrate=narrate)
    wanted = Recipe(python=chosen, requirements=tuple(requirements), as_of=cutoff(as_of))
    return _environment(wanted, cache, narrate)


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0.dev0")


def _environment(wanted: Recipe, cache: Path, narrate: Narrator) -> Environment:
    def make(path: Path) -> None:
        narrate(f"building the environment of {_label(wanted)} on Python {wanted.python.version}")
        recipe.make(wanted, path, narrate)
        (path / "facts.json").write_text(json.dumps(_facts(wanted, path)), "utf-8")

    path = once(cache.absolute() / "environments" / digest(*wanted.key()), make)
    facts = json.loads((path / "facts.json").read_text("utf-8"))
    return Environment(
        python=path / "venv" / "bin" / "python",
        prefix=path / "venv",
        python_version=wanted.python.version,
        package=wanted.package,
        version=facts["version"],
        packages=facts["packages"],
        modules=tuple(facts["modules"]),
        roots=tuple(path / root for root in facts["roots"]),
        paths=tuple(path / name for name in facts["paths"]),
        base_prefixes=wanted.python.prefixes,
        scripts=facts["scripts"],
    )


def _label(wanted: Recipe) -> str:
    return (
        wanted.requirement.replace("TREE", wanted.package)
        or ", ".join(wanted.requirements)
        or str(wanted.source or "no packages")
    )


def _facts(wanted: Recipe, path: Path) -> dict[str, object]:
    """What there is to know of a finished environment, with paths relative to it."""
    found = installed.read(installed.site_packages(path / "venv"), wanted.package)
    facts: dict[str, object] = {
        "version": found.version,
        "packages": found.packages,
        "modules": found.modules,
        "roots": [root.relative_to(path).as_posix() for root in found.roots],
        "paths": [],
        "scripts": found.scripts,
    }
    if wanted.plain:
        tops = layout.top_level(path / "tree")
        facts["modules"] = list(tops)
        facts["roots"] = ["tree"]
        facts["paths"] = list(dict.fromkeys(["tree", *(f"tree/{base}".rstrip("/") for base in tops.values())]))
    return facts
