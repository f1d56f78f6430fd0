"""Downloading and unpacking of untrusted archives within bounds."""

from __future__ import annotations

import hashlib
import os
import shutil
import ssl
import stat
import tarfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rebug.errors import EnvironmentFailed, InputError

_CHUNK = 1 << 20
_YEAR_1980 = 315_619_200  # seconds; wheels are zip files, which cannot hold earlier dates than reproducible sdists do
SUFFIXES = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar", ".zip", ".whl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What one archive may unpack to."""

    total_bytes: int = 1 << 30
    files: int = 60_000
    download_bytes: int = 512 << 20
    depth: int = 60  # directories above a file


def is_archive(path: Path) -> bool:
    """True for the names of archives that can be unpacked here."""
    return path.name.lower().endswith(SUFFIXES)


def download(url: str, target: Path, *, sha256: str, bounds: Bounds | None = None) -> Path:
    """Fetch `url` (http, https or file) into `target`, checking its SHA-256 unless that is "".

    Raises EnvironmentFailed when it cannot be had, is larger than the bound, or is not what the index promised.
    """
    if not url.startswith(("https://", "http://", "file://")):
        raise EnvironmentFailed(f"{url[:200]} is not an address that a source archive can be fetched from")
    limit = (bounds or Bounds()).download_bytes
    hasher = hashlib.sha256()
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "rebug"})  # noqa: S310 (scheme checked above)
        with urllib.request.urlopen(request, timeout=60) as answer, target.open("wb") as out:  # noqa: S310
            size = 0
            while chunk := answer.read(_CHUNK):
                size += len(chunk)
                if size > limit:
                    raise EnvironmentFailed(f"{url[:200]} is larger than {limit >> 20} MiB")
                hasher.update(chunk)
                out.write(chunk)
    except (urllib.error.URLError, ssl.SSLError, TimeoutError, ConnectionError) as error:
        raise EnvironmentFailed(f"{url[:200]} could not be fetched: {getattr(error, 'reason', error)}") from error
    if sha256 and hasher.hexdigest() != sha256:
        raise EnvironmentFailed(f"{url[:200]} is not what the package index promised (its SHA-256 differs)")
    return target


def unpack(archive: Path, target: Path, bounds: Bounds | None = None) -> None:
    """Unpack into the existing directory `target`.

    Raises InputError for what is no archive, leaves the target, or unpacks to more than the bounds.
    """
    try:
        if zipfile.is_zipfile(archive):
            _unzip(archive, target, bounds or Bounds())
        else:
            _untar(archive, target, bounds or Bounds())
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, UnicodeError, ValueError) as error:
        raise InputError(f"{archive.name} cannot be unpacked: {error}") from error
    except (OSError, RuntimeError, NotImplementedError) as error:
        raise InputError(f"{archive.name} cannot be unpacked: {error}") from error


def only_directory(target: Path) -> Path:
    """The one directory an archive holds, else the directory it was unpacked to."""
    entries = [entry for entry in target.iterdir() if not entry.name.startswith((".", "pax_global_header"))]
    return entries[0] if len(entries) == 1 and entries[0].is_dir() and not entries[0].is_symlink() else target


class _Meter:
    """Counts what is unpacked, and refuses what goes over the bounds."""

    def __init__(self, name: str, bounds: Bounds) -> None:
        self._name, self._bounds, self._bytes, self._files = name, bounds, 0, 0

    def file(self, path: str) -> None:
        self._files += 1
        if self._files > self._bounds.files:
            raise InputError(f"{self._name} holds more than {self._bounds.files} files")
        if path.count("/") > self._bounds.depth:
            raise InputError(f"{self._name} holds directories nested deeper than {self._bounds.depth}")

    def add(self, size: int) -> None:
        self._bytes += size
        if self._bytes > self._bounds.total_bytes:
            raise InputError(f"{self._name} unpacks to more than {self._bounds.total_bytes >> 20} MiB")


def _untar(archive: Path, target: Path, bounds: Bounds) -> None:
    meter = _Meter(archive.name, bounds)
    with tarfile.open(archive) as tar:
        for member in tar:
            meter.file(member.name)
            meter.add(member.size)
            if member.isfile() or member.isdir() or member.issym() or member.islnk():
                _extract(tar, member, target, archive.name)


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path, name: str) -> None:
    """Write one member. tarfile's own filters would do, but Pythons before 3.11.4 do not have them."""
    root = target.resolve()
    path = root / _inside(member.name, name)
    if path == root:  # "./", as `tar -C DIR .` writes it
        return
    if not path.parent.resolve().is_relative_to(root):
        raise InputError(f"{name} cannot be unpacked: {member.name!r} lies outside of it")
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if member.isfile():
        path.unlink(missing_ok=True)  # never through a link that an earlier member made
        packed = tar.extractfile(member)
        assert packed is not None
        with packed, path.open("wb") as out:
            shutil.copyfileobj(packed, out)
        path.chmod(0o755 if member.mode & stat.S_IXUSR else 0o644)
        modified = max(member.mtime, _YEAR_1980)
        os.utime(path, (modified, modified))
        return
    _link(member, path, root)


def _link(member: tarfile.TarInfo, path: Path, root: Path) -> None:
    """Make a link; one out of the tree, or to nothing in it, is left out: sdists of real projects hold some."""
    aim = path.parent / member.linkname if member.issym() else root / member.linkname
    if member.linkname.startswith("/") or not aim.resolve().is_relative_to(root) or path.is_dir():
        return
    path.unlink(missing_ok=True)
    if member.issym():
        path.symlink_to(member.linkname)
    elif aim.is_file():
        shutil.copyfile(aim, path)


def _inside(member: str, name: str) -> PurePosixPath:
    """A member's path below the target. Raises InputError for one that leaves it."""
    inside = PurePosixPath(member.replace("\\", "/"))
    if inside.is_absolute() or ".." in inside.parts or ":" in member.split("/", maxsplit=1)[0]:
        raise InputError(f"{name} cannot be unpacked: {member!r} lies outside of it")
    return inside


def _unzip(archive: Path, target: Path, bounds: Bounds) -> None:
    meter = _Meter(archive.name, bounds)
    with zipfile.ZipFile(archive) as bundle:
        for info in bundle.infolist():
            meter.file(info.filename)
            if stat.S_ISLNK(info.external_attr >> 16):
                continue
            path = target / _inside(info.filename, archive.name)
            if info.is_dir():
                path.mkdir(parents=True, exist_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            # The sizes a zip declares are its author's word, so what is counted is what comes out.
            with bundle.open(info) as packed, path.open("wb") as out:
                for chunk in iter(lambda: packed.read(_CHUNK), b""):
                    meter.add(len(chunk))
                    out.write(chunk)


def copy_tree(root: Path, names: Iterator[str], target: Path) -> None:
    """Copy the files `names` (relative to `root`) into `target`, links as links."""
    for name in names:
        destination = target / name
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, destination, follow_symlinks=False)
