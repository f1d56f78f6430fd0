"""Opening every kind of source, and refusing what is hostile or unusable."""

from __future__ import annotations

import io
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from subject_making import BUILDABLE, make_sdist, make_wheel, write_tree

from rebug.errors import EnvironmentFailed, InputError
from rebug.subject import open_source
from rebug.subject.archives import Bounds, unpack
from rebug.subject.dates import cutoff


def git(root: Path, *arguments: str, date: str = "2024-01-01T00:00:00Z") -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    environment = {"GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date, "PATH": "/usr/bin:/bin", "HOME": str(root)}
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=root, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits on main (2024-01 and 2024-06), the first tagged v1.0, and a branch with a slash."""
    root = write_tree(tmp_path / "repository", {"tool.py": "VERSION = 1\n"})
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    git(root, "tag", "v1.0")
    git(root, "branch", "topic/deep")
    (root / "tool.py").write_text("VERSION = 2\n")
    git(root, "commit", "-qam", "two", date="2024-06-01T00:00:00Z")
    return root


def test_a_directory_is_searched_where_it_is(tmp_path: Path, cache: Path) -> None:
    root = write_tree(tmp_path / "made", BUILDABLE)
    source = open_source(str(root), cache)
    assert (source.kind, source.root, source.package, source.version) == ("directory", root, "tree-made", "1.5")
    assert source.requirement == str(root)
    assert source.requires_python == ">=3.8"


def test_a_directorys_content_decides_not_its_place(tmp_path: Path, cache: Path) -> None:
    one = open_source(str(write_tree(tmp_path / "one", BUILDABLE)), cache)
    two = open_source(str(write_tree(tmp_path / "two", BUILDABLE)), cache)
    (tmp_path / "two" / "src" / "tree_made" / "__init__.py").write_text("ANSWER = 43\n")
    changed = open_source(str(tmp_path / "two"), cache)
    assert one.content == two.content != changed.content


def test_an_application_has_no_requirement(tmp_path: Path, cache: Path) -> None:
    files = {"app.py": "", "pyproject.toml": "[tool.ruff]\nline-length = 100\n"}
    source = open_source(str(write_tree(tmp_path / "app", files)), cache)
    assert (source.requirement, source.package) == ("", "")


def test_a_release_is_read_from_its_sdist(shelf: Path, cache: Path) -> None:
    make_wheel(shelf, "demo-one", "1.0", {"demo_one.py": "WHEEL = 1\n"})
    make_sdist(shelf, "demo-one", "1.0", {"demo_one.py": "SDIST = 1\n", "tests/test_it.py": "def test(): pass\n"})
    source = open_source("pypi:Demo.One[fast]==1.0", cache)
    assert (source.kind, source.requirement, source.version) == ("pypi", "demo-one==1.0", "1.0")
    assert source.extras == ("fast",)
    assert (source.root / "demo_one.py").read_text() == "SDIST = 1\n"


def test_a_release_without_sdist_is_read_from_its_wheel(shelf: Path, cache: Path) -> None:
    make_wheel(shelf, "demo-one", "1.0", {"demo_one.py": "WHEEL = 1\n"})
    told: list[str] = []
    source = open_source("pypi:demo-one", cache, narrate=told.append)
    assert (source.root / "demo_one.py").read_text() == "WHEEL = 1\n"
    assert source.version == "1.0"
    assert any("no source distribution" in line for line in told)


def test_an_unknown_release_names_no_traceback(shelf: Path, cache: Path) -> None:
    make_wheel(shelf, "demo-one", "1.0", {"demo_one.py": ""})
    with pytest.raises(EnvironmentFailed, match=r"demo-one has no version 9\.9"):
        open_source("pypi:demo-one==9.9", cache)


@pytest.mark.parametrize(
    "spec",
    [
        "pypi:",
        "pypi:a b c",
        "pypi:x @ file:///etc",
        "pypi:x; python_version < '3'",
        "/no/such/place",
        "",
        "x" * 5000,
        "-upload",
    ],
)
def test_an_unusable_spec_is_an_input_error(spec: str, cache: Path) -> None:
    with pytest.raises(InputError):
        open_source(spec, cache)


def test_archives_are_sources_too(tmp_path: Path, cache: Path) -> None:
    sdist = open_source(str(make_sdist(tmp_path, "demo-one", "1.0", {"setup.py": "", "demo_one.py": "A = 1\n"})), cache)
    assert (sdist.kind, sdist.package, sdist.version) == ("archive", "demo-one", "1.0")
    assert (sdist.root / "demo_one.py").is_file()
    wheel = open_source(str(make_wheel(tmp_path, "demo-one", "2.0", {"demo_one.py": "A = 2\n"})), cache)
    assert (wheel.package, wheel.version, Path(wheel.requirement).name) == (
        "demo-one",
        "2.0",
        "demo_one-2.0-py3-none-any.whl",
    )


def test_a_repository_at_a_tag_a_branch_and_a_date(repository: Path, cache: Path) -> None:
    def version(spec: str, as_of: str = "") -> str:
        return (open_source(spec, cache, as_of=as_of).root / "tool.py").read_text().strip()

    assert version(f"{repository}@v1.0") == "VERSION = 1"
    assert version(f"{repository}@topic/deep") == "VERSION = 1"
    assert version(f"git+file://{repository}") == "VERSION = 2"
    assert version(f"file://{repository}@main") == "VERSION = 2"
    assert version(f"file://{repository}", as_of="2024-03-01") == "VERSION = 1"
    commit = git(repository, "rev-parse", "HEAD")
    opened = open_source(f"{repository}@{commit}", cache)
    assert (opened.kind, opened.commit) == ("git", commit)


def test_a_moved_branch_is_fetched_anew(repository: Path, cache: Path) -> None:
    open_source(f"file://{repository}@main", cache)
    (repository / "tool.py").write_text("VERSION = 3\n")
    git(repository, "commit", "-qam", "three")
    assert (open_source(f"file://{repository}@main", cache).root / "tool.py").read_text() == "VERSION = 3\n"


def test_unknown_refs_and_repositories_say_so(repository: Path, tmp_path: Path, cache: Path) -> None:
    with pytest.raises(InputError, match="no branch, tag or commit 'nope'"):
        open_source(f"{repository}@nope", cache)
    with pytest.raises(EnvironmentFailed, match="cannot be fetched"):
        open_source(f"file://{tmp_path}/nothing.git", cache)


def test_a_transport_that_runs_commands_is_refused(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(InputError):
        open_source(f"ext::sh -c 'touch {tmp_path}/ran'", cache)
    assert not (tmp_path / "ran").exists()


def tar_of(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as out:
        for info, data in members:
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
    return path


def link(name: str, target: str) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, target
    return info, b""


def test_archives_cannot_write_outside(tmp_path: Path) -> None:
    target = tmp_path / "in" / "target"
    target.mkdir(parents=True)
    bad = tmp_path / "slip.zip"
    with zipfile.ZipFile(bad, "w") as out:
        out.writestr("../slipped.py", "x")
    climbing = tar_of(tmp_path / "climb.tar.gz", (tarfile.TarInfo("../slipped.py"), b"x"))
    through = tar_of(tmp_path / "link.tar.gz", link("a/out", "../../.."), (tarfile.TarInfo("a/out/slipped.py"), b"x"))
    for archive in (bad, climbing):
        with pytest.raises(InputError, match="cannot be unpacked"):
            unpack(archive, target)
    unpack(through, target)
    assert not (target / "a" / "out").is_symlink()
    assert [path.name for path in tmp_path.rglob("slipped.py") if not path.is_relative_to(target)] == []


def test_links_within_the_tree_are_kept(tmp_path: Path) -> None:
    top = tarfile.TarInfo("./")
    top.type = tarfile.DIRTYPE
    hard = tarfile.TarInfo("hard.py")
    hard.type, hard.linkname = tarfile.LNKTYPE, "a/b.py"
    archive = tar_of(
        tmp_path / "a.tar.gz", (top, b""), (tarfile.TarInfo("a/b.py"), b"x"), link("l", "a/b.py"), (hard, b"")
    )
    target = tmp_path / "target"
    target.mkdir()
    unpack(archive, target)
    assert (target / "l").is_symlink()
    assert [(target / name).read_bytes() for name in ("a/b.py", "l", "hard.py")] == [b"x"] * 3


def test_devices_and_outward_links_are_left_out(tmp_path: Path) -> None:
    device = tarfile.TarInfo("dev")
    device.type = tarfile.CHRTYPE
    archive = tar_of(
        tmp_path / "a.tar.gz", (device, b""), link("passwd", "/etc/passwd"), (tarfile.TarInfo("ok.py"), b"x")
    )
    target = tmp_path / "target"
    target.mkdir()
    unpack(archive, target)
    assert sorted(path.name for path in target.iterdir()) == ["ok.py"]


def test_bombs_are_stopped_early(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("zeros", b"\0" * 8_000_000)
    with pytest.raises(InputError, match="unpacks to more than 1 MiB"):
        unpack(bomb, target, Bounds(total_bytes=1 << 20))
    assert sum(path.stat().st_size for path in target.iterdir()) <= 1 << 20
    many = tar_of(tmp_path / "many.tar.gz", *((tarfile.TarInfo(f"f{number}"), b"") for number in range(50)))
    with pytest.raises(InputError, match="more than 20 files"):
        unpack(many, target, Bounds(files=20))
    deep = tar_of(tmp_path / "deep.tar.gz", (tarfile.TarInfo("d/" * 100 + "f"), b""))
    with pytest.raises(InputError, match="deeper"):
        unpack(deep, target)


def test_a_damaged_archive_is_an_input_error(tmp_path: Path, cache: Path) -> None:
    for name in ("broken.tar.gz", "broken.zip", "broken-1.0-py3-none-any.whl"):
        (tmp_path / name).write_bytes(b"PK\3\4 nothing")
        with pytest.raises(InputError, match="cannot be unpacked"):
            open_source(str(tmp_path / name), cache)
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(InputError, match="no archive"):
        open_source(str(tmp_path / "notes.txt"), cache)


def test_cut_off_dates() -> None:
    assert cutoff("") == ""
    assert cutoff("2024-05-31") == "2024-05-31T23:59:59Z"
    assert cutoff("2024-05-31T12:00:00+02:00") == "2024-05-31T10:00:00Z"
    with pytest.raises(InputError, match="not a date"):
        cutoff("last week")


def test_a_cache_that_cannot_be_written_says_so(shelf: Path, tmp_path: Path) -> None:
    make_wheel(shelf, "demo-one", "1.0", {"demo_one.py": ""})
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFailed, match="cannot be written"):
        open_source("pypi:demo-one==1.0", tmp_path / "file" / "cache")
