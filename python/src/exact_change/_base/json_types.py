"""Checks for values that were parsed from JSON."""

from __future__ import annotations

from typing import Any, Dict, Mapping, cast

from typing_extensions import TypeGuard

Record = Dict[str, Any]


def is_record(value: object) -> TypeGuard[Record]:
    """Returns whether the value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Returns whether the value is a JSON array."""
    return isinstance(value, list)


def is_integer(value: object) -> TypeGuard[int]:
    """Returns whether the value is an integer; a bool is not, although Python counts it."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Returns whether the value is a number that JSON can hold: finite, and not a bool."""
    return is_integer(value) or (isinstance(value, float) and value - value == 0)


def mapping_of(value: object) -> Mapping[str, object] | None:
    """Returns the caller's value if it is a mapping, else None."""
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else None


def record_of(value: object) -> Record:
    """Returns the value if it is a JSON object, else an empty one."""
    return value if is_record(value) else {}
