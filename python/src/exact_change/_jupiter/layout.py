"""Decodes Jupiter's swap instructions by the forms in ``spec/``."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple, Sequence

from .._solana.address import Address
from .._solana.types import Instruction
from .._spec import table
from .._swap.types import SwapCall, least_out, most_in
from .route_plan import NUMBERS_V1_BYTES, route_plan_end

_spec = table("jupiter")
# Forms by discriminator in hex. Forms with a token ledger are left out, because they take their
# input amount from another account.
_V1: dict[str, Any] = _spec["v1"]
_V2: dict[str, Any] = _spec["v2"]
# Bytes of two amounts, and of slippage, platform fee and positive slippage in basis points. The
# number of steps of the route follows.
_NUMBERS_V2_BYTES = 22 + 4


class JupiterCall(NamedTuple):
    """A decoded swap, with the accounts that only Jupiter's instructions have."""

    call: SwapCall
    event_authority: Address
    program: Address


def is_swap_form(data: bytes) -> bool:
    """Whether the discriminator belongs to a known form."""
    return data[:8].hex() in _V2 or data[:8].hex() in _V1


def has_readable_plan(data: bytes) -> bool:
    """Whether the route plan of a V1 form can be walked to its end.

    Only the amounts may come behind it: the program reads them there and ignores any later bytes.
    True for V2 forms: their amounts come before the plan.
    """
    form = _V1.get(data[:8].hex())
    return form is None or _amounts_v1(form, data) is not None


def decode_jupiter(instruction: Instruction) -> JupiterCall | None:
    """Decodes a swap instruction of a known form.

    None if the form is unknown, or if accounts or numbers of the form are missing.
    """
    discriminator = instruction.data[:8].hex()
    v2, v1 = _V2.get(discriminator), _V1.get(discriminator)
    if v2 is not None:
        return _decode_v2(v2, instruction)
    return None if v1 is None else _decode_v1(v1, instruction)


def _decode_v2(form: dict[str, Any], instruction: Instruction) -> JupiterCall | None:
    data = instruction.data
    if len(data) < form["amounts"] + _NUMBERS_V2_BYTES:
        return None
    names = (
        *("user", "source", "destination", "sourceMint", "destinationMint"),
        *("sourceProgram", "destinationProgram", "eventAuthority", "self"),
    )
    found = _accounts(form, names, instruction)
    if found is None:
        return None
    user, source, destination, source_mint, mint, source_program, program, event, jupiter = found
    first, second, slippage, fee, positive = struct.unpack_from("<QQHHH", data, form["amounts"])
    call = SwapCall(
        user,
        source,
        destination,
        _optional(form, "destinationOverride", instruction),
        source_mint,
        mint,
        source_program,
        program,
        (),
        None,
        *_amounts(form["mode"], first, second, slippage),
        slippage,
        fee,
        positive,
    )
    return JupiterCall(call, event, jupiter)


def _decode_v1(form: dict[str, Any], instruction: Instruction) -> JupiterCall | None:
    data = instruction.data
    at = _amounts_v1(form, data)
    names = (
        *("user", "source", "destination", "destinationMint"),
        *("tokenProgram", "eventAuthority", "self", "feeAccount"),
    )
    found = _accounts(form, names, instruction)
    if found is None or at is None:
        return None
    user, source, destination, mint, token_program, event, jupiter, _ = found
    token_2022 = _optional(form, "token2022Program", instruction)
    (source_mint,) = _accounts(form, ("sourceMint",), instruction) or (None,)
    first, second, slippage, fee = struct.unpack_from("<QQHB", data, at)
    call = SwapCall(
        user,
        source,
        destination,
        _optional(form, "destinationOverride", instruction),
        source_mint,
        mint,
        None,
        None,
        (token_program,) if token_2022 is None else (token_program, token_2022),
        _optional(form, "feeAccount", instruction),
        *_amounts(form["mode"], first, second, slippage),
        slippage,
        fee,
        0,
    )
    return JupiterCall(call, event, jupiter)


def _accounts(
    form: dict[str, Any], names: Sequence[str], instruction: Instruction
) -> list[Address] | None:
    """Returns the accounts with these names; None if the form or the instruction lacks any."""
    positions: list[int] = [form.get(name, -1) for name in names]
    accounts = instruction.accounts
    if not all(0 <= position < len(accounts) for position in positions):
        return None
    return [accounts[position].address for position in positions]


def _optional(form: dict[str, Any], name: str, instruction: Instruction) -> Address | None:
    """Returns None for an account that is left out: Anchor names the program's own id instead."""
    (account,) = _accounts(form, (name,), instruction) or (None,)
    return None if account == instruction.program else account


def _amounts_v1(form: dict[str, Any], data: bytes) -> int | None:
    """Returns the offset of the amounts of a V1 form; None if they do not end the data."""
    end = route_plan_end(data, form["plan"])
    return end if end is not None and len(data) - end == NUMBERS_V1_BYTES else None


def _amounts(mode: str, first: int, second: int, slippage: int) -> tuple[int, int, int, int]:
    """Returns the input, the output, the most input and the least output."""
    if mode == "ExactIn":
        # Above 100 % the least output would be negative. Read it as 0, which no bound accepts.
        least = 0 if slippage > 10_000 else least_out(second, slippage)
        return first, second, first, least
    return second, first, most_in(second, slippage), first
