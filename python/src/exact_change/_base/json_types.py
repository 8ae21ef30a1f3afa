"""Values as parsed from JSON."""

from __future__ import annotations

from typing import Any, Dict, Mapping, cast

from typing_extensions import TypeGuard

Record = Dict[str, Any]


def is_record(value: object) -> TypeGuard[Record]:
    """Whether it is an object with fields."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether it is a list."""
    return isinstance(value, list)


def is_integer(value: object) -> TypeGuard[int]:
    """Whether it is a whole number; a bool is none, though Python says so."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a number that JSON can hold."""
    return is_integer(value) or (isinstance(value, float) and value - value == 0)


def mapping_of(value: object) -> Mapping[str, object] | None:
    """A mapping of the caller's; None for anything else."""
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else None


def record_of(value: object) -> Record:
    """The fields of an object; none of anything else."""
    return value if is_record(value) else {}
