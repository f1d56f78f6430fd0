"""What the package index knows of a distribution, asked through uv so that its configuration counts."""

from __future__ import annotations

import json
import re
import ssl
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from rebug.errors import EnvironmentFailed
from rebug.subject import uv

_EVERY_PYTHON = "3.99"  # so that a release's Requires-Python does not hide it from a resolution without dependencies
_LARGEST_PAGE = 64 << 20
_SIMPLE_JSON = "application/vnd.pypi.simple.v1+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A file of a release: where it lies (a URL or a path), its SHA-256 ("" when unknown)."""

    where: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One resolved release and the archives to read its source from, best first (the sdist, then wheels)."""

    name: str
    version: str
    archives: tuple[Archive, ...]


def resolve(requirement: str, *, as_of: str) -> Release:
    """The release that uv picks for `requirement` alone; nothing of it is run or built.

    Raises EnvironmentFailed: the index cannot be reached, or has no such release.
    """
    with TemporaryDirectory() as directory:
        outcome = _compile(requirement, Path(directory), as_of=as_of, form="pylock.toml")
        if not outcome.ok:
            raise refusal(outcome, requirement, as_of=as_of)
        locked = tomllib.loads(outcome.stdout)["packages"][0]
    sdist = [locked["sdist"]] if "sdist" in locked else []
    wheels = sorted(locked.get("wheels", ()), key=_native)
    archives = [
        Archive(where=entry.get("url") or entry["path"], sha256=entry.get("hashes", {}).get("sha256", ""))
        for entry in [*sdist, *wheels, *([locked["archive"]] if "archive" in locked else [])]
    ]
    return Release(name=canonicalize_name(locked["name"]), version=locked["version"], archives=tuple(archives))


def refusal(outcome: uv.Outcome, requirement: str, *, as_of: str) -> EnvironmentFailed:
    """uv's refusal of one requirement in a line."""
    when = f" as of {as_of}" if as_of else ""
    if outcome.network:
        return EnvironmentFailed(
            "the package index cannot be reached; check the network and uv's configuration", outcome.detail
        )
    name = re.split(r"[\[<>=!~ ;@]", requirement, maxsplit=1)[0]
    pinned = requirement.partition("==")[2].strip()
    if outcome.unknown and pinned:
        near = nearest(pinned, [v for v in releases(name, as_of=as_of) if not _key(v).is_prerelease])
        known = f"the nearest are {', '.join(near)}" if near else "the index has none of that name"
        return EnvironmentFailed(f"{name} has no version {pinned}{when}; {known}", outcome.detail)
    if outcome.unknown:
        return EnvironmentFailed(f"the package index has nothing for {requirement}{when}", outcome.detail)
    last = outcome.detail.splitlines()[-1].strip() if outcome.detail else "uv gave no reason"
    return EnvironmentFailed(f"{requirement} cannot be resolved{when}: {last[:300]}", outcome.detail)


def releases(name: str, *, as_of: str) -> tuple[str, ...]:
    """Every version the index lists for `name` up to `as_of`, oldest first, yanked ones left out; () when unknown."""
    with TemporaryDirectory() as directory:
        outcome = _compile(name, Path(directory), as_of="", form="requirements.txt", more=("--emit-index-annotation",))
    found = re.search(r"# from (https?://\S{1,500})", outcome.stdout)
    page = _page(found.group(1), name) if found else None
    return _listed(page, as_of) if page is not None else ()


def step_down(name: str, version: str, *, as_of: str, limit: int) -> tuple[str, ...]:
    """Up to `limit` releases older than `version`, newest first, found one resolution at a time.

    For indexes that have no listing to read (a directory of files, a private index behind credentials).
    """
    found: list[str] = []
    with TemporaryDirectory() as directory:
        while len(found) < limit:
            outcome = _compile(f"{name}<{version}", Path(directory), as_of=as_of, form="requirements.txt")
            matched = re.search(r"^[A-Za-z0-9._-]+==(\S{1,100})", outcome.stdout, re.MULTILINE)
            if not outcome.ok or matched is None:
                break
            version = matched.group(1)
            found.append(version)
    return tuple(found)


def nearest(version: str, known: Sequence[str], count: int = 5) -> tuple[str, ...]:
    """The `count` of `known` (oldest first) that stand around `version`."""
    place = len([other for other in known if _key(other) < _key(version)])
    start = max(0, min(place - (count + 1) // 2, len(known) - count))
    return tuple(known[start : start + count])


def oldest_first(versions: Iterable[str]) -> tuple[str, ...]:
    """`versions` in order; those that are no versions are left out."""
    return tuple(sorted((version for version in set(versions) if _key(version) is not _NONE), key=_key))


_NONE = Version("0.dev0")


def _key(version: str) -> Version:
    try:
        return Version(version)
    except InvalidVersion:
        return _NONE


def _native(entry: dict[str, object]) -> bool:
    return "-none-any" not in str(entry.get("url") or entry.get("path") or entry.get("name"))


def _compile(requirement: str, directory: Path, *, as_of: str, form: str, more: Sequence[str] = ()) -> uv.Outcome:
    (directory / "requirements.in").write_text(requirement + "\n", "utf-8")
    arguments = ["pip", "compile", "requirements.in", "--no-deps", "--no-header", "--format", form]
    # Naming an interpreter spares uv a search through all of them; the release is resolved for none in particular.
    arguments += ["--python", str(Path(sys.executable).resolve()), "--python-version", _EVERY_PYTHON, *more]
    arguments += ["--exclude-newer", as_of] if as_of else []
    return uv.uv(*arguments, cwd=directory, seconds=120)


def _page(index: str, name: str) -> dict[str, object] | None:
    """The index's page of a distribution, None where it has no JSON form (PEP 691) or asks for credentials."""
    url = f"{index.rstrip('/')}/{quote(canonicalize_name(name))}/"
    try:
        request = urllib.request.Request(url, headers={"Accept": _SIMPLE_JSON, "User-Agent": "rebug"})  # noqa: S310
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 (http or https, matched by the caller)
            page = json.loads(answer.read(_LARGEST_PAGE))
    except (urllib.error.URLError, ssl.SSLError, TimeoutError, ConnectionError, ValueError):
        return None
    return page if isinstance(page, dict) and isinstance(page.get("files"), list) else None


def _listed(page: dict[str, object], as_of: str) -> tuple[str, ...]:
    files = page["files"]
    assert isinstance(files, list)
    found = {
        version
        for entry in files
        if isinstance(entry, dict) and not entry.get("yanked") and (not as_of or _uploaded(entry, as_of))
        if (version := _version_of(str(entry.get("filename", "")), str(page.get("name", ""))))
    }
    return oldest_first(found)


def _uploaded(entry: dict[str, object], as_of: str) -> bool:
    moment = entry.get("upload-time")
    # Both are RFC 3339 in UTC, so text order is time order down to the second.
    return isinstance(moment, str) and moment[:19] <= as_of[:19]


def _version_of(filename: str, name: str) -> str:
    """The version in an archive's name, "" when it has none."""
    stem = re.sub(r"\.(?:whl|zip|tar\.(?:gz|bz2|xz)|tgz|tar)\Z", "", filename)
    if filename.endswith(".whl"):
        return stem.split("-")[1] if stem.count("-") >= 4 else ""
    if stem == filename:
        return ""
    for cut in [match.start() for match in re.finditer("-", stem)]:
        if canonicalize_name(stem[:cut]) == canonicalize_name(name):
            return stem[cut + 1 :] if _key(stem[cut + 1 :]) is not _NONE else ""
    return ""
