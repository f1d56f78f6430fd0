"""Which of the failures a report shows or names is the reported one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rebug.intake.prose import Sentence, plain
from rebug.model import BlockKind, Failure, Report

MAX_PROSE = 60_000  # characters in which the names of exceptions are looked for
MAX_CONSIDERED = 60  # failures of a report

_TYPE = (
    r"(?<!\w)(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}?(?:Error|Exception|ExceptionGroup|Interrupt|Exit|Timeout|Expired|Failure"
    r"|NotFound|DoesNotExist|Warning|StopIteration)"
)
_NAMED = re.compile(rf"(?<![\w.]){_TYPE}\b(?!\s*[(]\w*[)]?:\s*pass)")
_NAMED_LOWER = re.compile(r"(?<![\w.])(?:[a-z_]\w*\.){1,4}(?:error|timeout|[A-Z]\w{2,60})(?=: \S)")
_RAISED = re.compile(
    r"\b(?:raises?|raised|raising|throws?|threw|thrown|fails? with|failed with|crash(?:es|ed)? with|get(?:s"
    r"|ting)?|got|results? in|leads? to|ends? (?:in|with)|dies with|die with|error(?:s)? (?:out )?with"
    r"|blows? up with)\b"
    r"(?: an?| the| this| with| following){0,3} `?(?P<type>(?:[A-Za-z_]\w*\.){0,8}[A-Z][A-Za-z]\w{2,60})\b"
)
_MESSAGE = re.compile(
    rf"(?<![\w.])(?P<type>{_TYPE}|(?:[a-z_]\w*\.){{1,4}}(?:error|timeout"
    rf"|[A-Z]\w{{2,60}})):\s+(?P<message>\S.{{0,400}})$"
)
_CODE_TITLE = re.compile(
    r"`(?P<type>(?:[A-Za-z_]\w*\.){0,8}[A-Z]\w*[a-z]\w*)`(?= (?:on|when|while|if|in|for|from|raised|during|after"
    r"|with|is raised|thrown)\b)"
)
_SHOULD_RAISE = re.compile(
    rf"(?:\b(?:should|must|ought to|supposed to|expect(?:ed|ing)?(?: it)?(?: to)?|I'd expect"
    rf"|would expect)\b[^.\n]{{0,60}}?(?:\b(?:raise[sd]?|throw[sn]?|fail with|get|give|be|see|report|a|an"
    rf"|the)\b)[^.\n]{{0,24}}?`?(?P<a>{_TYPE})\b"
    rf"|\b(?:no|does(?: not|n't) (?:raise|throw)(?: an?| any)?|did(?: not|n't) (?:raise|throw)(?: an?)?"
    rf"|without(?: raising)?(?: an?)?|never raises?(?: an?)?|not raising(?: an?)?|instead of(?: raising| a proper"
    rf"| the documented| an?| the){{0,2}}|rather than(?: raising)?(?: an?)?)\s`?(?P<b>{_TYPE})\b"
    rf"|`?(?P<c>{_TYPE})`? (?:should be|is expected|would be expected|was expected|must be|is not|isn't|was not"
    rf"|wasn't|is never) (?:raised|thrown)?"
    rf"|\bexpected(?: an?)?:?\s+`?(?P<d>{_TYPE})\b)",
    re.IGNORECASE,
)
_EXPECTED_NAME = re.compile(
    r"\bexpect(?:ed)?(?: to (?:get|see))?(?: an?)? "
    r"`(?P<type>(?:[a-z_]\w{0,40}\.){1,4}[A-Z][a-z]+[A-Z]\w{1,40})`(?![\w(])"
)
"""An exception need not be called an error: "I'd expect `package.WouldBlock`"."""
_CONTRAST = re.compile(
    r"\b(?:instead of|rather than|and not|but not)(?: (?:in|an?|raising|the|with)){0,2} `(?P<type>[A-Z][a-z]\w+)`"
)
_NOT_EXCEPTIONS = frozenset(
    {
        "Python",
        "None",
        "True",
        "False",
        "The",
        "This",
        "Debian",
        "Ubuntu",
        "Windows",
        "Linux",
        "Docker",
        "GitHub",
        "Traceback",
        "Exception",
    }
)


@dataclass(frozen=True, slots=True)
class Reported:
    """The failure that the report is about and where it was taken from."""

    failure: Failure
    quote: str
    line: int
    in_title: bool = False
    in_subject: bool = False  # a frame stands in one of the subject's modules
    named: bool = False  # the prose names it
    in_transcript: bool = False  # an interpreter's session shows it, so it comes each time


def expected_exception(sentences: Sequence[Sentence]) -> str:
    """The exception that the report says should be raised, "" when it says none."""
    for sentence in sentences:
        text = plain(sentence.text)
        contrast = _CONTRAST.search(sentence.text)
        if contrast and _NAMED.search(plain(sentence.text[: contrast.start()])):
            return contrast["type"]
        found = _SHOULD_RAISE.search(text)
        if found:
            return next(group for group in (found["a"], found["b"], found["c"], found["d"]) if group)
        named = _EXPECTED_NAME.search(sentence.text)
        if named:
            return named["type"]
        if re.match(r"expected", sentence.section, re.IGNORECASE):
            named = re.search(rf"\b(?:raise[sd]?|an?|throws?)\b `?(?P<type>{_TYPE})\b", text)
            if named and not re.search(r"\b(?:no|not|without|instead of|n't)\b", text):
                return named["type"]
    return ""


def relevant_failure(
    report: Report, sentences: Sequence[Sentence], modules: Sequence[str], expected: str
) -> Reported | None:
    """The failure the report complains of: shown in a traceback if one fits, else named in the title or the prose."""
    title = plain(report.title)
    prose = plain(" ".join(s.text for s in sentences[1 if report.title else 0 :])[:MAX_PROSE])
    shown = [
        (_score(failure, title, prose, modules, expected, outermost=outer) - 0.01 * index, failure)
        for index, top in enumerate(report.failures[:MAX_CONSIDERED])
        for failure, outer in _chain(top)
    ]
    best = max(shown, key=lambda pair: pair[0], default=(0.0, None))
    if best[1] is not None and best[0] > -4:
        failure = best[1]
        if not failure.type and failure.frames:
            named = _named_failure(sentences, expected, titled=bool(report.title))
            if named and not failure.message and not _is_dump(report, failure):
                failure = replace(failure, type=named.failure.type, message=named.failure.message)
        return Reported(
            failure=failure,
            quote=_quote(report, failure),
            line=failure.line,
            in_title=bool(failure.type) and _names(title, failure.name),
            in_subject=_touches(failure, modules),
            named=bool(failure.type) and _names(f"{title} {prose}", failure.name),
            in_transcript=any(
                b.kind is BlockKind.REPL and b.line <= failure.line <= b.line + b.text.count("\n")
                for b in report.blocks
            ),
        )
    return _named_failure(sentences, expected, titled=bool(report.title))


def _is_dump(report: Report, failure: Failure) -> bool:
    """Whether frames without a type come from a stack dump rather than from a traceback that was cut off."""
    lines = report.body.split("\n")
    at = failure.line - report.body_line
    around = "\n".join(lines[max(at - 1, 0) : at + 3])
    return "most recent call first" in around or bool(re.search(r'", line \d+ in ', around))


def _chain(failure: Failure) -> Iterator[tuple[Failure, bool]]:
    """A failure, its causes and its members, with whether it is the outermost."""
    current: Failure | None = failure
    outermost = True
    for _ in range(50):
        if current is None:
            return
        yield current, outermost
        for member in current.members[:20]:
            yield from ((inner, False) for inner, _ in _chain(member))
        outermost = False
        current = current.cause


def _names(text: str, name: str) -> bool:
    return bool(name) and bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text))


def _touches(failure: Failure, modules: Sequence[str]) -> bool:
    return any(frame_in(frame.file, modules) for frame in failure.frames)


def frame_in(file: str, modules: Sequence[str]) -> bool:
    """Whether a frame's file belongs to one of the import names: a package's directory or a module's file."""
    parts = file.lower().split("/")
    return any(m.lower() in parts[:-1] or parts[-1] in {f"{m.lower()}.py", f"{m.lower()}.pyx"} for m in modules)


def _score(
    failure: Failure, title: str, prose: str, modules: Sequence[str], expected: str, *, outermost: bool
) -> float:
    """How likely a failure is the one complained of."""
    score = 1.0 if outermost else -1.0
    if failure.type:
        score += 6.0 * _names(title, failure.name) + 2.0 * _names(prose, failure.name)
        if expected and failure.name == expected.rpartition(".")[2]:
            score -= 12.0
    message = failure.message.split("\n")[0]
    score += 3.0 * (len(message) > 8 and message.lower() in title.lower())
    score += 2.0 * bool(failure.frames) + 3.0 * _touches(failure, modules)
    score -= 2.0 * (failure.where == "unraisable") + 2.0 * (failure.name == "CancelledError")
    score -= 1.5 * (not failure.type) + 1.0 * failure.name.endswith("Warning")
    return score


def _quote(report: Report, failure: Failure) -> str:
    if failure.type:
        return f"{failure.type}: {failure.message}".rstrip(": ").split("\n")[0]
    lines = report.body.split("\n")
    at = failure.line - report.body_line
    return lines[at].strip() if 0 <= at < len(lines) else ""


def _named_failure(sentences: Sequence[Sentence], expected: str, *, titled: bool) -> Reported | None:
    """A failure without a traceback: "raises X", "X: message", or X in the title."""
    for index, sentence in enumerate(sentences):
        found = _named_in(sentence, expected, title=titled and not index)
        if found:
            return found
    return None


def _named_in(sentence: Sentence, expected: str, *, title: bool) -> Reported | None:
    text = plain(sentence.text)
    if re.match(r"(?:expected|desired)", sentence.section, re.IGNORECASE) and not title:
        return None
    wanted = {expected, expected.rpartition(".")[2]} - {""}
    coded = _CODE_TITLE.search(sentence.text) if title else None
    candidates = [(m["type"], m["message"]) for m in [_MESSAGE.search(text)] if m]
    candidates += [(m["type"], "") for m in _RAISED.finditer(text)]
    candidates += [(coded["type"], "")] if coded else []
    if title:
        candidates += [(m[0], "") for m in _NAMED.finditer(text)]
    for type_name, message in candidates:
        bare = type_name.rpartition(".")[2]
        if bare in wanted or type_name in wanted or bare in _NOT_EXCEPTIONS or bare.isupper():
            continue
        if (
            not _NAMED.fullmatch(type_name)
            and not message
            and not coded
            and not re.search(rf"\b(?:rais|throw|threw)\w{{0,4}}\b.{{0,24}}{re.escape(type_name)}", text)
        ):
            continue
        if (
            re.search(rf"\b(?:no|not|n't|without|instead of|should|never)\b[^.,;]{{0,30}}{re.escape(bare)}", text)
            and not message
        ):
            continue
        cleaned = re.sub(r"\s*\(\d[\w.]* -> .{0,30}\)$", "", message or "").strip(" `*")
        failure = Failure(type=type_name, message=cleaned, complete=False, line=sentence.line, where="printed")
        return Reported(failure=failure, quote=sentence.text, line=sentence.line, in_title=title, named=True)
    return None
