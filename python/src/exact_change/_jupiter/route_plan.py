"""Walking past a route plan of Jupiter, by the table of ``spec/``. Borsh, little endian."""

from __future__ import annotations

from typing import Any, Sequence

from .._spec import table

# How many bytes a value takes, and which of them it may hold: a number of bytes of any content;
# `fields`, one after the other; `tagged`, one byte that says which follows, None for one that is
# not known; or `list`, a u32 that says how many follow.
Kind = Any

_MOST_ENTRIES = 32
# What follows the plan in every V1 form: two amounts (u64), the slippage (u16) and the platform fee
# (u8), both in basis points.
NUMBERS_V1_BYTES = 8 + 8 + 2 + 1
# A swap, the percent that it gets, and the indexes of its input and output.
_PLAN: Kind = {
    "list": {"fields": [table("jupiter")["swap"], 1, 1, 1]},
    "most": _MOST_ENTRIES,
}


def route_plan_end(data: bytes, start: int) -> int | None:
    """Where the route plan of a V1 swap ends; None if a byte of it cannot be what is read there.

    The program ignores whatever follows its arguments, so that numbers which only look like the
    last ones prove nothing: those that count stand right after the plan, with nothing behind.
    """
    return _value_end(_PLAN, data, start)


def _value_end(kind: Kind, data: bytes, start: int) -> int | None:
    if isinstance(kind, int):
        return start + kind if start + kind <= len(data) else None
    if "fields" in kind:
        return _all_end(kind["fields"], data, start)
    if "list" in kind:
        if start + 4 > len(data):
            return None
        count = int.from_bytes(data[start : start + 4], "little")
        return None if count > kind["most"] else _all_end([kind["list"]] * count, data, start + 4)
    tagged: Sequence[Kind] = kind["tagged"]
    if start >= len(data) or data[start] >= len(tagged) or tagged[data[start]] is None:
        return None
    return _value_end(tagged[data[start]], data, start + 1)


def _all_end(kinds: Sequence[Kind], data: bytes, start: int) -> int | None:
    end: int | None = start
    for kind in kinds:
        if end is None:
            return None
        end = _value_end(kind, data, end)
    return end
