"""The subject's source: a directory, a repository, an archive or a release, as a tree and as a thing to install."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename

from rebug.errors import EnvironmentFailed, InputError
from rebug.ports import Narrator
from rebug.subject import archives, git, registry, tree
from rebug.subject.cache import digest, once
from rebug.subject.dates import cutoff


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the subject's source lies and how it is installed."""

    spec: str  # as given
    kind: str  # directory | git | archive | pypi
    root: Path  # the tree to search
    package: str = ""  # normalised distribution name, "" for an application that is not a package
    version: str = ""
    commit: str = ""
    requirement: str = ""  # what uv installs: "name==version" or a path; "" for a plain path
    modules: tuple[str, ...] = ()  # top-level import names where known beforehand
    requires_python: str = ""  # a version specifier
    content: str = ""  # digest of what is installed; the environments' cache goes by it
    extras: tuple[str, ...] = ()  # named in the spec


def _silent(_line: str) -> None:
    """Narrate nothing."""


def open_source(spec: str, cache: Path, *, as_of: str = "", narrate: Narrator = _silent) -> Source:
    """The subject that `spec` names; what has to be fetched or unpacked is kept under `cache`.

    Raises InputError for a spec that names nothing usable, EnvironmentFailed when it cannot be fetched.
    """
    date = cutoff(as_of)
    spec = spec.strip()
    if spec.startswith("pypi:"):
        return _release(spec, cache, date, narrate)
    if not spec:
        raise InputError("the source is empty; give a directory, an archive, a git repository or pypi:NAME==VERSION")
    path = Path(spec).expanduser()
    if _exists(path) and path.is_dir() and not git.is_bare(path):
        return _directory(spec, path.resolve())
    if _exists(path) and path.is_file():
        return _archive(spec, path.resolve(), cache)
    if re.match(r"https?://", spec) and archives.is_archive(Path(urlsplit(spec).path)):
        return _fetched(spec, cache, narrate)
    place = git.parse(spec)
    if place is not None:
        return _repository(spec, place, cache, date, narrate)
    raise InputError(
        f"source {spec[:200]!r} is no directory, archive, git repository or pypi:NAME==VERSION; check its spelling"
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long, or with a NUL in it
        return False


def _directory(spec: str, root: Path) -> Source:
    names = tree.files(root)
    if not names:
        raise InputError(f"source {spec[:200]!r} is an empty directory")
    return _from_tree(spec, "directory", root, content=tree.digest(root, names), commit=git.head(root))


def _from_tree(spec: str, kind: str, root: Path, *, content: str, commit: str = "") -> Source:
    told = tree.about(root)
    return Source(
        spec=spec,
        kind=kind,
        root=root,
        package=told.name if told.installable else "",
        version=told.version,
        commit=commit,
        requirement=str(root) if told.installable else "",
        requires_python=told.requires_python,
        content=content,
    )


def _repository(spec: str, place: git.Place, cache: Path, as_of: str, narrate: Narrator) -> Source:
    root, commit = git.checkout(place, cache / "sources", as_of=as_of, narrate=narrate)
    return _from_tree(spec, "git", root, content=commit, commit=commit)


def _fetched(spec: str, cache: Path, narrate: Narrator) -> Source:
    name = unquote(urlsplit(spec).path).rpartition("/")[2]
    narrate(f"fetching {name}")

    def make(path: Path) -> None:
        archives.download(spec, path / name, sha256="")

    return _archive(spec, once(cache / "downloads" / digest("url", spec), make) / name, cache)


def _archive(spec: str, path: Path, cache: Path) -> Source:
    if not archives.is_archive(path):
        raise InputError(f"source {spec[:200]!r} is a file, but no archive ({', '.join(archives.SUFFIXES)})")
    with path.open("rb") as handle:
        content = _sha256(handle.read())
    unpacked = once(
        cache / "sources" / digest("archive", content, path.name), lambda target: archives.unpack(path, target)
    )
    source = _from_tree(spec, "archive", archives.only_directory(unpacked), content=content)
    name, version = _named(path.name)
    if path.suffix != ".whl":
        return _replaced(
            source, package=source.package or (name if source.requirement else ""), version=source.version or version
        )
    return _replaced(source, package=name, version=version, requirement=str(path))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _replaced(source: Source, *, package: str, version: str, requirement: str = "") -> Source:
    return replace(source, package=package, version=version, requirement=requirement or source.requirement)


def _named(filename: str) -> tuple[str, str]:
    try:
        if filename.endswith(".whl"):
            name, version, _, _ = parse_wheel_filename(filename)
        else:
            name, version = parse_sdist_filename(filename)
    except (InvalidWheelFilename, InvalidSdistFilename):
        return "", ""
    return name, str(version)


def _release(spec: str, cache: Path, as_of: str, narrate: Narrator) -> Source:
    wanted = spec.removeprefix("pypi:").strip()
    try:
        requirement = Requirement(wanted)
    except InvalidRequirement as error:
        raise InputError(f"source {spec[:200]!r} is not of the form pypi:NAME==VERSION") from error
    if requirement.url or requirement.marker:
        raise InputError(
            f"source {spec[:200]!r} has an address or a marker; write pypi:NAME==VERSION, or the address alone"
        )
    plain = f"{requirement.name}{requirement.specifier}"
    pinned = re.fullmatch(r"===?([^*,;]{1,60})", str(requirement.specifier))
    if not pinned:
        plain = _latest(plain, as_of)
        narrate(f"{wanted} is {plain}")
    fetched = once(
        cache / "sources" / digest("release", plain.lower()), lambda path: _fetch_release(plain, path, narrate)
    )
    told = json.loads((fetched / "release.json").read_text("utf-8"))
    root = archives.only_directory(fetched / "tree")
    about = tree.about(root)
    return Source(
        spec=spec,
        kind="pypi",
        root=root,
        package=told["name"],
        version=told["version"],
        requirement=f"{told['name']}=={told['version']}",
        requires_python=about.requires_python,
        content=f"{told['name']}=={told['version']}",
        extras=tuple(sorted(requirement.extras)),
    )


def _latest(requirement: str, as_of: str) -> str:
    release = registry.resolve(requirement, as_of=as_of)
    return f"{release.name}=={release.version}"


def _fetch_release(requirement: str, path: Path, narrate: Narrator) -> None:
    """Unpack the release into path/tree, its name and version into path/release.json."""
    # The version is the user's own word, so the date does not hide it: a report may carry a wrong date.
    release = registry.resolve(requirement, as_of="")
    narrate(f"fetching the source of {release.name} {release.version}")
    (path / "tree").mkdir()
    if not release.archives:
        raise EnvironmentFailed(f"{requirement} has no archive to read the source from")
    chosen = release.archives[0]
    name = unquote(urlsplit(chosen.where).path).rpartition("/")[2]
    target = path / name
    if "://" in chosen.where:
        archives.download(chosen.where, target, sha256=chosen.sha256)
    else:
        shutil.copyfile(chosen.where, target)
    archives.unpack(target, path / "tree")
    target.unlink()
    if name.endswith(".whl"):
        narrate(f"{release.name} {release.version} has no source distribution; searching its wheel")
    told = {"name": release.name, "version": release.version}
    (path / "release.json").write_text(json.dumps(told), "utf-8")
