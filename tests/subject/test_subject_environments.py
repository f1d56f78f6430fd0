"""Building environments: real uv, real interpreters, tiny local packages."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from subject_making import BUILDABLE, make_sdist, make_wheel, write_tree

from rebug.errors import EnvironmentFailed
from rebug.model import Environment, Variation
from rebug.subject import UvEnvironments, build_plain, implied_extras, open_source
from rebug.subject.pythons import Python, nearest
from rebug.subject.recipe import Recipe

OWN = "{}.{}".format(*sys.version_info[:2])


def ask(environment: Environment, expression: str, *modules: str) -> str:
    code = "".join(f"import {module}\n" for module in modules) + f"print({expression})"
    path = os.pathsep.join(map(str, environment.paths))
    done = subprocess.run(
        [environment.python, "-c", code], env={"PYTHONPATH": path}, cwd="/", capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def stocked(shelf: Path) -> Path:
    """demo-one in four releases, 1.1 of which needs helper; and helper."""
    for version in ("0.9", "1.0", "1.1rc1"):
        make_wheel(shelf, "demo-one", version, {"demo_one/__init__.py": f"V = {version!r}\n"})
    make_wheel(
        shelf,
        "demo-one",
        "1.1",
        {"demo_one/__init__.py": "V = '1.1'\n", "demo_extra.py": "", "demo_one-1.1.dist-info/entry_points.txt": ENTRY},
        extra="Requires-Dist: Help.er\n",
    )
    make_wheel(shelf, "Help.er", "2.0", {"helper.py": "H = 2\n"})
    return shelf


ENTRY = "[console_scripts]\ndemo = demo_one.cli:main\n"


def test_a_release_is_installed_with_what_it_needs(stocked: Path, cache: Path) -> None:
    environment = UvEnvironments(open_source("pypi:demo-one==1.1", cache), cache=cache).build(Variation())
    assert (environment.package, environment.version) == ("demo-one", "1.1")
    assert environment.packages == {"demo-one": "1.1", "help-er": "2.0"}
    assert environment.modules == ("demo_extra", "demo_one")
    assert [root.name for root in environment.roots] == ["demo_extra.py", "demo_one"]
    assert all(root.exists() for root in environment.roots)
    assert environment.scripts == {"demo": "demo_one.cli:main"}
    assert environment.python_version == "{}.{}.{}".format(*sys.version_info[:3])
    assert ask(environment, "demo_one.V + str(helper.H)", "demo_one", "helper") == "1.12"
    assert Path(sys.base_prefix).resolve() in environment.base_prefixes


def test_variations_of_a_release(stocked: Path, cache: Path) -> None:
    environments = UvEnvironments(open_source("pypi:demo-one==1.1", cache), cache=cache, variables={"A": "1", "B": "1"})
    older = environments.build(Variation(subject_version="1.0"))
    assert ask(older, "demo_one.V", "demo_one") == "1.0"
    assert "help-er" not in older.packages
    wider = environments.build(Variation(subject_version="1.0", requirements=("help.er==2.0",)))
    assert wider.packages == {"demo-one": "1.0", "help-er": "2.0"}
    varied = environments.build(Variation(subject_version="1.0", variables=(("B", "2"),), flags=("-O",)))
    assert (varied.prefix, varied.variables) == (older.prefix, {"A": "1", "B": "2"})


def test_a_version_that_is_not_there(stocked: Path, cache: Path) -> None:
    environments = UvEnvironments(open_source("pypi:demo-one==1.1", cache), cache=cache)
    with pytest.raises(EnvironmentFailed, match=r"demo-one has no version 7\.7") as caught:
        environments.build(Variation(subject_version="7.7"))
    assert "\n" not in str(caught.value)


def test_releases_of_an_index_without_a_listing(stocked: Path, cache: Path) -> None:
    environments = UvEnvironments(open_source("pypi:demo-one==1.1", cache), cache=cache)
    assert environments.releases() == ("0.9", "1.0", "1.1")
    assert environments.older_than("1.1", 1) == ("1.0",)


def test_a_directory_is_installed_from_a_copy(shelf: Path, tmp_path: Path, cache: Path) -> None:
    root = write_tree(tmp_path / "made", BUILDABLE)
    before = sorted(root.rglob("*"))
    environments = UvEnvironments(open_source(str(root), cache), cache=cache)
    environment = environments.build(Variation())
    assert (environment.package, environment.version, environment.modules) == ("tree-made", "1.5", ("tree_made",))
    assert ask(environment, "tree_made.ANSWER", "tree_made") == "42"
    assert sorted(root.rglob("*")) == before
    assert environments.releases() == ()
    with pytest.raises(EnvironmentFailed):
        environments.build(Variation(subject_version="1.0"))


def test_build_backends_see_no_secret(
    shelf: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hush")
    monkeypatch.setenv("GITHUB_TOKEN", "hush")
    monkeypatch.setenv("HARMLESS", "yes")
    spy = BUILDABLE["backend.py"].replace(
        "    name =", "    open('src/tree_made/seen.py', 'w').write(f'NAMES = {sorted(os.environ)!r}')\n    name ="
    )
    root = write_tree(tmp_path / "made", {**BUILDABLE, "backend.py": spy})
    environment = UvEnvironments(open_source(str(root), cache), cache=cache).build(Variation())
    seen = ask(environment, "' '.join(tree_made.seen.NAMES)", "tree_made.seen").split()
    assert "HARMLESS" in seen
    assert not {"SOME_API_KEY", "GITHUB_TOKEN"} & set(seen)


def test_a_failing_build_shows_its_own_last_lines(shelf: Path, tmp_path: Path, cache: Path) -> None:
    broken = "def build_wheel(*a, **k):\n    raise SystemExit('no compiler was found')\n"
    root = write_tree(tmp_path / "made", {**BUILDABLE, "backend.py": broken})
    with pytest.raises(EnvironmentFailed, match="could not be built") as caught:
        UvEnvironments(open_source(str(root), cache), cache=cache).build(Variation())
    assert "no compiler was found" in caught.value.detail
    assert not list((cache / "environments").glob("*/venv"))


def test_an_application_works_through_its_path(stocked: Path, tmp_path: Path, cache: Path) -> None:
    root = write_tree(tmp_path / "app", {"shop/__init__.py": "X = 7\n", "main.py": "", "requirements.txt": "help.er\n"})
    environment = UvEnvironments(open_source(str(root), cache), cache=cache, requirements=["demo-one==1.0"]).build(
        Variation()
    )
    assert (environment.package, environment.version, environment.modules) == ("", "", ("main", "shop"))
    assert environment.packages == {"demo-one": "1.0", "help-er": "2.0"}
    assert environment.paths == environment.roots
    assert ask(environment, "shop.X + helper.H", "shop", "helper") == "9"


def test_an_application_in_src(shelf: Path, tmp_path: Path, cache: Path) -> None:
    root = write_tree(tmp_path / "app", {"src/shop/__init__.py": "X = 7\n"})
    environment = UvEnvironments(open_source(str(root), cache), cache=cache).build(Variation())
    assert ask(environment, "shop.X", "shop") == "7"


def test_set_up_commands_run_in_the_copy(shelf: Path, tmp_path: Path, cache: Path) -> None:
    root = write_tree(tmp_path / "app", {"shop.py": "from made import M\n"})
    setup = ["echo 'M = 3' > made.py", "python -c 'import sys; print(sys.prefix)' > prefix.txt"]
    # Commands may call pip, so uv seeds it, which takes an index: here it is one on the shelf.
    for name in ("pip", "setuptools", "wheel"):
        make_wheel(shelf, name, "99.0", {f"{name}.py": ""})
    environment = UvEnvironments(open_source(str(root), cache), cache=cache, setup=setup).build(Variation())
    assert ask(environment, "shop.M", "shop") == "3"
    assert (environment.paths[0] / "prefix.txt").read_text().strip() == str(environment.prefix)
    assert not (root / "made.py").exists()
    failing = UvEnvironments(open_source(str(root), cache), cache=cache, setup=["echo oh dear; exit 3"])
    with pytest.raises(EnvironmentFailed, match="exit status 3") as caught:
        failing.build(Variation())
    assert "oh dear" in caught.value.detail


def test_a_required_python_that_is_absent_fails_in_a_line(stocked: Path, cache: Path) -> None:
    source = open_source("pypi:demo-one==1.0", cache)
    with pytest.raises(EnvironmentFailed, match=r"Python 3\.99 is not installed \(there is .*uv python install 3\.99"):
        UvEnvironments(source, cache=cache, python="3.99").build(Variation())
    with pytest.raises(EnvironmentFailed, match="is not a Python version"):
        UvEnvironments(source, cache=cache, python="--version").build(Variation())


def test_the_reports_python_gives_way_to_the_nearest(stocked: Path, cache: Path) -> None:
    told: list[str] = []
    source = open_source("pypi:demo-one==1.0", cache)
    environment = UvEnvironments(source, cache=cache, python_hint="3.99", narrate=told.append).build(Variation())
    assert any("3.99 of the report is not installed" in line for line in told)
    assert ask(environment, "demo_one.V", "demo_one") == "1.0"


def test_the_nearest_python_is_one_that_the_subject_allows() -> None:
    there = [
        Python(version=version, executable=Path(version), prefixes=()) for version in ("3.8.1", "3.11.7", "3.13.0")
    ]
    assert nearest("3.9", "", there) == there[0]
    assert nearest("3.9", ">=3.10", there) == there[1]
    assert nearest("3.12", "", there) == there[2]
    assert nearest("2.7", ">=3.14", there) is None
    assert nearest("3.9", "nonsense", there) == there[0]


def test_an_index_out_of_reach_is_said_to_be(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(EnvironmentFailed, match="index cannot be reached"):
        open_source("pypi:demo-one==1.0", cache)
    with pytest.raises(EnvironmentFailed, match="index cannot be reached"):
        build_plain(["demo-one"], python=OWN, cache=cache)


def test_a_plain_environment_for_a_finished_script(stocked: Path, cache: Path) -> None:
    environment = build_plain(["demo-one==1.1"], python=OWN, cache=cache)
    assert environment.packages == {"demo-one": "1.1", "help-er": "2.0"}
    assert (environment.package, environment.roots) == ("", ())
    assert build_plain(["demo-one==1.1"], python=OWN, cache=cache).prefix == environment.prefix
    assert build_plain([], python=OWN, cache=cache).packages == {}


def test_an_sdist_file_is_built_and_installed(shelf: Path, tmp_path: Path, cache: Path) -> None:
    path = make_sdist(tmp_path, "tree-made", "1.5", BUILDABLE)
    environment = UvEnvironments(open_source(str(path), cache), cache=cache).build(Variation())
    assert (environment.version, ask(environment, "tree_made.ANSWER", "tree_made")) == ("1.5", "42")


BUILDER = """
import sys
from pathlib import Path
from rebug.model import Variation
from rebug.subject import UvEnvironments, open_source
cache = Path(sys.argv[2])
source = open_source(sys.argv[1], cache)
environments = UvEnvironments(source, cache=cache, setup=sys.argv[3:], narrate=print)
print(environments.build(Variation()).prefix)
"""


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", BUILDER, *arguments], stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def test_two_runs_at_once_build_one_environment(stocked: Path, cache: Path) -> None:
    runs = [start("pypi:demo-one==1.1", str(cache)) for _ in range(3)]
    told = [run.communicate(timeout=60)[0].splitlines() for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert len({lines[-1] for lines in told}) == 1
    assert sum(line.startswith("building the environment") for lines in told for line in lines) >= 1
    assert (Path(told[0][-1]) / "bin" / "python").exists()


def test_a_killed_build_leaves_nothing_that_counts(shelf: Path, tmp_path: Path, cache: Path) -> None:
    for name in ("pip", "setuptools", "wheel"):
        make_wheel(shelf, name, "99.0", {f"{name}.py": ""})
    root = write_tree(tmp_path / "app", {"shop.py": "X = 1\n"})
    started, go = tmp_path / "started", tmp_path / "go"
    command = f"touch {started}; test -e {go} || exec sleep 30"
    run = start(str(root), str(cache), command)
    while not started.exists():
        assert run.poll() is None
        time.sleep(0.02)
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    go.touch()
    assert not list((cache / "environments").glob("*/.rebug-complete"))
    environment = UvEnvironments(open_source(str(root), cache), cache=cache, setup=[command]).build(Variation())
    assert ask(environment, "shop.X", "shop") == "1"


def test_the_cache_goes_by_content_and_by_no_path() -> None:
    python = Python(version="3.11.7", executable=Path("/p"), prefixes=())
    one = Recipe(python=python, package="a", requirement="TREE", source=Path("/one"), content="same")
    two = Recipe(python=python, package="a", requirement="TREE", source=Path("/two"), content="same")
    assert one.key() == two.key()
    assert one.key() != Recipe(python=python, package="a", requirement="TREE", content="same", as_of="2024").key()


@pytest.mark.network
def test_a_published_release_and_its_history(cache: Path) -> None:
    source = open_source("pypi:iniconfig==2.0.0", cache, as_of="2023-06-01")
    assert (source.root / "pyproject.toml").is_file()
    environments = UvEnvironments(source, cache=cache, python=OWN, as_of="2023-06-01")
    assert environments.build(Variation()).packages == {"iniconfig": "2.0.0"}
    assert environments.releases() == ("0.1", "1.0.0", "1.0.1", "1.1.0", "1.1.1", "2.0.0")
    assert environments.older_than("2.0.0", 2) == ("1.1.1", "1.1.0")
    with pytest.raises(EnvironmentFailed, match=r"no version 2\.0\.7.*; the nearest are .*2\.0\.0"):
        open_source("pypi:iniconfig==2.0.7", cache)


@pytest.mark.network
def test_dependencies_are_of_their_day(cache: Path) -> None:
    assert open_source("pypi:toolz", cache, as_of="2020-01-01").version == "0.10.0"
    environment = build_plain(["toolz"], python=OWN, as_of="2022-12-01", cache=cache)
    assert environment.packages == {"toolz": "0.12.0"}


def test_an_application_that_only_lists_dependencies(stocked: Path, tmp_path: Path, cache: Path) -> None:
    project = '[project]\nname = "shop"\nversion = "1"\ndependencies = ["help.er"]\n'
    files = {"pyproject.toml": project, "one/__init__.py": "", "two/__init__.py": "X = 5\n"}
    source = open_source(str(write_tree(tmp_path / "app", files)), cache)
    environment = UvEnvironments(source, cache=cache).build(Variation())
    assert environment.packages == {"help-er": "2.0"}
    assert ask(environment, "two.X", "two") == "5"


def test_a_repositorys_releases_are_its_tags(shelf: Path, tmp_path: Path, cache: Path) -> None:
    root = write_tree(tmp_path / "made", BUILDABLE)

    def git(*arguments: str, date: str = "2024-01-01T00:00:00Z") -> None:
        named = {f"GIT_{who}_{what}": "t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        dated = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        subprocess.run(["git", *arguments], cwd=root, env=named | dated, check=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    git("tag", "v1.4")
    git("tag", "-a", "-m", "x", "release-1.5")
    git("tag", "v2.0", "HEAD")
    (root / "src/tree_made/__init__.py").write_text("ANSWER = 43\n")
    git("commit", "-qam", "two")
    git("tag", "not-a-version")
    git("tag", "-a", "-m", "later", "v1.6", date="2024-09-01T00:00:00Z")
    environments = UvEnvironments(open_source(f"file://{root}", cache), cache=cache, as_of="2024-06-01")
    assert environments.releases() == ("1.4", "1.5", "2.0")
    assert ask(environments.build(Variation()), "tree_made.ANSWER", "tree_made") == "43"
    assert ask(environments.build(Variation(subject_version="1.4")), "tree_made.ANSWER", "tree_made") == "42"
    with pytest.raises(EnvironmentFailed, match=r"no tag of version 9\.9"):
        environments.build(Variation(subject_version="9.9"))


@pytest.mark.parametrize(
    ("text", "extras"),
    [
        ("$ pip install 'Demo_One[fast,All]==1.0'", ("all", "fast")),
        ("requirements: demo-one[x]>=2", ("x",)),
        ("demo-one[http]==1.0", ("http",)),
        ("value = demo_one[key]", ()),
        ("pip install other[fast]", ()),
        ("pip install demo-one[" + "a" * 5000, ()),
    ],
)
def test_extras_that_a_report_implies(text: str, extras: tuple[str, ...]) -> None:
    assert implied_extras(text, "demo-one") == extras
