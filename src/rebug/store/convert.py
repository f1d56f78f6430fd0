"""The values of `rebug.model` as plain JSON and back.

pydantic reads the dataclasses' own annotations, so a field that is added to a noun is stored without a change here;
data written before the field existed takes its default.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")

Json = dict[str, object]
"""A JSON object: strings, numbers, booleans, None, lists and objects of these."""


_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}


def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    """Building one takes milliseconds, so each type's is kept."""
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def encode(value: object) -> Json:
    """A frozen value of the model as a JSON object.

    Half surrogate characters (undecodable bytes of a candidate's output) become `\\udcXX` in letters, and numbers that
    JSON lacks (NaN, infinities) become None: what is stored is valid UTF-8 JSON for any reader.
    """
    dumped = _adapter(type(value)).dump_python(value, mode="python", warnings=False)
    return cast("Json", plain(dumped))


def decode(kind: type[T], data: Mapping[str, object]) -> T:
    """The value of type `kind` that `encode` made `data` from.

    Raises ValueError when the data does not describe such a value.
    """
    try:
        return cast("T", _adapter(kind).validate_python(dict(data)))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"not a stored {kind.__name__}: {where}: {first['msg']}") from error


def plain(value: object) -> object:
    """Anything made of mappings, sequences and scalars as values that JSON has."""
    match value:
        case enum.Enum():
            return plain(value.value)
        case str():
            return _text(value)
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else None
        case PurePath():
            return _text(str(value))
        case bytes():
            return value.decode("utf-8", "backslashreplace")
        case Mapping():
            return {_text(str(key)): plain(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(item) for item in value]
        case _:
            raise TypeError(f"cannot be stored: {type(value).__name__}")


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text
