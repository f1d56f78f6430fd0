"""What a log gives to a reproduction: a check of what is logged or warned of, and calls with the values it shows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rebug.instruments import inline
from rebug.intake.logs import parse_line
from rebug.model import Basis, BlockKind, Candidate, Ended, Hypothesis, Role, SymptomKind, Trial
from rebug.ports import Situation, Symbol
from rebug.propose.assertions import quiet
from rebug.propose.code import import_line_for_symbol, parse
from rebug.propose.needles import pieces_of
from rebug.propose.snippet import prediction
from rebug.subject.log_sites import sites_of, values_of

_TOLD_BY_MESSAGE = {SymptomKind.LOG, SymptomKind.WARNING}
_OF_VALUES = {SymptomKind.CRASH, SymptomKind.EXCEPTION, SymptomKind.HANG, SymptomKind.UNKNOWN}
_ERROR_FILTER = re.compile(
    r"^(\s*)warnings\.(?:simplefilter|filterwarnings)\([^)\n]{0,200}[\"']error[\"'][^)\n]{0,200}\)\s*$"
)
_QUOTED = r"b?'(?:[^'\\\n]|\\.){0,2000}'|b?\"(?:[^\"\\\n]|\\.){0,2000}\""
_PAIR = re.compile(rf"(?<![\w.])(?P<key>[A-Za-z_]\w{{0,40}})\s?[=:]\s?(?P<value>{_QUOTED}|[^\s,;)\]}}'\"]{{1,400}})")
_FATAL = re.compile(
    r"Traceback \(most recent|Fatal Python error|Segmentation fault|segfault|core dumped|Aborted|signal \d"
)
_MOST_CHECKED = 4
_MOST_CALLS = 12
_LAST_RECORDS = 4


class FromLog:
    """Scripts that capture what is logged, made of runs that show the message; and calls with the log's last values."""

    name = "from-log"
    reactive = True

    def propose(self, situation: Situation) -> Iterator[Candidate]:
        if situation.symptom.kind in _TOLD_BY_MESSAGE:
            answered = {p for t in situation.trials if t.candidate.proposer == self.name for p in t.candidate.parents}
            for trial in situation.trials:
                if trial.candidate.id not in answered and (_plain(trial) or _ended_by_warning(trial)):
                    yield from checked(trial, situation)
        called = any(t.candidate.proposer == self.name and not t.candidate.parents for t in situation.trials)
        if situation.symptom.kind in _OF_VALUES and situation.round == 1 and not called:
            yield from calls(situation, last_values(situation))
        if situation.symptom.kind in _TOLD_BY_MESSAGE and situation.round == 1 and not called:
            yield from calls(situation, message_values(situation))


# ------------------------------------------------------------------------------------------------------------- captured


def _plain(trial: Trial) -> bool:
    """Whether a trial is a program that ended well and asserts nothing, a call made from the log among them."""
    own = replace(trial, candidate=replace(trial.candidate, proposer="snippet"))
    return quiet(own if trial.candidate.proposer == FromLog.name else trial)


def _ended_by_warning(trial: Trial) -> bool:
    """Whether the reporter's own filter made an exception of the warning."""
    failures = trial.observation.failures
    return (
        trial.candidate.role is Role.ATTEMPT
        and trial.candidate.basis is Basis.NONE
        and trial.observation.ended is Ended.EXITED
        and bool(failures)
        and failures[0].name.endswith("Warning")
        and failures[0].where == "raised"
    )


def checked(trial: Trial, situation: Situation) -> Iterator[Candidate]:
    """The trial's script with what is logged captured, and the rule that the report states: not at all, once, or once
    at least."""
    symptom = situation.symptom
    category = symptom.warning.rpartition(".")[2] if symptom.kind is SymptomKind.WARNING else ""
    shown = said(trial)
    made = 0
    for value in symptom.messages or ():
        words = pieces_of(value.text)
        if value.exact and words and _has(shown, words) and made < _MOST_CHECKED:
            made += 1
            rule = "once" if symptom.repeated else "none"
            yield _candidate(trial, situation, rule, (category, *words) if category else words, value.text)
    if category and not symptom.messages and not symptom.missing_messages and category in shown:
        yield _candidate(trial, situation, "none", (category,), category)
    for value in symptom.missing_messages:
        words = pieces_of(value.text)
        if words and not _has(shown, words) and made < _MOST_CHECKED:
            made += 1
            yield _candidate(trial, situation, "some", words, value.text)


def said(trial: Trial) -> str:
    """All that a run logged, warned of and printed."""
    observation = trial.observation
    lines = [f"{entry.level} {entry.message}" for entry in observation.logs]
    lines += [f"{entry.category} {entry.message}" for entry in observation.warnings]
    lines += [f"{failure.type} {failure.message}" for failure in observation.failures]
    return "\n".join([*lines, observation.stdout, observation.stderr])[:400_000]


def _has(text: str, words: Sequence[str]) -> bool:
    return any(all(word in line for word in words) for line in text.splitlines())


def _candidate(trial: Trial, situation: Situation, rule: str, words: Sequence[str], message: str) -> Candidate:
    claims = {
        "none": f"{message[:200]!r} is logged, and should not be.",
        "once": f"{message[:200]!r} is logged more than once.",
        "some": f"{message[:200]!r} is not logged, and should be.",
    }
    quiet_level = situation.symptom.level in {"DEBUG", "INFO"} or rule == "some"
    return Candidate(
        script=captured(trial.candidate.script, rule, words, level="DEBUG" if quiet_level else ""),
        hypothesis=Hypothesis(
            claim=claims[rule],
            conditions=trial.candidate.hypothesis.conditions,
            prediction=prediction(situation.symptom),
        ),
        proposer=FromLog.name,
        basis=Basis.MEASURED,
        expected="" if rule != "some" else message,
        actual=message if rule != "some" else "",
        variation=trial.candidate.variation,
        parents=(trial.candidate.id,),
        requirements=trial.candidate.requirements,
    )


def captured(script: str, rule: str, words: Sequence[str], *, level: str = "") -> str:
    """The script under the capturing instrument, with the rule checked at its end; filters that turn warnings into
    exceptions are dropped."""
    lines = script.splitlines()
    future = [line for line in lines if line.startswith("from __future__")]
    body = [_ERROR_FILTER.sub(r"\1pass", line) for line in lines if line not in future]
    collected = "import gc\n\ngc.collect()\n" if any("ResourceWarning" in word for word in words) else ""
    check = f"records.{rule}({', '.join(repr(word) for word in words)})\n"
    head = "".join(f"{line}\n" for line in future)
    start = f"records = Records({level!r})\n" if level else "records = Records()\n"
    return f"{head}{inline('records')}\n\n{start}\n" + "\n".join(body).strip("\n") + f"\n\n{collected}{check}"


# --------------------------------------------------------------------------------------------------------------- values


def calls(situation: Situation, given: Sequence[Mapping[str, str]]) -> Iterator[Candidate]:
    """Calls of the subject's public functions with values (by name, as Python text) that the log shows."""
    seen: set[str] = set()
    for values in given:
        for symbol, arguments in fitting(situation, values):
            line = import_line_for_symbol(symbol)
            name = (symbol.exported_as or f"{symbol.module}.{symbol.qualname}").rpartition(".")[2]
            script = f"{line}\n\n{name}({arguments})\n"
            if line and script not in seen and parse(script) is not None and len(seen) < _MOST_CALLS:
                seen.add(script)
                yield Candidate(
                    script=script,
                    hypothesis=Hypothesis(
                        claim=f"`{name}` shows the reported behaviour with values that the log shows.",
                        conditions=", ".join(f"{key}={value}" for key, value in values.items())[:300],
                        prediction=prediction(situation.symptom),
                    ),
                    proposer=FromLog.name,
                )


def message_values(situation: Situation) -> list[Mapping[str, str]]:
    """The values in the reported messages, by the names that the statements giving them use."""
    symptom = situation.symptom
    return [
        {name: _literal(value) for name, value in values_of(site, message.text).items() if name.isidentifier()}
        for message in (*symptom.messages, *symptom.missing_messages)[:4]
        for site in sites_of(situation.index, message.text, 2)
    ]


def last_values(situation: Situation) -> list[Mapping[str, str]]:
    """The values (Python text) that the last records before the failure name, the very last first."""
    texts = [a.text[-200_000:] for a in situation.report.attachments if a.text]
    texts += [b.text for b in situation.report.blocks if b.kind is BlockKind.LOG and not b.attachment]
    found: list[Mapping[str, str]] = []
    for text in texts[:10]:
        lines = text.splitlines()
        end = next((n for n in range(len(lines)) if _FATAL.search(lines[n][:500])), len(lines))
        taken = [values for line in reversed(lines[max(0, end - 40) : end]) if (values := values_in(line))]
        found += taken[:_LAST_RECORDS]
    return found[: 2 * _LAST_RECORDS]


def values_in(line: str) -> dict[str, str]:
    """The values that a log line gives names to, as Python text: `key='value'`, `key=3`, or fields of JSON."""
    record = parse_line(line[:20_000])
    if record is None:
        return {}
    pairs = {m["key"]: _literal(m["value"]) for m in _PAIR.finditer(record.message[:4000])}
    pairs.update({key: _literal(value) for key, value in record.fields if key.isidentifier()})
    return dict(list(pairs.items())[:8])


def _literal(text: str) -> str:
    try:
        return repr(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return repr(text)


def fitting(situation: Situation, values: Mapping[str, str]) -> list[tuple[Symbol, str]]:
    """Public functions whose required parameters the values fill, those with like names first, with the arguments."""
    suspects = {name.rpartition(".")[2] for name in situation.symptom.suspects}
    found: list[tuple[tuple[int, int, int], Symbol, str]] = []
    for symbol in situation.index.symbols:
        if not symbol.public or symbol.kind != "function" or symbol.is_async or _is_test(symbol):
            continue
        arguments, named = _arguments(symbol, values)
        if named:
            found.append(((-named, -(symbol.name in suspects), len(symbol.parameters)), symbol, arguments))
    return [(symbol, arguments) for _, symbol, arguments in sorted(found, key=lambda entry: entry[0])][:_MOST_CALLS]


def _is_test(symbol: Symbol) -> bool:
    return "test" in symbol.module.split(".")[-1] or "tests" in symbol.module.split(".")


def _arguments(symbol: Symbol, values: Mapping[str, str]) -> tuple[str, int]:
    """The arguments that fill the required parameters, by name and then in order, and how many fit by name."""
    required = [p for p in symbol.parameters if p.default is None and not p.kind.startswith("var_")]
    by_name = {p.name: values[p.name] for p in symbol.parameters if p.name in values}
    rest = [value for key, value in values.items() if key not in by_name]
    filled: list[str] = []
    for parameter in required:
        if parameter.name in by_name:
            value = by_name[parameter.name]
        elif rest:
            value = rest.pop(0)
        else:
            return "", 0
        filled.append(f"{parameter.name}={value}" if parameter.kind == "keyword_only" else value)
    extra = [f"{name}={value}" for name, value in by_name.items() if name not in {p.name for p in required}]
    return ", ".join([*filled, *extra]), len(by_name)
