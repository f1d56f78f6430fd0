"""Slowness under load: the subject's server is started, and measured with and without what the report says is done.

What to send is read from the server's source: its routes, the keys that its handlers look for, the names they know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from rebug.instruments import inline
from rebug.intake.interaction import kinship
from rebug.model import Basis, Candidate, Hypothesis, Strain, SymptomKind
from rebug.ports import Situation
from rebug.propose.payloads import payload
from rebug.subject.servers import Route, Served, Server, served

_MOST = 10
"""Candidates: each takes about ten seconds."""

_JOB_WORDS = frozenset({
    "job", "jobs", "task", "tasks", "prompt", "queue", "enqueue", "generate", "generation", "run", "start", "submit",
    "render", "process", "work", "execute",
})  # fmt: skip
_PROBE_WORDS = frozenset({
    "status", "queue", "health", "healthz", "ping", "progress", "state", "stats", "jobs", "history", "info", "version",
})  # fmt: skip
_LONG = 2000  # steps of a job that is to run all the time
_SHORT = 20


class Load:
    """Puts a server under the load that the report describes."""

    name = "load"
    reactive = False

    def propose(self, situation: Situation) -> Iterator[Candidate]:
        strain = situation.symptom.strain
        if situation.round > 1 or situation.symptom.kind is not SymptomKind.SLOW or strain is None:
            return
        found = served(situation.index, situation.environment.scripts)
        told = f"{situation.report.title}\n{situation.report.body[:20_000]}"
        calls = (
            (server, call)
            for arguments in _loads(found, strain, told)
            for server, call in ((server, _written(server, arguments)) for server in found.servers[:2])
        )
        packages = situation.environment.packages
        for server, call in islice(calls, _MOST):
            yield Candidate(
                script=f"{inline('load')}\n\n{call}\n",
                hypothesis=Hypothesis(
                    claim=f"The server gets slow while this goes on: {strain.meanwhile.partition(' / ')[0]}.",
                    conditions="the server runs on this machine, on a port that is free",
                    prediction="steps or answers take longer with it than without it, in one and the same run",
                ),
                proposer=self.name,
                basis=Basis.MEASURED,
                requirements=("uvicorn",) if server.how == "asgi" and "uvicorn" not in packages else (),
            )


def _loads(found: Served, strain: Strain, told: str) -> Iterator[dict[str, object]]:
    """Arguments of the instrument, the likeliest load first."""
    jobs = sorted((r for r in found.routes if _is_job(r)), key=lambda r: -kinship(r.words, told) - _weight(r))
    asked = [route for route in found.routes if route.method == "GET"]
    asked.sort(key=lambda route: -kinship(route.words, told) - len(route.words & _PROBE_WORDS))
    acts = sorted(
        (route for route in found.routes if route not in jobs[:1]),
        key=lambda route: (-kinship(route.words | _key_words(route), strain.meanwhile), route.method == "GET"),
    )
    common: dict[str, object] = {"probes": [route.path for route in asked[:3]], "events": list(found.sockets[:2])}
    passive = kinship(_JOB_WORDS, strain.meanwhile) > 0 and not (
        acts and kinship(acts[0].words | _key_words(acts[0]), strain.meanwhile) >= 1
    )
    by_job = [
        {"job": _request(route, found.names, told, steps=_SHORT, variant=variant), **common, "metric": "api"}
        for route in jobs[:2]
        for variant in range(min(2, max(1, len(found.names))))
    ]
    by_act = []
    for act in acts[:4]:
        job = {"job": _request(jobs[0], found.names, told, steps=_LONG)} if jobs else {}
        for metric in ("step", "api") if not strain.metric else (strain.metric,):
            if job or metric == "api":
                sent = _request(act, found.names, told, steps=1)
                by_act.append({**job, "act": sent, **common, "metric": metric})
    first, second = (by_job, by_act) if passive and strain.metric != "step" else (by_act, by_job)
    yield from first
    yield from second if strain.metric != "step" else ()


def _is_job(route: Route) -> bool:
    return route.method in {"POST", "PUT"} and _weight(route) > 0


def _weight(route: Route) -> float:
    steps = any(key.name.rstrip("s") in {"step", "iteration", "count", "n_step"} for key in route.keys)
    return len(route.words & _JOB_WORDS) + 2.0 * steps


def _key_words(route: Route) -> frozenset[str]:
    values = [value for key in route.keys for value in (key.name, *key.values) if isinstance(value, str)]
    return frozenset(word.lower() for value in values for word in value.replace("_", " ").split() if word.isalpha())


def _request(route: Route, names: Sequence[str], told: str, *, steps: int, variant: int = 0) -> tuple[object, ...]:
    if not route.keys:
        return (route.method, route.path) if route.method != "WS" else (route.method, route.path, "a photo of a cat")
    return (route.method, route.path, payload(route.keys, names, told, steps=steps, variant=variant))


def _written(server: Server, arguments: dict[str, object]) -> str:
    given: dict[str, object] = {}
    if server.arguments:
        given["arguments"] = list(server.arguments)
    if server.how:
        given["how"] = server.how
    lines = [f"    {name}={value!r}," for name, value in {**given, **arguments}.items() if value not in ((), [])]
    return "\n".join([f"load(\n    {server.target!r},", *lines, ")"])
