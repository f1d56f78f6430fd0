"""The commands and their options. Each one reads its options, calls `rebug.app` and prints what comes back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import rebug
from rebug.errors import InputError

if TYPE_CHECKING:
    from rebug.app import Options

EXAMPLES = """
Turns a bug report back into the bug: searches for a script that reproduces it.

rebug demo    shows it on a real bug (needs a package index)

rebug reproduce report.md --source pypi:NAME==VERSION

rebug reproduce report.md --source . --attach server.log

Exit status of reproduce: 0 reproduced, 1 not reproduced, 2 bad usage or unreadable input, 3 stopped early by a cap
or Ctrl-C, 4 no environment or no sandbox.
"""

app = typer.Typer(
    help=EXAMPLES,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    rich_markup_mode=None,
)

Source = Annotated[
    str,
    typer.Option(
        "--source",
        "-s",
        metavar="SOURCE",
        help="The software the report is about: a directory, a git URL[@ref], an archive or pypi:NAME==VERSION.",
    ),
]
Python = Annotated[str, typer.Option("--python", metavar="V", help="Python version, e.g. 3.11. Default: the report's.")]
With = Annotated[list[str], typer.Option("--with", metavar="REQ", help="A further requirement. Repeatable.")]
Setup = Annotated[
    list[str],
    typer.Option("--setup", metavar="CMD", help="A command run in the source before it is installed. Repeatable."),
]
Env = Annotated[
    list[str], typer.Option("--env", metavar="K=V", help="An environment variable of each run. Repeatable.")
]
AsOf = Annotated[
    str, typer.Option("--as-of", metavar="DATE", help="Install nothing that was released after this ISO date.")
]
Good = Annotated[
    str, typer.Option("--good", metavar="SOURCE", help="A version without the bug: the script has to pass there.")
]
SandboxName = Annotated[
    str, typer.Option("--sandbox", metavar="NAME", help="auto, bwrap, or none (runs scripts unprotected).")
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", metavar="N", min=0, help="Candidates run at once. 0: one per core.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No narration on stderr.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Tracebacks of rebug's own faults.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="Where the run is written. Default: rebug-runs/TITLE."),
]
MaxSeconds = Annotated[
    float | None,
    typer.Option("--max-seconds", min=1, metavar="S", help="Wall time of the whole run. Default: no limit."),
]


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(rebug.__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


@app.command()
def reproduce(  # noqa: PLR0917  typer binds by name
    report: Annotated[
        str,
        typer.Argument(
            metavar="REPORT",
            help="The bug report: a file, a directory with report.md and attachments/, or - for stdin.",
        ),
    ] = "",
    source: Source = "",
    attach: Annotated[
        list[Path], typer.Option("--attach", "-a", metavar="FILE", help="A log, core dump or config. Repeatable.")
    ] = [],  # noqa: B006  typer reads it, nothing writes it
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="MODEL",
            help="openai:gpt-5-mini, anthropic:…, http://127.0.0.1:8080/v1, … or none. Default: the first key found.",
        ),
    ] = "",
    effort: Annotated[
        str, typer.Option("--effort", metavar="LEVEL", help="What a model is asked a round: low, normal or high.")
    ] = "normal",
    strategy: Annotated[
        str, typer.Option("--strategy", metavar="NAME", help="evolution, or independent sampling of a model.")
    ] = "evolution",
    max_usd: Annotated[
        float | None, typer.Option("--max-usd", min=0, metavar="X", help="Most that a model may cost, US dollars.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", min=0, metavar="N", help="Most tokens of a model, in and out.")
    ] = None,
    redact: Annotated[
        bool, typer.Option("--redact/--no-redact", help="Take secrets out of what a model is shown.")
    ] = True,
    python: Python = "",
    with_: With = [],  # noqa: B006
    setup: Setup = [],  # noqa: B006
    env: Env = [],  # noqa: B006
    as_of: AsOf = "",
    good: Good = "",
    rounds: Annotated[int, typer.Option("--rounds", metavar="N", min=1, help="Rounds of the search at most.")] = 4,
    population: Annotated[int, typer.Option("--population", metavar="N", min=1, help="Candidates a round.")] = 24,
    keep: Annotated[int, typer.Option("--keep", metavar="N", min=1, help="Candidates that seed the next round.")] = 3,
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, max=99, help="Candidates in the result.")] = 5,
    repeat: Annotated[int, typer.Option("--repeat", metavar="N", min=1, max=40, help="Runs that confirm a hit.")] = 4,
    max_seconds: MaxSeconds = None,
    max_candidates: Annotated[
        int | None, typer.Option("--max-candidates", min=1, metavar="N", help="Candidates run in all, at most.")
    ] = None,
    jobs: Jobs = 0,
    sandbox: SandboxName = "auto",
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Same seed, same choices.")] = 0,
    out: Out = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="RUN", help="Go on with an interrupted run, as it was started.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001  read by main, which also covers what fails before this
) -> int:
    """Search for a script that reproduces the bug of REPORT."""
    from rebug.app import Options  # noqa: PLC0415

    options = Options(
        report=report,
        source=source,
        attach=tuple(attach),
        model=model,
        effort=effort,
        strategy=strategy,
        max_usd=max_usd,
        max_tokens=max_tokens,
        redact=redact,
        python=python,
        requirements=tuple(with_),
        setup=tuple(setup),
        variables=_variables(env),
        as_of=as_of,
        good=good,
        rounds=rounds,
        population=population,
        keep=keep,
        top=top,
        repeat=repeat,
        max_seconds=max_seconds,
        max_candidates=max_candidates,
        jobs=jobs,
        sandbox=sandbox,
        seed=seed,
        out=out,
        resume=resume,
    )
    return _run(options, as_json=as_json, quiet=quiet)


@app.command()
def demo(  # noqa: PLR0917  typer binds by name
    out: Out = None,
    max_seconds: MaxSeconds = 150,
    sandbox: SandboxName = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001
) -> int:
    """Reproduce a real bug of a real package, fetched from the package index."""
    from rebug.app import demonstration  # noqa: PLC0415

    options = demonstration(out=out, max_seconds=max_seconds, sandbox=sandbox)
    if not quiet:
        typer.echo(f"The report is {options.report}, on {options.source}.", err=True)
    return _run(options, as_json=as_json, quiet=quiet)


@app.command()
def verify(  # noqa: PLR0917  typer binds by name
    script: Annotated[
        Path, typer.Argument(metavar="SCRIPT", help="A script by the contract: 0 absent, 125 cannot tell.")
    ],
    source: Source = "",
    good: Good = "",
    repeat: Annotated[int, typer.Option("--repeat", metavar="N", min=1, max=100, help="How often it is run.")] = 4,
    seconds: Annotated[float, typer.Option("--seconds", metavar="S", min=1, help="Time limit of one run.")] = 60,
    python: Python = "",
    with_: With = [],  # noqa: B006
    setup: Setup = [],  # noqa: B006
    env: Env = [],  # noqa: B006
    as_of: AsOf = "",
    jobs: Jobs = 0,
    sandbox: SandboxName = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001
) -> int:
    """Run a reproduction script in the sandbox and say whether it shows the bug.

    Exit status 0: it fails for a reason that can be the bug's (and passes with --good). 1: it does not, or cannot tell.
    """
    from rebug.app import Options, verify_script  # noqa: PLC0415
    from rebug.cli import pages  # noqa: PLC0415

    options = Options(
        report="",
        source=source,
        python=python,
        requirements=tuple(with_),
        setup=tuple(setup),
        variables=_variables(env),
        as_of=as_of,
        good=good,
        repeat=repeat,
        jobs=jobs,
        sandbox=sandbox,
    )
    with pages.narration(quiet=quiet) as narrate:
        verification = verify_script(script, options, seconds=seconds, narrate=narrate)
    pages.verification(verification, as_json=as_json)
    return 0 if verification.present else 1


@app.command()
def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's directory.")],
    as_json: AsJson = False,
    verbose: Verbose = False,  # noqa: ARG001
) -> int:
    """Show the result of an earlier run again."""
    from rebug.app import read_run  # noqa: PLC0415
    from rebug.cli import pages  # noqa: PLC0415

    pages.result(read_run(run), run, as_json=as_json)
    return 0


@app.command()
def doctor(
    as_json: AsJson = False,
    verbose: Verbose = False,  # noqa: ARG001
) -> int:
    """Check what this machine has, and say what to do about what it lacks."""
    from rebug.app import examine  # noqa: PLC0415
    from rebug.cli import pages  # noqa: PLC0415

    checks = examine()
    pages.doctor(checks, as_json=as_json)
    return 4 if any(check.needed and not check.ok for check in checks) else 0


@app.command()
def models(
    as_json: AsJson = False,
    verbose: Verbose = False,  # noqa: ARG001
) -> int:
    """List the language models that can be used here, their prices, and what a run costs."""
    from rebug.cli import pages  # noqa: PLC0415
    from rebug.model_api import usable_models  # noqa: PLC0415

    pages.models(usable_models(), as_json=as_json)
    return 0


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(rebug.__version__)


def _run(options: Options, *, as_json: bool, quiet: bool) -> int:
    from rebug.app import EXIT_STATUS, reproduce  # noqa: PLC0415
    from rebug.cli import pages  # noqa: PLC0415

    with pages.narration(quiet=quiet) as narrate:
        done = reproduce(options, narrate=narrate)
    pages.result(done.result, done.out, as_json=as_json)
    return EXIT_STATUS[done.result.status]


def _variables(given: list[str]) -> tuple[tuple[str, str], ...]:
    pairs = []
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name or "\0" in item:
            raise InputError(f"--env {item}: has to be NAME=VALUE")
        pairs.append((name, value))
    return tuple(pairs)
