"""The subject of a report: its source, its environments and an index of what it holds."""

from rebug.subject.environments import UvEnvironments, build_plain
from rebug.subject.extras import implied_extras
from rebug.subject.index import SourceIndex, build_index
from rebug.subject.log_sites import LogSite, sites_of, with_sites
from rebug.subject.source import Source, open_source
from rebug.subject.uv import find_uv

__all__ = [
    "LogSite",
    "Source",
    "SourceIndex",
    "UvEnvironments",
    "build_index",
    "build_plain",
    "find_uv",
    "implied_extras",
    "open_source",
    "sites_of",
    "with_sites",
]
