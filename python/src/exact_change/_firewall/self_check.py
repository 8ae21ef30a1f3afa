"""Reads what is about to be signed with none of the code that composed it."""

from __future__ import annotations

from typing import Sequence

from .._solana.address import Address
from .._solana.message import decode_message, resolve_instructions
from .._solana.types import Instruction, LookupTable
from ..errors import ExactChangeError, failure
from .decoders import is_swap
from .expected import Surroundings, SwapExpectation
from .guard import Floors, guards_in, holds
from .relay import is_relay_fee, relay_fee_of
from .rule import broken_by
from .shape import SHAPE_RULES, ShapeSubject
from .surroundings import SURROUNDINGS_RULES


def check_composed(
    message: bytes,
    expected: SwapExpectation,
    instruction: Instruction,
    floors: Floors,
    lookup_tables: Sequence[LookupTable],
    max_priority_fee: int,
) -> None:
    """Raises ``self_check_failed`` unless it is this swap, closed by the guard.

    And surrounded by nothing but what the firewall lets pass. ``instruction``: the one that is not
    ours.
    """
    decoded = decode_message(message)
    instructions = None if decoded is None else resolve_instructions(decoded, lookup_tables)
    if decoded is None or instructions is None:
        raise _failed("it cannot be read")
    wallet, decoders = expected.wallet, expected.decoders
    signers = decoded.static_accounts[: decoded.header.num_required_signatures]
    if [*signers] != [*dict.fromkeys((expected.fee_payer, wallet))]:
        raise _failed("the wallet is not its only signer, after what pays its fee")
    swaps = [at for at, one in enumerate(instructions) if is_swap(decoders, one, wallet)]
    subject = Surroundings(instructions, swaps[0] if swaps else -1, expected, max_priority_fee)
    shape = broken_by(SHAPE_RULES, ShapeSubject(decoders, instructions, wallet))
    around = broken_by(SURROUNDINGS_RULES, subject)
    for broken in (shape, around):
        if broken is not None:
            raise _failed(f"{broken.text.refuses} (rule {broken.id})")
    fees = sum(is_relay_fee(one, expected) for one in subject.placed())
    if fees != (relay_fee_of(expected) is not None):
        raise _failed("it does not pay the fee of the relayer once")
    own = [wallet, *(one.account.address for one in floors.tokens)]
    if not _is_same(instructions[subject.swap_at], instruction, own):
        raise _failed("its swap is not the one that was checked")
    if not holds(guards_in(subject), floors):
        raise _failed("it does not end in the guard")


def _is_same(found: Instruction, meant: Instruction, own: Sequence[Address]) -> bool:
    """Program, data, accounts, and which of them may be written.

    What was not to be written has not been looked at. The wallet's own accounts are written by our
    instructions too, and rights are a matter of the whole message.
    """
    written = {*own, *(one.address for one in meant.accounts if one.writable)}
    wanted = [(one.address, one.address in written) for one in meant.accounts]
    return (found.program, found.data) == (meant.program, meant.data) and [
        (one.address, one.writable) for one in found.accounts
    ] == wanted


def _failed(reason: str) -> ExactChangeError:
    return failure(
        "self_check_failed",
        f"The swap that was composed is not the one that was checked: {reason}. Nothing was "
        "signed; report this.",
        {"reason": reason},
    )
