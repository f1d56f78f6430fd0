"""What a reported stack says of the way into the subject: who called it, with which line, and which part it reached."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rebug.model import Failure, Frame, Symptom
from rebug.ports import Index, Symbol
from rebug.propose.code import parse

_STDLIB = re.compile(
    r"<frozen |/lib/python3(\.\d+)?/(?!site-packages|dist-packages)|\bLib/(?!site-packages)", re.IGNORECASE
)
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_LEADING = re.compile(r"^(return|yield from|yield|raise|assert|del|elif|if|while|await)\b\s*")
_OPENERS = ("with ", "async with ", "for ", "async for ", "try:", "else:", "finally:", "except")


@dataclass(frozen=True, slots=True)
class Place:
    """A frame with the subject's symbol it belongs to (None outside the subject)."""

    frame: Frame
    symbol: Symbol | None


def chain(symptom: Symptom) -> list[Failure]:
    """The reported failure, then those it came from and those it holds (at most eight), that show frames."""
    found: list[Failure] = []
    waiting = [symptom.failure] if symptom.failure else []
    while waiting and len(found) < 8:
        failure = waiting.pop(0)
        found.append(failure)
        waiting += [f for f in (failure.cause, *failure.members) if f is not None]
    return [failure for failure in found if failure.frames]


def places(failure: Failure, index: Index) -> tuple[Place, ...]:
    return tuple(Place(f, None if is_stdlib(f.file) else index.at(f.file, f.line, f.function)) for f in failure.frames)


def is_stdlib(file: str) -> bool:
    """Whether a frame's file belongs to the interpreter rather than to somebody's code."""
    path = file.replace("\\", "/")
    return "/site-packages/" not in path and "/dist-packages/" not in path and bool(_STDLIB.search(path))


def entries(steps: Sequence[Place]) -> Iterator[tuple[Place | None, Place]]:
    """(calling frame outside, first frame inside) for every way into the subject, the outermost first.

    Frames of the standard library between the two are skipped: they pass the call on.
    """
    caller: Place | None = None
    inside = False
    for step in steps:
        if step.symbol is not None:
            if not inside:
                yield caller, step
            inside = True
        elif not is_stdlib(step.frame.file):
            caller, inside = step, False


def subject_places(steps: Sequence[Place]) -> tuple[Place, ...]:
    return tuple(step for step in steps if step.symbol is not None)


# ------------------------------------------------------------------------------------------------- lines of a traceback


def closed(code: str) -> str:
    """The text with its open brackets closed; a trailing comma or operator before them is dropped."""
    stack: list[str] = []
    quote = ""
    for position, char in enumerate(code):
        if quote:
            quote = "" if char == quote and code[position - 1] != "\\" else quote
        elif char in "\"'":
            quote = char
        elif char in _PAIRS:
            stack.append(_PAIRS[char])
        elif stack and char == stack[-1]:
            stack.pop()
    if not stack and not quote:
        return code
    return code.rstrip().rstrip(",+-*/") + quote + "".join(reversed(stack))


def statement(code: str) -> str:
    """A line of a traceback as a statement that stands alone; "" when no sense can be made of it.

    `return f(x)` becomes `f(x)`, a compound header gets a body, a condition becomes its test, brackets left open by a
    call that spans lines are closed.
    """
    text = code.strip()
    if (
        not text
        or len(text) > 2000
        or text.startswith(("def ", "class ", "@", "raise ", "import ", "from ", "async def "))
    ):
        return ""
    if not text.startswith(_OPENERS):
        for _ in range(3):
            text = _LEADING.sub("", text) if not text.startswith("await ") else text
        if code.strip().startswith(("if ", "elif ", "while ", "if(", "while(")):
            text = text.rstrip().removesuffix(":")
    for attempt in _attempts(text):
        tree = parse(attempt)
        if tree is not None and len(tree.body) == 1 and not _idle(tree.body[0]):
            return attempt
    return ""


def _attempts(text: str) -> Iterator[str]:
    yield text
    if text.endswith(":"):
        yield f"{text}\n    pass"
    shut = closed(text)
    if shut != text:
        yield shut
        yield f"{shut}:\n    pass"
    if text.startswith("not "):
        yield text[4:]
    if text.endswith(("(", ",")):
        yield f"{closed(text)}"
    yield f"{text.rstrip(',')}"


def _idle(node: ast.stmt) -> bool:
    """Whether a statement calls or looks up nothing, so that running it shows nothing."""
    active = (
        ast.Call,
        ast.Subscript,
        ast.BinOp,
        ast.Compare,
        ast.Attribute,
        ast.For,
        ast.AsyncFor,
        ast.Await,
        ast.UnaryOp,
    )
    return not any(isinstance(inner, active) for inner in ast.walk(node))


def free_of_self(text: str) -> str:
    """`self.path` becomes `path`: the state of an object that is not known, as a plain name.

    Calls of methods of the unknown object stay as calls of a plain name.
    """
    return (
        re.sub(r"\b(?:self|cls)\.(?:\w+\.)*?(\w+)\b(?!\s*\.\s*\w+\s*\()", r"\1", text)
        if "self." in text or "cls." in text
        else text
    )
