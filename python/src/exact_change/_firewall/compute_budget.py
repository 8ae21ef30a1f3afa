"""Reads the compute budget and the priority fee of a transaction."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .._base.amounts import ceil_div
from .._base.network import COMPUTE_BUDGET_PROGRAM
from .._solana.types import Instruction

MAX_COMPUTE_UNITS = 1_400_000
_MICRO = 1_000_000


class ComputeTerms(NamedTuple):
    """The compute budget of a transaction; the price is in micro-lamports per unit."""

    unit_limit: int | None = None
    unit_price: int | None = None


def compute_budget_of(instructions: Sequence[Instruction]) -> ComputeTerms | None:
    """Reads the compute budget: at most one limit and one price.

    Returns None for any other instruction of the program, and for a limit out of range.
    """
    terms = ComputeTerms()
    for program, accounts, data in instructions:
        if program != COMPUTE_BUDGET_PROGRAM:
            continue
        number = int.from_bytes(data[1:], "little")
        if accounts:
            return None
        if data[:1] == b"\2" and len(data) == 5 and terms.unit_limit is None:
            terms = terms._replace(unit_limit=number)
        elif data[:1] == b"\3" and len(data) == 9 and terms.unit_price is None:
            terms = terms._replace(unit_price=number)
        else:
            return None
    limit = MAX_COMPUTE_UNITS if terms.unit_limit is None else terms.unit_limit
    # With 0 units the transaction can only fail, and it still pays its fee.
    return terms if 0 < limit <= MAX_COMPUTE_UNITS else None


def priority_fee_of(instructions: Sequence[Instruction]) -> int | None:
    """Returns the highest possible priority fee in lamports.

    None if the compute budget cannot be read. Without a limit the largest limit counts.
    """
    terms = compute_budget_of(instructions)
    if terms is None:
        return None
    return ceil_div((terms.unit_limit or MAX_COMPUTE_UNITS) * (terms.unit_price or 0), _MICRO)
