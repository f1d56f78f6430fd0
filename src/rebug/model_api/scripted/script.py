"""What a scripted provider answers: a list with faults, or a function."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from rebug.errors import InputError

Wire = Literal["openai", "anthropic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request as the server saw it."""

    number: int  # 1-based, in order of arrival
    wire: Wire
    model: str
    prefix: str  # all that stands before the last text: what should be equal in every call, fields included
    suffix: str  # the last text
    max_tokens: int | None
    cache_key: str
    prompt_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    body: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer, or one fault."""

    text: str = ""
    when: str = ""  # given only to calls whose suffix contains this; "" to any
    times: int = 1  # how often; 0: without end
    finish: Literal["stop", "length", "refusal"] = "stop"
    status: int = 200
    error: str = ""  # the code in the error's body, e.g. "context_length_exceeded"
    message: str = ""  # its words; may hold "{key}", which the caller's own key is put into, as careless servers do
    retry_after: str = ""  # the header: seconds or an HTTP date
    delay: float = 0.0  # seconds before the first byte
    pause: float = 0.0  # seconds between the head and the body: from the head on, the cache entry is readable
    drop: Literal["", "before", "within"] = ""  # closes the connection instead of, or in the midst of, the answer
    cut_to: int | None = None  # reads only that many tokens of the prompt and says so in the usage alone
    usage: bool = True  # False: reports no usage
    output_tokens: int | None = None  # None: counted from the text
    raw: str | None = None  # sent as the whole body, valid or not

    def __post_init__(self) -> None:
        if self.times < 0 or self.delay < 0 or self.pause < 0 or not 200 <= self.status < 600:
            raise InputError("an answer's times, delay and pause cannot be negative, and its status is 200 to 599")


Reply = Callable[[Call], Answer | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What to answer. `reply` decides when given; else the first of `answers` that fits and is not used up, else
    `otherwise`."""

    answers: Sequence[Answer | str] = ()
    otherwise: Answer | str = ""
    reply: Reply | None = None
    provider: Wire = "openai"
    model: str = "gpt-4o-mini"  # for `scripted:PATH`: whose price and caching hold
    minimum_prefix: int | None = None  # tokens; None: as the provider's documentation has it
    life_seconds: float = 300.0

    @classmethod
    def read(cls, path: Path) -> Script:
        """Reads a script in JSON: {"answers": ["text", {"text": …, "when": …, "status": …}], "otherwise": …,
        "provider": "openai"|"anthropic", "model": …}, or just the list of answers. The keys are those of `Answer`.

        Raises InputError.
        """
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: is not a script of replies: {error}") from error
        if isinstance(document, list):
            document = {"answers": document}
        if not isinstance(document, dict):
            raise InputError(f"{path}: a script of replies is a list, or an object with 'answers'")
        known = {field.name for field in fields(cls)} - {"reply"}
        _refuse_unknown(path, document, known)
        if document.get("provider", "openai") not in {"openai", "anthropic"}:
            raise InputError(f"{path}: 'provider' is openai or anthropic")
        answers = document.get("answers", [])
        if not isinstance(answers, list):
            raise InputError(f"{path}: 'answers' has to be a list")
        rest = {name: document[name] for name in known - {"answers", "otherwise"} if name in document}
        return cls(
            answers=tuple(_answer(path, each) for each in answers),
            otherwise=_answer(path, document.get("otherwise", "")),
            **rest,
        )


def _answer(path: Path, value: object) -> Answer:
    if isinstance(value, str):
        return Answer(text=value)
    if not isinstance(value, dict):
        raise InputError(f"{path}: an answer is a text or an object, not {value!r}"[:300])
    _refuse_unknown(path, value, {field.name for field in fields(Answer)})
    try:
        return Answer(**value)
    except TypeError as error:
        raise InputError(f"{path}: an answer cannot be read: {error}") from error


def _refuse_unknown(path: Path, given: Mapping[str, object], known: set[str]) -> None:
    unknown = sorted(set(given) - known)
    if unknown:
        raise InputError(f"{path}: unknown key {unknown[0]!r}; there are {', '.join(sorted(known))}")
