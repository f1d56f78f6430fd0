"""Values that a report says it got and should get, each with the sentence or line it came from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rebug.intake.classify import REPL_PROMPT, SHELL_PROMPT
from rebug.intake.comments import MAX_VALUES, Found, from_comment, from_comments, is_literal, is_value, split_comments
from rebug.intake.lines import looks_logged
from rebug.intake.prose import Sentence
from rebug.model import Block, BlockKind, Failure, Report, Value

_ACTUAL_LABEL = re.compile(
    r"(?<!expected )(?<!desired )(?<!correct )\b(?:actual|actually|observed|current(?:ly)?|outputs?|results?|prints?"
    r"|printed|what (?:i|we) (?:get|got"
    r"|see)|what happens|i get|we get|i got|we got|get:|gives?|gave|"
    r"returns?|yields?|produces?|shows?|displays?|but got|evaluates to|becomes|instead)\b",
    re.IGNORECASE,
)
_EXPECTED_LABEL = re.compile(
    r"\b(?:expect(?:ed|ing|s|ation)?|should (?:be|have|give|print|return|produce|look|output|read|become)|desired"
    r"|correct (?:output|result|value)|what i want|wanted|want(?:s)?|"
    r"supposed to|ought to|used to (?:be|give|print|return|produce)|(?:instead of|rather than):?$)\b",
    re.IGNORECASE,
)
_WORDS = (
    r"None|True|False|NaN|nan|inf|nothing|empty|an? empty \w+|-?\d+(?:\.\d+)?(?![\w.%:/-])|(?:one|two|three|four"
    r"|a single|a) (?:statement|item|element|entry|value|row|line|key|byte)s?|null"
)


def _item(name: str) -> str:
    """A code span, captured as `name`, or one of a few telling words, captured as `name_word`."""
    return rf"(?:`{{1,2}}(?P<{name}>[^`\n]{{1,300}}?)`{{1,2}}|(?P<{name}_word>\b(?:{_WORDS})(?![\w`.]\w)))"


_FILL = (
    r"(?: (?:a|an|the|it|to|as|with|is|be|value|string|list|result|of|only|just|out|back|simply|up|in|correctly"
    r"|wrongly|incorrectly|still|also|now|always|me|us|:)){0,4}:? "
)
_GOT = (
    r"(?:returns?|returned|gives?|gave|got|get|gets|getting|prints?|printed|yields?|yielded|produces?|produced"
    r"|outputs?|shows?|becomes?|became|evaluates|comes|came|turns|turned|is|are|was|were|results?|receives?"
    r"|received|see|seeing|contains?|reads?|actual(?:ly)?|raises?)"
)
_WANT = (
    r"(?:should|must|ought to|supposed to|would expect|I'd expect|we'd expect|expected|expect|expecting|want|wanted)"
)
_BETWEEN = r"[^`.\n]{0,60}?"

_EXPECTED_GOT = re.compile(
    rf"\b{_WANT}\b{_BETWEEN}{_item('expected')}{_BETWEEN}\b(?:but|got|get|gets|however"
    rf"|instead)\b{_BETWEEN}{_item('actual')}",
    re.IGNORECASE,
)
_SHOULD_INSTEAD = re.compile(
    rf"\b{_WANT}\b{_BETWEEN}{_item('expected')}[^`\n]{{0,30}}?\b(?:instead of|rather than|and not|not"
    rf"|but not)\b[^`\n]{{0,20}}?{_item('actual')}",
    re.IGNORECASE,
)
_INSTEAD = re.compile(
    rf"{_item('actual')}[^`\n]{{0,30}}?\b(?:instead of|rather than|and not|but not|where it (?:should be|was|had"
    rf"|used to be|had been)|where I(?:'d| would)? expect(?:ed)?)\b[^`\n]{{0,30}}?{_item('expected')}",
    re.IGNORECASE,
)
_GOT_SHOULD = re.compile(
    rf"\b{_GOT}\b{_FILL}{_item('actual')}[^`\n]{{0,40}}?\b(?:{_WANT}|expected)\b{_BETWEEN}{_item('expected')}",
    re.IGNORECASE,
)
_BECOMES = re.compile(
    rf"{_item('input')}[^`.\n]{{0,30}}?\b(?:becomes?|became|turns? into|turned into|is (?:converted|changed"
    rf"|parsed|rendered|formatted|encoded|rounded) (?:in)?(?:to|as)|ends up as|comes (?:out"
    rf"|back) as)\b{_FILL}{_item('actual')}",
    re.IGNORECASE,
)
_SHOULD = re.compile(
    rf"\b(?:should|must|ought to|would expect|I'd expect|we'd expect|I expect(?:ed)?|we expect(?:ed)?|expected"
    rf"|supposed to)\b[^`.,;(\n]{{0,50}}?{_item('expected')}",
    re.IGNORECASE,
)
_GETS = re.compile(
    rf"\b(?:returns?|returned|gives?|gave|got|I get|we get|gets|prints?|printed|yields?|produces?|produced"
    rf"|outputs?|says|becomes?|evaluates to|comes (?:out|back) as|turns into|results? in|result is|ends up as"
    rf"|(?:is|are|was) (?:always )?(?=empty|None|`))\b{_FILL.rstrip(' ')} ?{_item('actual')}",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"^\W{0,6}(?P<label>expected|actual|got|observed|output|result|returned|current)(?: (?:output|result|value"
    r"|behaviou?r))?\W{0,4}[:=]\W{0,3}\s*(?P<value>\S.{0,200})$",
    re.IGNORECASE,
)

_QUIET = re.compile(
    r"^(?:sudo )?(?:pip3?|uv|cat|echo|cd|mkdir|ls|git|export|touch|rm|cp|mv|which|docker|apt(?:-get)?|conda"
    r"|source|head|tail|tree)\b|.{0,200}--version$|.{0,40} -V$"
)
_ASSERT = re.compile(r"^(?:assert )?(?P<left>[^\n]{1,400}?) (?P<op>==|!=) (?P<right>[^\n]{1,400})$")


def values_of(report: Report, sentences: Sequence[Sentence], failure: Failure | None) -> Found:
    """Actual and expected values from comments, transcripts, labelled blocks, sentences and assertion messages."""
    found = Found()
    good = {v.version for v in report.versions if v.role == "good"}
    if failure is not None:
        _from_assertion(found, failure)
    own = [block for block in report.blocks if not block.attachment]
    for block in own:
        if block.kind is BlockKind.PYTHON:
            from_comments(found, block, good)
    for sentence in sentences:
        _from_sentence(found, sentence)
    _from_sections(found, report)
    whole = _from_output(found, own)
    for block in own:
        if block.kind is BlockKind.REPL:
            _from_repl(found, block)
    for block in own:
        if block.kind is BlockKind.SHELL:
            _from_shell(found, block)
    return _without_shared(found, whole)


def _without_shared(found: Found, whole: Found) -> Found:
    """Lines that both the actual and the expected output show say nothing about the difference. Where nothing is left
    of a side, its whole block stands for it."""
    shared = {v.text for v in found.actual} & {v.text for v in found.expected}
    if not shared:
        return found
    actual = [v for v in found.actual if v.text not in shared] or whole.actual or found.actual
    expected = [v for v in found.expected if v.text not in shared] or whole.expected or found.expected
    return Found(actual, expected)


def _from_assertion(found: Found, failure: Failure) -> None:
    if failure.name != "AssertionError":
        return
    code = failure.frames[-1].code if failure.frames and not failure.message else ""
    stated = re.match(r"assert (?P<left>.{1,400}?) == (?P<right>[^\n]{1,400})$", code)
    if stated and is_literal(stated["right"]):
        found.add(found.expected, stated["right"], code, failure.line)
    for text in failure.message.split("\n"):
        match = _ASSERT.match(text.strip())
        if match and (match["op"] == "==") == text.strip().startswith("assert "):
            found.add(found.actual, match["left"], text, failure.line)
            found.add(found.expected, match["right"].split(" : ")[0], text, failure.line)


def _from_sentence(found: Found, sentence: Sentence) -> None:
    text = sentence.text
    labelled = _FIELD.match(text)
    if labelled:
        side = found.expected if labelled["label"].lower() == "expected" else found.actual
        value = labelled["value"].strip().strip("*").strip()
        span = re.fullmatch(r"`{1,2}([^`]+)`{1,2}\.?", value)
        if span or is_value(value):
            found.add(side, span[1] if span else value, text, sentence.line, exact=True)
            return
    for pattern in (_EXPECTED_GOT, _SHOULD_INSTEAD, _INSTEAD, _GOT_SHOULD):
        match = pattern.search(text)
        if match and _useful(match):
            _add_pair(found, match, text, sentence.line)
            return
    for pattern in (_BECOMES, _SHOULD, _GETS):
        match = pattern.search(text)
        if match and _useful(match):
            _add_pair(found, match, text, sentence.line)
            _add_more(found, pattern is _SHOULD, text, match.end(), sentence.line)
    if re.search(r"^expected|^desired|^what (?:i|should|did you expect)", sentence.section, re.IGNORECASE):
        for span in re.finditer(r"`([^`\n]{1,300})`", text):
            if is_value(span[1]) and not re.search(r"\)$", span[1]):
                found.add(found.expected, span[1], text, sentence.line)


def _add_more(found: Found, expected: bool, text: str, at: int, line: int) -> None:
    """Further code spans of an enumeration: "prints `a` and `b`"."""
    more = re.compile(r"(?: \w{1,12})?(?:,| and|, and| or) `{1,2}(?P<code>[^`\n]{1,300})`")
    for _ in range(8):
        match = more.match(text, at)
        if not match:
            return
        if is_value(match["code"]):
            found.add(found.expected if expected else found.actual, match["code"], text, line)
        at = match.end()


def _useful(match: re.Match[str]) -> bool:
    """Whether a sentence pattern matched values rather than names of exceptions or functions used as subject."""
    groups = match.groupdict()
    sides = [groups.get(name) for name in ("actual", "expected") if groups.get(name)]
    return not any(re.search(r"(?:Error|Exception|Warning)(?:\(.*\))?$", side or "") for side in sides)


def _add_pair(found: Found, match: re.Match[str], quote: str, line: int) -> None:
    groups = match.groupdict()
    for side, name in ((found.actual, "actual"), (found.expected, "expected")):
        code, word = groups.get(name), groups.get(f"{name}_word")
        if code and not re.fullmatch(r"[A-Za-z_][\w.]*\(\)|--?[a-z][\w-]*|v?\d+\.\d+\.\d+\w*", code):
            found.add(side, code, quote, line)
        elif word:
            found.add(side, word, quote, line, exact=False)


def _from_sections(found: Found, report: Report) -> None:
    """Text under "Expected" or "Actual" that is nothing but literals, one a line."""
    for heading, text in report.sections:
        expected = re.match(r"(?:expected|desired)\b", heading, re.IGNORECASE)
        actual = re.match(r"(?:actual|observed|current|output|result)\b", heading, re.IGNORECASE)
        lines = [line.strip().lstrip("> ").strip("`") for line in text.split("\n")[:MAX_VALUES] if line.strip()]
        if (expected or actual) and lines and all(is_literal(line) for line in lines):
            at = 0
            for offset, raw in enumerate(report.body.split("\n")):
                if lines[0] in raw:
                    at = report.body_line + offset
                    break
            for offset, line in enumerate(lines):
                found.add(found.expected if expected else found.actual, line, line, at + offset if at else 0)


def _from_output(found: Found, blocks: Sequence[Block]) -> Found:
    """The lines of blocks that show what was printed; the label above says which side they are. Returns the blocks."""
    whole = Found()
    previous: Block | None = None
    for block in blocks:
        if block.kind in (BlockKind.OUTPUT, BlockKind.DATA, BlockKind.OTHER, BlockKind.CONFIG):
            side = _side(found, block, previous)
            if side is not None:
                for text, line in _block_values(block):
                    found.add(side, text, text, line)
                kept = whole.expected if side is found.expected else whole.actual
                whole.add(kept, block.text, block.text, block.line)
        previous = block
    return whole


def _side(found: Found, block: Block, previous: Block | None) -> list[Value] | None:
    after_code = previous is not None and previous.kind in (BlockKind.PYTHON, BlockKind.SHELL)
    for label in (block.lead[-160:], block.section if not block.lead or block.lead == block.section else ""):
        expected, actual = _last(_EXPECTED_LABEL, label), _last(_ACTUAL_LABEL, label)
        if expected >= 0 and expected >= actual:
            return found.expected
        if actual >= 0:
            if re.search(r"\b(?:instead of|rather than)\b.{0,40}$", label, re.IGNORECASE):
                return found.expected
            return found.actual
    section_expected = bool(re.match(r"(?:expected|desired)", block.section, re.IGNORECASE))
    if section_expected and block.kind is BlockKind.OUTPUT:
        return found.expected
    if block.kind is BlockKind.OUTPUT and (
        after_code or re.match(r"(?:actual|output|result|current|observed)", block.section, re.IGNORECASE)
    ):
        return found.actual
    return None


def _last(pattern: re.Pattern[str], text: str) -> int:
    return max((match.start() for match in pattern.finditer(text)), default=-1)


def _block_values(block: Block) -> Iterable[tuple[str, int]]:
    """One value for a block that is one literal, else one per line."""
    text = block.text.strip()
    if "\n" in text and is_literal(text):
        return [(text, block.line)]
    lines = [(line.strip(), block.line + i) for i, line in enumerate(block.text.split("\n")[:MAX_VALUES])]
    return [(line, number) for line, number in lines if line and line not in {"...", "[...]", "…"}]


def _from_shell(found: Found, block: Block) -> None:
    """What commands printed, save those that only show or prepare something."""
    command = ""
    for offset, line in enumerate(block.text.split("\n")[:400]):
        prompt = SHELL_PROMPT.match(line)
        if prompt:
            command = prompt["command"]
        elif "Traceback (most recent" in line:
            return
        elif command and line.strip() and not _QUIET.match(command) and not looks_logged(line):
            found.add(found.actual, line.strip(), f"$ {command}", block.line + offset)


def _from_repl(found: Found, block: Block) -> None:
    """Outputs of a transcript, one value each; a comment on the prompt may say what was expected."""
    output: list[str] = []
    began = block.line
    code = ""
    for offset, line in enumerate([*block.text.split("\n"), ">>> "]):
        if REPL_PROMPT.match(line):
            _repl_output(found, code, output, began)
            code, output, began = re.sub(r"^\s*(?:>>> ?|In ?\[\d+\]: ?)", "", line), [], block.line + offset + 1
            comment = next(split_comments(code))[1] if code else ""
            if comment:
                from_comment(found, "", comment, block.line + offset, code)
        elif re.match(r"^\s{0,12}(?:\.\.\.(?: |$)|\s*\.\.\.: ?)", line) and not output:
            began = block.line + offset + 1
        elif line.strip():
            output.append(re.sub(r"^Out ?\[\d+\]: ?", "", line))


def _repl_output(found: Found, code: str, output: Sequence[str], began: int) -> None:
    if (
        not output
        or "__version__" in code
        or any("Traceback (most recent" in line or 'File "<' in line for line in output)
    ):
        return
    text = "\n".join(output).strip()
    comment = re.match(r"^(?P<value>.*?)\s{2,}#\s*(?P<comment>.+)$", text) if "\n" not in text else None
    if comment:
        from_comment(found, "", comment["comment"], began, text)
        text = comment["value"]
    if text.startswith("#"):
        from_comment(found, "", text.lstrip("# "), began, text)
        return
    if len(output) > 1 and is_literal(text):
        found.add(found.actual, text, code or text, began)
        return
    for offset, line in enumerate(text.split("\n")[:20]):
        found.add(found.actual, line, f">>> {code}" if code else line, began + offset)
