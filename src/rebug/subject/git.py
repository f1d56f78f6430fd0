"""Repositories as sources: fetched bare once, then checked out by commit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from packaging.version import InvalidVersion, Version

from rebug.errors import EnvironmentFailed, InputError
from rebug.ports import Narrator
from rebug.subject import uv
from rebug.subject.cache import digest, locked, once, remove

_URL = re.compile(r"(?:git\+)?(?:https?|ssh|git|file)://|[\w.-]{1,64}@[\w.-]{1,200}:")
_FORGE_REF = re.compile(r"(https?://[^/]+/[^/]+/[^/]+)/(?:-/)?(?:tree|commit|releases/tag)/([^?#]+)\Z")
# Other transports (ext::, fd::) run commands of the address's author.
_PROTOCOLS = {"GIT_ALLOW_PROTOCOL": "https:http:ssh:git:file", "GIT_LFS_SKIP_SMUDGE": "1"}
_SECONDS = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A repository (an address or a local path) and a ref in it ("" for its default branch)."""

    address: str
    ref: str


def parse(spec: str) -> Place | None:
    """Where `spec` (URL[@ref] or PATH@ref) leads, None when it is neither. Reads the file system for paths."""
    if spec.startswith("-"):
        return None
    forge = _FORGE_REF.match(spec)
    if forge:
        return Place(address=forge.group(1), ref=forge.group(2))
    if _URL.match(spec):
        return _parse_address(spec.removeprefix("git+"))
    for cut in [*[match.start() for match in re.finditer("@", spec)][:-9:-1], len(spec)]:
        path = Path(spec[:cut]).expanduser()
        if cut and _is_repository(path):
            return Place(address=str(path.resolve()), ref=spec[cut + 1 :])
    return None


def _parse_address(address: str) -> Place:
    # The user's part (git@host) is no ref, so look behind the host only.
    host = re.match(r"[a-z]+://[^/]*/?|[^:/]+:", address)
    start = host.end() if host else 0
    before, at, ref = address[start:].rpartition("@")
    return Place(address=address[:start] + before, ref=ref) if at else Place(address=address, ref="")


def _is_repository(path: Path) -> bool:
    try:
        return path.is_dir() and ((path / ".git").exists() or is_bare(path))
    except (OSError, ValueError):  # a name too long, or with a NUL in it
        return False


def is_bare(path: Path) -> bool:
    """True for a repository without a work tree."""
    return (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()


def head(root: Path) -> str:
    """The commit a work tree stands at, "" when there is none."""
    if not (root / ".git").exists():
        return ""
    try:
        return _git("rev-parse", "--verify", "--quiet", "HEAD", cwd=root).stdout.strip()
    except EnvironmentFailed:
        return ""


def checkout(place: Place, cache: Path, *, as_of: str, narrate: Narrator) -> tuple[Path, str]:
    """The tree at the place's ref, and its commit.

    Without a ref it is the default branch's last commit up to `as_of`. Raises InputError for an unknown ref,
    EnvironmentFailed when the repository cannot be fetched.
    """
    bare = cache / f"git-{digest(place.address)}"
    with locked(bare):
        commit = _known(bare, place)
        if not commit:
            narrate(f"fetching {place.address}")
            _fetch(bare, place.address)
            commit = _resolve(bare, place, as_of)
    target = once(cache / f"tree-{digest(place.address, commit)}", lambda path: _extract(bare, commit, path, narrate))
    return target / "tree", commit


def _known(bare: Path, place: Place) -> str:
    """The commit, when the ref is one that cannot move and is here already; "" otherwise."""
    if not is_bare(bare) or not re.fullmatch(r"[0-9a-f]{40}", place.ref):
        return ""
    return _commit(bare, place.ref)


def _fetch(bare: Path, address: str) -> None:
    if not is_bare(bare):
        remove(bare)
        bare.parent.mkdir(parents=True, exist_ok=True)
        done = _git("clone", "--quiet", "--bare", "--no-hardlinks", "--", address, str(bare), cwd=bare.parent)
        if not done.ok:
            remove(bare)
    else:
        done = _git("fetch", "--quiet", "--force", "--tags", "--", address, "+refs/heads/*:refs/heads/*", cwd=bare)
    if not done.ok:
        last = done.detail.splitlines()[-1] if done.detail else "git gave no reason"
        raise EnvironmentFailed(f"the repository {address} cannot be fetched: {last[:300]}", done.detail)


def _resolve(bare: Path, place: Place, as_of: str) -> str:
    if place.ref:
        commit = _commit(bare, place.ref) or _commit(bare, f"refs/remotes/origin/{place.ref}")
        if not commit:
            raise InputError(f"{place.address} has no branch, tag or commit {place.ref!r}")
        return commit
    limit = [f"--before={as_of}"] if as_of else []
    commit = _git("rev-list", "-1", *limit, "HEAD", "--", cwd=bare).stdout.strip()
    if not commit:
        raise InputError(
            f"{place.address} has no commit{f' as of {as_of}' if as_of else ''}; name one as {place.address}@REF"
        )
    return commit


def _commit(bare: Path, ref: str) -> str:
    done = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", cwd=bare)
    return done.stdout.strip().splitlines()[-1] if done.ok and done.stdout.strip() else ""


def _extract(bare: Path, commit: str, target: Path, narrate: Narrator) -> None:
    """A work tree of its own (with .git, since versions are often derived from tags), with submodules if possible."""
    steps = (
        ("clone", "--quiet", "--shared", "--no-checkout", "--", str(bare), str(target / "tree")),
        ("-C", str(target / "tree"), "checkout", "--quiet", "--detach", commit),
    )
    for step in steps:
        done = _git(*step, cwd=target)
        if not done.ok:
            raise EnvironmentFailed(f"commit {commit[:12]} cannot be checked out", done.detail)
    if (target / "tree" / ".gitmodules").is_file():
        done = _git("submodule", "update", "--init", "--recursive", "--quiet", cwd=target / "tree")
        if not done.ok:
            narrate("the repository's submodules could not be fetched; going on without them")


def _git(*arguments: str, cwd: Path) -> uv.Outcome:
    hardened = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0")
    return uv.run(["git", *hardened, *arguments], cwd=cwd, variables=_PROTOCOLS, seconds=_SECONDS)


def described(root: Path) -> str:
    """A version from the nearest tag, "0.0.0" where there is none and "" outside of a repository."""
    if not (root / ".git").exists():
        return ""
    try:
        done = _git("describe", "--tags", "--long", "--match", "*[0-9]*.[0-9]*", cwd=root)
    except EnvironmentFailed:
        return ""
    matched = re.fullmatch(r"[^0-9]{0,40}(\d+(?:\.\d+){0,4})\S{0,20}?-(\d+)-g([0-9a-f]+)", done.stdout.strip())
    if not done.ok or matched is None:
        return "0.0.0"
    tag, distance, commit = matched.groups()
    return tag if distance == "0" else f"{tag}.post{distance}+g{commit}"


def releases(root: Path, *, as_of: str) -> dict[str, str]:
    """Versions that the repository's tags name, up to `as_of` (RFC 3339 in UTC, "" for all) → their commits."""
    form = "%(refname:short)%09%(creatordate:unix)%09%(objectname)%09%(*objectname)"
    done = _git("for-each-ref", f"--format={form}", "refs/tags", cwd=root)
    limit = datetime.fromisoformat(as_of).timestamp() if as_of else float("inf")
    found: dict[str, str] = {}
    for line in done.stdout.splitlines() if done.ok else ():
        name, moment, tag, commit = (line.split("\t") + [""] * 3)[:4]
        version = _tagged_version(name)
        if version and moment.isdigit() and int(moment) <= limit:
            found[version] = commit or tag
    return found


def _tagged_version(tag: str) -> str:
    """The version in a tag such as v1.2, release-1.2 or package/1.2.0rc1, "" when it holds none."""
    matched = re.search(r"(?:^|[^0-9.])(\d{1,6}(?:\.\d{1,8}){1,4}[0-9A-Za-z.+-]{0,30})\Z", tag)
    try:
        return str(Version(matched.group(1))) if matched else ""
    except InvalidVersion:
        return ""
