"""How the pieces of a run are put together from its options. Builds nothing by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rebug.app.options import Options, cache_directory
from rebug.confirm import ScriptSource
from rebug.model import Environment, Report, Variation
from rebug.ports import Narrator
from rebug.search import Plan
from rebug.subject import Source, UvEnvironments, build_plain
from rebug.subject.dates import cutoff
from rebug.subject.git import parse

_SEARCH_SHARE = 0.8
"""Share of --max-seconds after which the search stops: what is left is for confirming the best and writing it all."""


def plan(options: Options) -> Plan:
    return Plan(
        rounds=options.rounds,
        population=options.population,
        keep=options.keep,
        seed=options.seed,
        max_seconds=None if options.max_seconds is None else options.max_seconds * _SEARCH_SHARE,
        max_candidates=options.max_candidates,
    )


def environments(options: Options, source: Source, narrate: Narrator, *, python_hint: str = "") -> UvEnvironments:
    return UvEnvironments(
        source,
        cache=cache_directory(),
        python=options.python,
        python_hint=python_hint,
        requirements=options.requirements,
        setup=options.setup,
        variables=dict(options.variables),
        as_of=options.as_of,
        narrate=narrate,
    )


def script_source(options: Options, report: Report, source: Source, environment: Environment) -> ScriptSource:
    return ScriptSource(
        title=report.title,
        url=report.url,
        package=source.package,
        version=source.version,
        requirement=installable(source),
        python=environment.python_version,
        as_of=cutoff(options.as_of),
        further=options.requirements,
        paths=_roots(source, environment),
    )


def installable(source: Source) -> str:
    """The subject as a requirement (PEP 508) that any installer takes; "" for an application that is no package."""
    if source.kind == "pypi" or not source.requirement:
        return source.requirement
    place = parse(source.spec) if source.kind == "git" else None
    if place is None:
        return f"{source.package} @ {Path(source.requirement).absolute().as_uri()}"
    address = place.address
    if "://" not in address:
        # An scp-like address (git@host:path) is a URL in other clothes, anything else a path.
        host, colon, path = address.partition(":")
        address = f"ssh://{host}/{path}" if colon and "@" in host else Path(address).absolute().as_uri()
    return f"{source.package} @ git+{address}@{source.commit}"


def _roots(source: Source, environment: Environment) -> tuple[str, ...]:
    """Where an application's code lies for its user: in the source, as the environment's copy of it is laid out."""
    copy = environment.prefix.parent / "tree"
    return tuple(str(source.root / path.relative_to(copy)) for path in environment.paths if path.is_relative_to(copy))


def plain_environment(
    options: Options, source: Source, built: UvEnvironments, environment: Environment, narrate: Narrator
) -> Callable[[Sequence[str]], Environment]:
    """Builds what a script's own header asks for, and nothing else.

    Only a release is fully named by its requirement. A tree on disk may change under the same name, so there the
    environments' cache, which goes by content, gives the subject.
    """
    subject = installable(source)

    def build(requirements: Sequence[str]) -> Environment:
        if source.kind != "pypi":
            others = (one for one in requirements if one != subject and one not in options.requirements)
            return built.build(Variation(requirements=tuple(others)))
        plain = build_plain(
            requirements,
            python=environment.python_version,
            as_of=options.as_of,
            cache=cache_directory(),
            narrate=narrate,
        )
        return replace(plain, variables=dict(options.variables))

    return build
