"""Ways in which the reporter's surroundings may differ from a plain environment, as variations of a program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from rebug.model import Basis, Candidate, Hypothesis, Report, Role, Variation
from rebug.ports import Situation

_NAMED = re.compile(r"\b([A-Z][A-Z0-9_]{2,40})=(\"[^\"\n]{0,100}\"|'[^'\n]{0,100}'|[^\s`'\",;)]{1,100})")
_PARENTS = 2
_NOT_SETTINGS = {"URL", "PATH", "HOME", "PYTHONPATH"}
_COMMON: tuple[tuple[str, Variation], ...] = (
    ("in a time zone west of UTC with daylight saving", Variation(variables=(("TZ", "America/New_York"),))),
    ("in a time zone east of UTC", Variation(variables=(("TZ", "Asia/Kolkata"),))),
    ("in the C locale without UTF-8 mode",
     Variation(variables=(("LC_ALL", "C"), ("PYTHONUTF8", "0"), ("PYTHONCOERCECLOCALE", "0")))),
    ("in a German locale", Variation(variables=(("LC_ALL", "de_DE.UTF-8"), ("LANG", "de_DE.UTF-8")))),
    ("in a Turkish locale", Variation(variables=(("LC_ALL", "tr_TR.UTF-8"), ("LANG", "tr_TR.UTF-8")))),
    ("with ASCII as encoding of the standard streams", Variation(variables=(("PYTHONIOENCODING", "ascii"),))),
    ("with warnings as errors", Variation(flags=("-W", "error"))),
    ("without assertions (-O)", Variation(flags=("-O",))),
    ("in Python's development mode", Variation(flags=("-X", "dev"))),
    ("with hash seed 1", Variation(variables=(("PYTHONHASHSEED", "1"),))),
    ("with hash seed 2", Variation(variables=(("PYTHONHASHSEED", "2"),))),
)  # fmt: skip
_HINTS = (
    (r"time ?zone|\bUTC\b|\bDST\b|daylight|local ?time", r"time zone"),
    (r"\blocale\b|\bLANG\b|LC_ALL|decimal comma|German|German\b|Turkish", r"locale"),
    (r"encod|UnicodeDecode|UnicodeEncode|codec|cp1252|charmap|ascii", r"locale|ASCII"),
    (r"DeprecationWarning|warnings? as errors|-W error|filterwarnings", r"warnings"),
    (r"python -O|PYTHONOPTIMIZE|assert(ions)? (are )?(disabled|stripped)", r"-O"),
    (r"hash ?seed|PYTHONHASHSEED|set order|non-?determinis|random(ly)? order", r"hash seed"),
    (r"-X dev|PYTHONDEVMODE|ResourceWarning", r"development mode"),
)


class EnvironmentVariations:
    """What the report hints at, tried on the first trials; common variations of the best parents in later rounds."""

    name = "environment-variations"
    reactive = True

    def propose(self, situation: Situation) -> Iterable[Candidate]:
        told = [*_stated(situation), *_hinted(situation.report)]
        tried = {(t.candidate.script, t.candidate.variation) for t in situation.trials}
        for base in _bases(situation):
            common = _COMMON if situation.round > 1 and base.basis is not Basis.MEASURED else ()
            for words, variation in (*told, *common):
                merged = merge(base.variation, variation)
                if merged != base.variation and (base.script, merged) not in tried:
                    tried.add((base.script, merged))
                    yield _varied(base, merged, words)


def _bases(situation: Situation) -> list[Candidate]:
    """The parents; in the first round the best of the first trials."""
    pool = situation.parents if situation.round > 1 else sorted(situation.trials[:6], key=lambda t: t.loss.total)
    own = EnvironmentVariations.name
    return [t.candidate for t in pool if t.candidate.role is Role.ATTEMPT and t.candidate.proposer != own][:_PARENTS]


def _varied(base: Candidate, variation: Variation, words: str) -> Candidate:
    return replace(
        base,
        id="",
        round=0,
        proposer=EnvironmentVariations.name,
        parents=(base.id,) if base.id else (),
        variation=variation,
        hypothesis=Hypothesis(claim=f"It shows {words}.", conditions=words, prediction=base.hypothesis.prediction),
    )


def merge(one: Variation, other: Variation) -> Variation:
    """Both variations together; the second wins where they contradict."""
    names = {name for name, _ in other.variables}
    return Variation(
        subject_version=other.subject_version or one.subject_version,
        requirements=tuple(dict.fromkeys([*one.requirements, *other.requirements])),
        python=other.python or one.python,
        variables=(*(pair for pair in one.variables if pair[0] not in names), *other.variables),
        flags=one.flags if one.flags[: len(other.flags)] == other.flags else (*one.flags, *other.flags),
    )


def _stated(situation: Situation) -> Iterator[tuple[str, Variation]]:
    """What the report states: variables it sets, versions it used, its Python."""
    report = situation.report
    text = "\n".join((report.title, report.body, *report.comments))[:200_000]
    pairs = {name: value.strip("\"'") for name, value in _NAMED.findall(text) if name not in _NOT_SETTINGS}
    for name, value in list(pairs.items())[:6]:
        yield f"with {name}={value}", Variation(variables=((name, value),))
    own = situation.environment.package.lower().replace("_", "-")
    used = [v for v in report.versions if v.role == "used" and v.name != own]
    others = [v for v in used if situation.environment.packages.get(v.name) != v.version]
    if others:
        yield "with the stated versions", Variation(requirements=tuple(f"{v.name}=={v.version}" for v in others[:8]))
    short = ".".join(report.python.split(".")[:2])
    if short and short != ".".join(situation.environment.python_version.split(".")[:2]):
        yield f"on Python {short}", Variation(python=short)


def _hinted(report: Report) -> list[tuple[str, Variation]]:
    """The common variations whose subject the report speaks of."""
    text = f"{report.title}\n{report.body}"[:100_000]
    wanted = [kind for pattern, kind in _HINTS if re.search(pattern, text, re.IGNORECASE)]
    return [(words, variation) for words, variation in _COMMON if any(re.search(kind, words) for kind in wanted)]
