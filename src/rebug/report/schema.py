"""`result.json`, schema version 1, as types: what other programs may rely on.

It may grow by new fields with a default; a field is never renamed, removed or given another meaning. `json_schema()` is
written to `docs/result.schema.json`, and a test keeps the two equal.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rebug.errors import InputError
from rebug.model import Stage, Status, SymptomKind, Verdict

SCHEMA_VERSION = 1

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]
Score = Annotated[int, Field(ge=0, le=100)]


class Part(BaseModel):
    """Frozen, and tolerant of fields that a later rebug wrote."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ReportPart(Part):
    title: str
    url: str = ""
    date: str = Field(default="", description="ISO 8601, empty when the report does not say")
    logs: tuple[str, ...] = Field(default=(), description="what stands out in the attached logs, in words")


class SubjectPart(Part):
    source: str = Field(description="what was given by --source, absolute where it is a directory")
    version: str = ""
    python: str = Field(default="", description="the interpreter's version, e.g. 3.11.7")
    commit: str = Field(default="", description="of a git source")
    package: str = Field(
        default="", description="the distribution's name, empty for an application that is not a package"
    )


class SymptomPart(Part):
    kind: SymptomKind
    exception: str = Field(default="", description="type of the reported exception")
    message: str = ""
    actual: tuple[str, ...] = Field(default=(), description="values the report says it got")
    expected: tuple[str, ...] = ()
    signal: str = ""
    quote: str = Field(default="", description="the words of the report that the kind was taken from")
    line: Count = Field(default=0, description="where they stand, 1-based, 0 when unknown")


class LossPart(Part):
    total: Share = Field(description="0 is the reported bug, 1 is nothing")
    stage: Stage
    parts: dict[str, float] = Field(default_factory=dict)
    reasons: tuple[str, ...] = ()


class HypothesisPart(Part):
    claim: str
    conditions: str = ""
    prediction: str = ""


class VariationPart(Part):
    """How the environment differs from the subject's plain one."""

    subject_version: str = ""
    requirements: tuple[str, ...] = ()
    python: str = ""
    variables: dict[str, str] = Field(default_factory=dict)
    flags: tuple[str, ...] = ()


class EnvironmentPart(Part):
    python: str
    variation: VariationPart = VariationPart()
    requirements: tuple[str, ...] = Field(
        default=(), description="distributions beside the subject that the script imports"
    )


class RepeatsPart(Part):
    """k failures in n runs; `interval` is the 95 % Wilson interval of the rate."""

    runs: Count
    failures: Count
    rate: Share
    interval: tuple[Share, Share]


class ExceptionPart(Part):
    type: str
    message: str = ""


class FramePart(Part):
    file: str
    line: int | None = None
    function: str = ""
    code: str = ""


class ObservationPart(Part):
    """What the run of the search showed."""

    ended: str = Field(description="exited, signalled, timed_out, limited or refused")
    exit: int | None = None
    signal: str = ""
    limit: str = ""
    exception: ExceptionPart | None = None
    frames: tuple[FramePart, ...] = Field(
        default=(), description="of the exception, or of the main thread when it hung"
    )
    seconds: Seconds = 0
    cpu_seconds: Seconds = 0
    peak_rss: Count = Field(default=0, description="bytes, whole process tree")
    stdout: str = Field(default="", description="the last characters")
    stderr: str = ""


class CandidatePart(Part):
    rank: Annotated[int, Field(ge=1)]
    id: str
    round: Count
    parents: tuple[str, ...] = ()
    proposer: str
    score: Score
    loss: LossPart
    verdict: Verdict
    hypothesis: HypothesisPart
    script: str = Field(description="path of the script below the run's directory")
    environment: EnvironmentPart
    explanation: str = ""
    critique: str = ""
    repeats: RepeatsPart | None = Field(default=None, description="null when it ran once, in the search")
    observation: ObservationPart


class LocatedPart(Part):
    file: str
    function: str = ""
    line: int | None = None
    suspicion: Share


class VersionsPart(Part):
    first_bad: str = ""
    last_good: str = Field(default="", description="a release in which the script exits 0")
    fixed_in: str = ""


class BestPart(Part):
    script: str = "repro.py"
    test: str = "test_repro.py"
    minimized_from_lines: Count = 0
    lines: Count = 0
    located: tuple[LocatedPart, ...] = ()
    versions: VersionsPart = VersionsPart()
    confirmed: bool = Field(
        default=False, description="the script failed for the reported reason in a clean environment"
    )
    rank: Count = Field(default=1, description="of the candidate it was made from")


class CostPart(Part):
    """What the language model cost; all zero without one."""

    model: str = "none"
    calls: Count = 0
    input_tokens: Count = 0
    cached_tokens: Count = 0
    cache_write_tokens: Count = 0
    output_tokens: Count = 0
    usd: Annotated[float, Field(ge=0)] | None = Field(default=0, description="null: the price is not known")
    usd_without_cache: Annotated[float, Field(ge=0)] | None = 0
    usd_uncertain: Annotated[float, Field(ge=0)] = Field(
        default=0, description="worst case of calls that failed and may have been billed"
    )
    prompts: dict[str, int] = Field(default_factory=dict, description="version of each prompt that could be used")


class CountsPart(Part):
    proposed: Count = 0
    duplicates: Count = Field(default=0, description="refused before they ran")
    run: Count = 0
    environment_failures: Count = 0
    rounds: Count = 0


class SecondsPart(Part):
    """Wall time. The parts do not add up to the total: the reading of the report is in none of them."""

    total: Seconds = 0
    environment: Seconds = 0
    proposing: Seconds = 0
    running: Seconds = 0
    judging: Seconds = 0
    confirming: Seconds = 0


class Result(Part):
    """What one run of `rebug reproduce` concluded."""

    schema_version: Annotated[int, Field(ge=1)] = SCHEMA_VERSION
    run_id: str
    status: Status
    score: Score = Field(description="of the best candidate, 0 when there is none")
    report: ReportPart
    subject: SubjectPart
    symptom: SymptomPart
    candidates: tuple[CandidatePart, ...] = Field(default=(), description="the best, best first (--top)")
    best: BestPart | None = Field(default=None, description="null when nothing came near the symptom")
    missing_information: tuple[str, ...] = Field(default=(), description="what to ask the reporter when not reproduced")
    cost: CostPart = CostPart()
    counts: CountsPart = CountsPart()
    seconds: SecondsPart = SecondsPart()
    stopped: str = Field(default="", description="why the search ended: reproduced, stalled, rounds, seconds, …")
    doubts: tuple[str, ...] = Field(default=(), description="why the best was not confirmed, or what remains uncertain")
    tried: dict[str, int] = Field(default_factory=dict, description="candidates run, by the proposer that made them")
    measured: tuple[str, ...] = Field(
        default=(), description="figures that candidates measured without finding the symptom in them"
    )
    rebug_version: str = ""
    error: str = Field(default="", description="why there is no better status, when something failed")


def json_schema() -> str:
    """The JSON Schema of `result.json`, as the text of `docs/result.schema.json`."""
    schema = Result.model_json_schema(mode="serialization")
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema, indent=2) + "\n"


def read_result(path: Path) -> Result:
    """The result in the file `path`. Raises InputError when it cannot be read or is not one."""
    try:
        return Result.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise InputError(f"{path}: is not a result of rebug: {where}: {first['msg']}") from error


if __name__ == "__main__":
    print(json_schema(), end="")  # noqa: T201  how docs/result.schema.json is made
