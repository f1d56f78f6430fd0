"""Whether a report speaks of a leak: something that is taken with every call and never given back. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rebug.intake.prose import Sentence
from rebug.model import BlockKind, Report

_THINGS = (
    r"(?:memory|RAM|RSS|heap|objects?|instances?|(?:file )?(?:descriptors?|handles?)|fds?|sockets?|connections?"
    r"|threads?|(?:asyncio )?tasks?|coroutines?|(?:child )?process(?:es)?|zombies?|references?|callbacks?|listeners?"
    r"|timers?|temp(?:orary)? (?:files?|director(?:y|ies)))"
)
_GROWS = r"(?:grow(?:s|ing|n)?|increas(?:e|es|ing)|ris(?:e|es|ing)|climb(?:s|ing)?|goes up|go up|swells?|explodes?)"
WORDS = re.compile(
    rf"\bleak(?:s|ed|ing|age|y)?\b|\b{_THINGS}-?leaks?\b"
    rf"|\b(?:memory|RAM|RSS|heap) (?:usage |consumption |footprint |use )?(?:\w+ ){{0,3}}?{_GROWS}\b"
    r"|\b(?:never|not) (?:be(?:ing|en)? )?(?:garbage[- ]collected|freed|released|deallocated|reclaimed)\b"
    r"|\bunbounded(?:ly)? (?:memory|grow\w{0,3})|\b(?:OOM|out of memory|too many open files)\b"
    r"|\b(?:loses?|losing|eats?(?: up)?|eating(?: up)?|hogs?|retains?) (?:\w+ ){0,2}?(?:memory|RAM)\b"
    rf"|\bnever (?:gives?|gave|hands?|releases?|frees?|returns?|closes?) (?:\w+ ){{0,3}}?{_THINGS}\b"
    rf"|\bmore and more {_THINGS}\b|\b(?:bigger and bigger|grows and grows)\b"
    rf"|\b(?:number|count|amount) of (?:\w+ ){{0,2}}?{_THINGS} (?:\w+ ){{0,3}}?{_GROWS}\b"
    rf"|\b{_THINGS} (?:\w+ ){{0,3}}?(?:pil(?:e|es|ing) up|accumulat(?:e|es|ing)|(?:stays?|left|kept|remains?) (?:open"
    r"|alive|around|in memory))\b"
    r"|\b(?:process|service|worker|server|daemon|application|app|program|cache|registry|heap|usage|footprint) keeps?"
    r" (?:on )?growing\b|\bnever lets? go of\b"
    r"|\b(?:stays?|kept|keeps?) (?:\w+ ){0,3}?(?:alive|in memory) (?:forever|for ever|for good|until)\b",
    re.IGNORECASE,
)
"""Words that say so. Alternatives are bounded, so that a hostile text costs linear time."""

_MEASURES = re.compile(
    r"\bru_maxrss\b|\btracemalloc\.(?:get_traced_memory|take_snapshot)|\bmemory_(?:full_)?info\(|\bnum_fds\("
    r"|\blen\(gc\.get_objects\(\)\)|/proc/(?:self|\{?[\w.()]{1,20}\}?)/(?:fd|statm|status)\b|\bthreading\.active_count\("
    r"|\blen\(asyncio\.all_tasks\(|\bobjgraph\.|\bmemory_profiler\b|\blen\(threading\.enumerate\("
)
_REPEATS = re.compile(r"^\s*(?:for|while|async for)\b", re.MULTILINE)


def measured(report: Report) -> Sentence | None:
    """The line of the report's code that measures, in a program that repeats something, what the process holds."""
    for block in report.blocks:
        if block.kind is BlockKind.PYTHON and not block.attachment and _REPEATS.search(block.text):
            for offset, line in enumerate(block.text.split("\n")[:2000]):
                if _MEASURES.search(line[:2000]):
                    return Sentence(line.strip(), block.line + offset)
    return None


def resources(sentences: Sequence[str]) -> frozenset[str]:
    """What is said to leak: names of the leak instrument's resources; empty when the words name none."""
    text = "\n".join(sentences)
    return frozenset(name for name, pattern in _RESOURCES.items() if pattern.search(text))


_RESOURCES = {
    "descriptors": re.compile(
        r"\b(?:descriptors?|file handles?|fds?|num_fds|sockets?|connections?|pipes?|open files)\b|/proc/self/fd\b",
        re.IGNORECASE,
    ),
    "threads": re.compile(r"\bthreads?\b|\bactive_count\b", re.IGNORECASE),
    "tasks": re.compile(r"\btasks?\b|\ball_tasks\b", re.IGNORECASE),
    "processes": re.compile(r"\b(?:child|worker|sub)?-?process(?:es)\b|\bzombies?\b|\bsubprocess\b", re.IGNORECASE),
    "cycles": re.compile(r"\b(?:reference|ref|circular) (?:cycles?|references?)\b", re.IGNORECASE),
    "unclosed": re.compile(r"\bunclosed\b|\bResourceWarning\b|\b(?:never|not) closed\b", re.IGNORECASE),
    "memory": re.compile(
        r"\b(?:memory|RSS|RAM|OOM|heap|garbage|[MG]i?B|objects?|instances?|ru_maxrss|tracemalloc|get_objects|weakref"
        r"|ref(?:erence)? ?counts?|getrefcount|alive)\b",
        re.IGNORECASE,
    ),
}
