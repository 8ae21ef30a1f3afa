"""Parses untrusted JSON: bounds its size, rejects duplicate keys, and rounds no amount."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple, cast

from .._base.js import MAX_SAFE, is_deeper, utf16_length
from .._base.json_types import Record, is_integer, is_list, is_record, record_of
from .._spec import table

_limits = table("defaults")["json"]
# Limits on a seller's JSON: far more than an honest 402 needs (security.md P9).
MAX_CHARACTERS: int = _limits["characters"]
MAX_DEPTH: int = _limits["depth"]
MAX_STRING: int = _limits["string"]

# Keys that can change a prototype if JavaScript copies an object carelessly. Both languages refuse
# them.
_FORBIDDEN_KEYS = ("__proto__", "constructor", "prototype")
# Keys of an offer with its price. A number that is not a plain integer stays text there, so that it
# is judged and never rounded. All other numbers are rounded as JavaScript does: a payment echoes
# them.
_PRICE_KEYS = ("amount", "maxAmountRequired")
_OUT_OF_RANGE = "it holds a number out of range"
_PLAIN_INTEGER = re.compile("(?:0|[1-9][0-9]*)")


class JsonReading(NamedTuple):
    """A parsed value, or the reason why it was refused."""

    value: Any
    refused: str | None = None


class _Unreadable(Exception):
    pass


class _Number(str):
    """A number as text: its place, which is not known yet, decides whether it is a price."""


def read_json(text: str) -> JsonReading:
    try:
        if utf16_length(text) > MAX_CHARACTERS:
            raise _Unreadable("it is too large")
        if is_deeper(text, MAX_DEPTH):
            raise _Unreadable("it is nested too deeply")
        return JsonReading(_decode(text))
    except _Unreadable as unreadable:
        return JsonReading(None, str(unreadable))
    except (ValueError, RecursionError):
        return JsonReading(None, "it is not JSON")


def copy_json(value: object) -> JsonReading:
    """Applies the rules of :func:`read_json` to a parsed value, and returns a copy."""
    try:
        return JsonReading(_copy(value, 1, [MAX_CHARACTERS]))
    except _Unreadable as unreadable:
        return JsonReading(None, str(unreadable))
    # An integer of Python may be larger than any float.
    except OverflowError:
        return JsonReading(None, _OUT_OF_RANGE)


def _decode(text: str) -> Any:
    found: list[tuple[Record, str]] = []

    def read_object(pairs: list[tuple[str, Any]]) -> Record:
        record = _object(pairs)
        found.extend((record, key) for key in _PRICE_KEYS if isinstance(record.get(key), _Number))
        return record

    value = _value(
        json.JSONDecoder(
            object_pairs_hook=read_object,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_no_constant,
        ).decode(text)
    )
    accepts, version = (record_of(value).get(key) for key in ("accepts", "x402Version"))
    offers = {id(entry) for entry in (accepts if is_list(accepts) else ())} if found else ()
    for record, key in found:
        number = record[key]
        is_price = id(record) in offers and (key == "amount" or version != 2)
        record[key] = str(number) if is_price else _value(number)
    return value


def _object(pairs: list[tuple[str, Any]]) -> Record:
    """Returns the object, with numbers that may be prices as the text of the seller."""
    record: Record = {}
    for key, value in pairs:
        _bounded(key)
        if key in _FORBIDDEN_KEYS:
            raise _Unreadable("it holds a forbidden key")
        if key in record:
            raise _Unreadable("it names a key twice")
        is_number = key in _PRICE_KEYS and isinstance(value, _Number)
        is_price = is_number and _PLAIN_INTEGER.fullmatch(value) is None
        record[key] = value if is_price else _value(value)
    return record


def _value(value: Any) -> Any:
    """Converts numbers, also inside arrays, and bounds strings."""
    if isinstance(value, _Number):
        return _number(float(value))
    if isinstance(value, str):
        return _bounded(value)
    return [_value(entry) for entry in value] if is_list(value) else value


def _number(value: float) -> float | int:
    # JSON has no infinity, so the payment could not echo this number.
    if not math.isfinite(value):
        raise _Unreadable(_OUT_OF_RANGE)
    # JSON has one type of number: 1.0 is 1.
    return int(value) if value.is_integer() and abs(value) <= MAX_SAFE else value


def _bounded(text: str) -> str:
    # A character has at most two UTF-16 units.
    if 2 * len(text) > MAX_STRING and utf16_length(text) > MAX_STRING:
        raise _Unreadable("it holds a text that is too long")
    return text


def _no_constant(_name: str) -> Any:
    raise ValueError


def _copy(value: object, depth: int, budget: list[int]) -> Any:
    """Copies a value. ``budget[0]`` is the number of characters that the copy may still take."""
    budget[0] -= (utf16_length(value) if isinstance(value, str) else 0) + 2
    if budget[0] < 0:
        raise _Unreadable("it is too large")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _bounded(value)
    if is_integer(value) or isinstance(value, float):
        return value if is_integer(value) and abs(value) <= MAX_SAFE else _number(float(value))
    if depth > MAX_DEPTH and (is_record(value) or is_list(value)):
        raise _Unreadable("it is nested too deeply")
    if is_list(value):
        return [_copy(entry, depth + 1, budget) for entry in value]
    if not is_record(value) or not all(
        isinstance(key, str) for key in cast("dict[object, object]", value)
    ):
        raise _Unreadable("it is not plain JSON")
    copy: dict[str, Any] = {}
    for key, member in value.items():
        budget[0] -= utf16_length(key) + 2
        if _bounded(key) in _FORBIDDEN_KEYS:
            raise _Unreadable("it holds a forbidden key")
        copy[key] = _copy(member, depth + 1, budget)
    return copy
