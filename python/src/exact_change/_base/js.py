"""JSON as JavaScript writes it, so that both languages give the same bytes for one value."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any, cast

from .json_types import is_list, is_record

_SURROGATE = re.compile("[\ud800-\udfff]")
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


# Wherever a float may stand in what Python writes; a text may look like it too.
_FLOAT = re.compile(r"[\[:,]-?(?:[0-9]+(?:\.|e[+-])|NaN|Infinity)")


def stringify(value: object) -> str:
    """What ``JSON.stringify`` gives: no spaces, numbers as JavaScript has them."""
    text = _encode(value)
    if isinstance(value, float) or _FLOAT.search(text) is not None:
        text = _written(value)
    # What UTF-8 cannot carry is escaped.
    return text if text.isascii() else _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def as_json(value: object) -> Any:
    """A copy of a value, as its JSON is read. Raises ``TypeError`` for what JSON cannot carry."""
    if is_record(value):
        made: dict[str, Any] = {}
        for key, one in cast("dict[object, object]", value).items():
            if not isinstance(key, str):
                raise TypeError("A key of JSON is text.")
            made[key] = one if isinstance(one, (str, int)) else as_json(one)
        return made
    # A bool is an int to Python.
    if value is None or isinstance(value, (str, int)):
        return value
    if is_list(value) or isinstance(value, tuple):
        return [as_json(one) for one in cast("list[object]", value)]
    if isinstance(value, float):
        return json.loads(js_number(value))
    raise TypeError(f"JSON has no {type(value).__name__}.")


def _written(value: object) -> str:
    if isinstance(value, float):
        return js_number(value)
    if is_record(value):
        pairs = (f"{_plain(key)}:{_written(one)}" for key, one in value.items())
        return f"{{{','.join(pairs)}}}"
    if is_list(value) or isinstance(value, tuple):
        return f"[{','.join(map(_written, cast('list[object]', value)))}]"
    return _plain(value)


def _plain(value: object) -> str:
    return _encode(value)


def js_number(value: float) -> str:
    """A number as JavaScript writes it: 1, 100000, 1e-7, 1e+21."""
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return "null"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    figures = "".join(map(str, digits)).rstrip("0")
    # Where the point stands, counted from the first figure.
    point = len(digits) + int(exponent)
    return ("-" if sign else "") + _placed(figures, point)


def _placed(figures: str, point: int) -> str:
    if len(figures) <= point <= 21:
        return figures + "0" * (point - len(figures))
    if 0 < point <= 21:
        return f"{figures[:point]}.{figures[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{figures}"
    mantissa = figures[0] + (f".{figures[1:]}" if len(figures) > 1 else "")
    return f"{mantissa}e{point - 1:+d}"


def utf16_length(text: str) -> int:
    """How many units of UTF-16 a text has: what JavaScript calls its length."""
    return len(text) + sum(one > "\uffff" for one in text) if not text.isascii() else len(text)


def utf16_slice(text: str, end: int) -> str:
    """The first ``end`` units of a text; a character that is cut leaves its first half."""
    if utf16_length(text) <= end:
        return text
    return _encoded(text)[: 2 * end].decode("utf-16-le", "surrogatepass")


def utf16_key(text: str) -> bytes:
    """Sorts texts as JavaScript does."""
    return text.encode("utf-16-be", "surrogatepass")


def _encoded(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")
