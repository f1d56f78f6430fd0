"""Messages are traced to the statements that give them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebug.intake import find_symptom, parse_report
from rebug.subject import SourceIndex, build_index, sites_of, with_sites
from rebug.subject.log_sites import values_of

SOURCE = """
import logging
import warnings

log = logging.getLogger(__name__)
GONE = "the {} was gone for %d days"


class Feed:
    def fetch(self, url, tries):
        log.warning("fetching %s failed after %d tries", url, tries)
        log.info(f"feed {self.name!r} has {len(self.items)} items")

    def close(self):
        raise FeedError("cannot close " + self.name + " while it is read")


def read(path):
    print("reading {} as {}".format(path, "text"))
    warnings.warn("plain feeds are deprecated since 3.0", DeprecationWarning)
    log.error(_("no such feed: %s" % path))


def days(count):
    log.debug(GONE, count)


def unlike():
    log.warning("fetching is fun")
    log.error("%s", "x")
"""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> SourceIndex:
    root = tmp_path_factory.mktemp("feeds")
    (root / "feeds").mkdir()
    (root / "feeds" / "__init__.py").write_text(SOURCE)
    return build_index(root, ("feeds",), "feeds")


@pytest.mark.parametrize(
    ("message", "function", "kind", "values"),
    [
        ("fetching http://a/b failed after 3 tries", "Feed.fetch", "log", {"url": "http://a/b", "tries": "3"}),
        ("feed 'news' has 12 items", "Feed.fetch", "log", {"self.name": "'news'", "len(self.items)": "12"}),
        ("cannot close news while it is read", "Feed.close", "raise", {}),
        ("reading a.txt as text", "read", "print", {"path": "a.txt", "'text'": "text"}),
        ("plain feeds are deprecated since 3.0", "read", "warning", {}),
        ("no such feed: b.xml", "read", "log", {"path": "b.xml"}),
        ("the {} was gone for 4 days", "days", "log", {"count": "4"}),
    ],
)
def test_sites(index: SourceIndex, message: str, function: str, kind: str, values: dict[str, str]) -> None:
    site = sites_of(index, message)[0]
    assert (site.function, site.kind, dict(values_of(site, message))) == (function, kind, values)


def test_what_the_subject_never_says(index: SourceIndex) -> None:
    assert sites_of(index, "the pool is exhausted, fetching nothing") == ()
    assert sites_of(index, "x") == ()


def test_suspects_begin_with_the_function_that_logs(index: SourceIndex) -> None:
    report = parse_report(
        "# A warning in our log\n\n`Feed.close` is fine.\n\n"
        "```\nWARNING:feeds:fetching http://a failed after 9 tries\n```\n"
    )
    symptom = find_symptom(report, "feeds", ("feeds",))
    assert with_sites(symptom, report, index).suspects[0] == "Feed.fetch"
    untold = replace(symptom, messages=(), missing_messages=())
    assert with_sites(untold, report, index) == untold
