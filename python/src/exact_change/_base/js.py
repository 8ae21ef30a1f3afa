"""JSON as JavaScript writes it, so that both languages write the same bytes for a value."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any, cast

from .json_types import is_list, is_record

# The largest integer that JavaScript reads exactly from JSON.
MAX_SAFE = 2**53 - 1
# Deepest nesting of an answer of a service: a 402's body or a quote of Jupiter's needs far less.
ANSWER_DEPTH = 32
# Half of a character: no encoding has it alone.
SURROGATE = re.compile("[\ud800-\udfff]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


# Matches each float in JSON that Python writes. A string in the JSON may match too.
_FLOAT = re.compile(r"[\[:,]-?(?:[0-9]+(?:\.|e[+-])|NaN|Infinity)")


def stringify(value: object) -> str:
    """Writes JSON as ``JSON.stringify`` does: no spaces, numbers as in JavaScript."""
    text = _encode(value)
    if isinstance(value, float) or _FLOAT.search(text) is not None:
        text = _write(value)
    # UTF-8 cannot encode a lone surrogate, so it is escaped.
    return text if text.isascii() else SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def stringify_ascii(value: object) -> str:
    """As :func:`stringify`, in letters that a database of any encoding can store."""
    return _BEYOND_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], stringify(value))


def parse_json(text: str | bytes, max_depth: int | None = None) -> Any:
    """Returns the value of a JSON text; raises ``ValueError`` for other text, ``NaN`` too.

    ``max_depth`` bounds the nesting of a value that code later walks or writes again.
    """
    # JavaScript reads each body as UTF-8 and replaces a wrong byte; ``json`` also takes UTF-16.
    text = text.decode("utf-8-sig", "replace") if isinstance(text, bytes) else text
    if max_depth is not None and is_deeper(text, max_depth):
        raise ValueError("It is nested too deeply.")
    try:
        return json.loads(text, parse_int=_integer, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("It is nested too deeply.") from None


# A JSON string, or a bracket. It also matches a string without an end: otherwise each quote in it
# would start a search through the rest of the text.
_MARK = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{\]}]', re.DOTALL)


def is_deeper(text: str, limit: int) -> bool:
    """Whether brackets outside of strings are nested deeper than ``limit``."""
    if text.count("[") + text.count("{") <= limit:
        return False
    depth = 0
    for mark in _MARK.finditer(text):
        if mark[0] in "[{":
            depth += 1
            if depth > limit:
                return True
        elif mark[0] in "]}":
            depth -= 1
    return False


def _integer(digits: str) -> float:
    # Beyond the largest float JavaScript reads infinity, which no field takes.
    return int(digits) if len(digits) <= 308 else float(digits)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON.")


def as_json(value: object) -> Any:
    """Returns the value as it would be read back from its own JSON.

    Raises ``TypeError`` for a value that JSON cannot hold.
    """
    if is_record(value):
        copy: dict[str, Any] = {}
        for key, member in cast("dict[object, object]", value).items():
            if not isinstance(key, str):
                raise TypeError("A key of JSON is text.")
            copy[key] = member if isinstance(member, (str, int)) else as_json(member)
        return copy
    # The check for int also covers bool.
    if value is None or isinstance(value, (str, int)):
        return value
    if is_list(value) or isinstance(value, tuple):
        return [as_json(entry) for entry in cast("list[object]", value)]
    if isinstance(value, float):
        return json.loads(js_number(value))
    raise TypeError(f"JSON has no {type(value).__name__}.")


def _write(value: object) -> str:
    if isinstance(value, float):
        return js_number(value)
    if is_record(value):
        pairs = (f"{_encode(key)}:{_write(member)}" for key, member in value.items())
        return f"{{{','.join(pairs)}}}"
    if is_list(value) or isinstance(value, tuple):
        return f"[{','.join(map(_write, cast('list[object]', value)))}]"
    return _encode(value)


def js_number(value: float) -> str:
    """Writes a number as JavaScript does: 1, 100000, 1e-7, 1e+21."""
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return "null"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    figures = "".join(map(str, digits)).rstrip("0")
    # Position of the decimal point, counted from the first figure.
    point = len(digits) + int(exponent)
    return ("-" if sign else "") + _with_point(figures, point)


def _with_point(figures: str, point: int) -> str:
    if len(figures) <= point <= 21:
        return figures + "0" * (point - len(figures))
    if 0 < point <= 21:
        return f"{figures[:point]}.{figures[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{figures}"
    mantissa = figures[0] + (f".{figures[1:]}" if len(figures) > 1 else "")
    return f"{mantissa}e{point - 1:+d}"


def utf16_length(text: str) -> int:
    """Returns the UTF-16 code units of a text: its ``length`` in JavaScript."""
    return len(text) + sum(char > "\uffff" for char in text) if not text.isascii() else len(text)


def utf16_slice(text: str, end: int) -> str:
    """Returns the first ``end`` UTF-16 units of a text; the cut may leave half of a pair."""
    if utf16_length(text) <= end:
        return text
    units = text.encode("utf-16-le", "surrogatepass")
    return units[: 2 * end].decode("utf-16-le", "surrogatepass")


def utf16_key(text: str) -> bytes:
    """Returns a sort key that orders texts as JavaScript does."""
    return text.encode("utf-16-be", "surrogatepass")
