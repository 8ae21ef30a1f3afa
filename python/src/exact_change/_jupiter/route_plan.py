"""Finds the end of Jupiter's route plan, by the table of ``spec/``. Borsh, little endian."""

from __future__ import annotations

from typing import Any, Sequence

from .._spec import table

# The size of a value, and the tags that it may hold: enough to skip it. A number is that many bytes
# with any content. `fields` follow each other. `tagged` is a byte that says which value follows;
# None is a value that we do not know. `list` is a u32 that says how many values follow.
Kind = Any

_MOST_ENTRIES = 32
# Bytes of the numbers that follow the plan in every V1 form: two amounts (u64), the slippage (u16)
# and the platform fee (u8), both in basis points.
NUMBERS_V1_BYTES = 8 + 8 + 2 + 1
# A swap, its percentage of the input, and the indexes of its input and output.
_PLAN: Kind = {
    "list": {"fields": [table("jupiter")["swap"], 1, 1, 1]},
    "most": _MOST_ENTRIES,
}


def route_plan_end(data: bytes, start: int) -> int | None:
    """Returns the end of the route plan of a V1 swap that begins at ``start``.

    None if the program could not read a byte of it that way. The program ignores bytes after its
    arguments, so numbers at the end of the data prove nothing. The amounts that count come right
    after the plan, and nothing may follow them.
    """
    return _value_end(_PLAN, data, start)


def _value_end(kind: Kind, data: bytes, start: int) -> int | None:
    if isinstance(kind, int):
        return start + kind if start + kind <= len(data) else None
    if "fields" in kind:
        return _sequence_end(kind["fields"], data, start)
    if "list" in kind:
        if start + 4 > len(data):
            return None
        count = int.from_bytes(data[start : start + 4], "little")
        return (
            None if count > kind["most"] else _sequence_end([kind["list"]] * count, data, start + 4)
        )
    tagged: Sequence[Kind] = kind["tagged"]
    if start >= len(data) or data[start] >= len(tagged) or tagged[data[start]] is None:
        return None
    return _value_end(tagged[data[start]], data, start + 1)


def _sequence_end(kinds: Sequence[Kind], data: bytes, start: int) -> int | None:
    """Returns the end of values that follow each other from ``start``."""
    end: int | None = start
    for kind in kinds:
        if end is None:
            return None
        end = _value_end(kind, data, end)
    return end
