"""JSON of strangers: with bounds, no key twice, and no number that is rounded."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple, cast

from .._base.js import utf16_length
from .._base.json_types import is_integer, is_list, is_record
from .._spec import table

_limits = table("defaults")["json"]
# What a seller's JSON may be at most: far more than any honest 402 (security.md P9).
MAX_CHARACTERS: int = _limits["characters"]
MAX_DEPTH: int = _limits["depth"]
MAX_STRING: int = _limits["string"]

# Keys that reach a prototype when JavaScript copies them without care; refused in both languages.
_FORBIDDEN_KEYS = ("__proto__", "constructor", "prototype")
# Keys whose numbers are money: anything but a plain integer stays text, to be judged.
_MONEY_KEYS = ("amount", "maxAmountRequired")
_PLAIN_INTEGER = re.compile("(?:0|[1-9][0-9]*)")
# A whole number beyond this is no longer exact in JSON of JavaScript.
SAFE = 2**53 - 1


class JsonReading(NamedTuple):
    """A value, or why there is none."""

    value: Any
    refused: str | None = None


class _Unreadable(Exception):
    pass


class _Number(str):
    """A number as it is written: whether it is money is known with its key."""


def read_json(text: str) -> JsonReading:
    """Parses JSON of a stranger."""
    try:
        if utf16_length(text) > MAX_CHARACTERS:
            raise _Unreadable("it is too large")
        _check_depth(text)
        return JsonReading(_whole(_decoder.decode(text)))
    except _Unreadable as unreadable:
        return JsonReading(None, str(unreadable))
    except (ValueError, RecursionError):
        return JsonReading(None, "it is not JSON")


def copy_json(value: object) -> JsonReading:
    """The same rules for a value that its caller has parsed."""
    try:
        return JsonReading(_copy(value, 1, [MAX_CHARACTERS]))
    except _Unreadable as unreadable:
        return JsonReading(None, str(unreadable))


def _check_depth(text: str) -> None:
    """Nested too deeply, it would exhaust the parser's stack."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    # Of a text without an end too, so that the rest is not read anew for each of its quotes.
    for token in re.finditer(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]|[\]}]', text, re.DOTALL):
        mark = token[0]
        if mark in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise _Unreadable("it is nested too deeply")
        elif mark in "]}":
            depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        _bounded(key)
        if key in _FORBIDDEN_KEYS:
            raise _Unreadable("it holds a forbidden key")
        if key in made:
            raise _Unreadable("it names a key twice")
        is_money = key in _MONEY_KEYS and isinstance(value, _Number)
        if is_money and _PLAIN_INTEGER.fullmatch(value) is None:
            made[key] = str(value)
        else:
            made[key] = _whole(value)
    return made


def _whole(value: Any) -> Any:
    """Numbers that are no money, in what has no key of its own."""
    if isinstance(value, _Number):
        return _number(float(value))
    if isinstance(value, str):
        return _bounded(value)
    return [_whole(one) for one in value] if is_list(value) else value


def _number(value: float) -> float | int:
    # JSON has no infinity, so such a number could not be echoed.
    if not math.isfinite(value):
        raise _Unreadable("it holds a number out of range")
    # A number has no kind in JSON: 1.0 is 1.
    return int(value) if value.is_integer() and abs(value) <= SAFE else value


def _bounded(text: str) -> str:
    # A character is two units at most.
    if 2 * len(text) > MAX_STRING and utf16_length(text) > MAX_STRING:
        raise _Unreadable("it holds a text that is too long")
    return text


def _no_constant(_name: str) -> Any:
    raise ValueError


def _copy(value: object, depth: int, budget: list[int]) -> Any:
    budget[0] -= (utf16_length(value) if isinstance(value, str) else 0) + 2
    if budget[0] < 0:
        raise _Unreadable("it is too large")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _bounded(value)
    if is_integer(value) or isinstance(value, float):
        return value if is_integer(value) and abs(value) <= SAFE else _number(float(value))
    if depth > MAX_DEPTH and (is_record(value) or is_list(value)):
        raise _Unreadable("it is nested too deeply")
    if is_list(value):
        return [_copy(one, depth + 1, budget) for one in value]
    if not is_record(value) or not all(
        isinstance(key, str) for key in cast("dict[object, object]", value)
    ):
        raise _Unreadable("it is not plain JSON")
    made: dict[str, Any] = {}
    for key, one in value.items():
        budget[0] -= utf16_length(key) + 2
        if _bounded(key) in _FORBIDDEN_KEYS:
            raise _Unreadable("it holds a forbidden key")
        made[key] = _copy(one, depth + 1, budget)
    return made


_decoder = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_Number,
    parse_float=_Number,
    parse_constant=_no_constant,
)
