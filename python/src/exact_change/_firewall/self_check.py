"""Reads a message that is about to be signed, with none of the code that composed it."""

from __future__ import annotations

from typing import Sequence

from .._solana.address import Address
from .._solana.message import decode_message, resolve_instructions
from .._solana.types import Instruction, LookupTable
from ..errors import ExactChangeError, failure
from .decoders import is_swap
from .expected import Surroundings, SwapExpectation
from .guard import Floors, guards_hold, guards_in
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
    """Raises ``self_check_failed`` unless the message has this swap and ends in the guard.

    All other instructions must pass the firewall. ``instruction`` is the swap, which is the only
    instruction that is not ours.
    """
    decoded = decode_message(message)
    instructions = None if decoded is None else resolve_instructions(decoded, lookup_tables)
    if decoded is None or instructions is None:
        raise _failed("it cannot be read")
    wallet, decoders = expected.wallet, expected.decoders
    signers = decoded.static_accounts[: decoded.header.num_required_signatures]
    if [*signers] != [*dict.fromkeys((expected.fee_payer, wallet))]:
        raise _failed("the wallet is not its only signer, after what pays its fee")
    swaps = [at for at, found in enumerate(instructions) if is_swap(decoders, found, wallet)]
    subject = Surroundings(instructions, swaps[0] if swaps else -1, expected, max_priority_fee)
    shape = broken_by(SHAPE_RULES, ShapeSubject(decoders, instructions, wallet))
    surroundings = broken_by(SURROUNDINGS_RULES, subject)
    for broken in (shape, surroundings):
        if broken is not None:
            raise _failed(f"{broken.text.refuses} (rule {broken.id})")
    fees = sum(is_relay_fee(placed, expected) for placed in subject.placed())
    if fees != (relay_fee_of(expected) is not None):
        raise _failed("it does not pay the fee of the relayer once")
    own = [wallet, *(token.account.address for token in floors.tokens)]
    if not _is_same(instructions[subject.swap_at], instruction, own):
        raise _failed("its swap is not the one that was checked")
    if not guards_hold(guards_in(subject), floors):
        raise _failed("it does not end in the guard")


def _is_same(found: Instruction, checked: Instruction, own: Sequence[Address]) -> bool:
    """Whether two swaps have the same program, data, accounts and writable accounts.

    An account that was read-only when it was checked must stay read-only. The wallet's ``own``
    accounts count as writable: a message has one right per account, and our instructions write to
    these accounts.
    """
    writable = {*own, *(meta.address for meta in checked.accounts if meta.writable)}
    wanted = [(meta.address, meta.address in writable) for meta in checked.accounts]
    return (found.program, found.data) == (checked.program, checked.data) and [
        (meta.address, meta.writable) for meta in found.accounts
    ] == wanted


def _failed(reason: str) -> ExactChangeError:
    return failure(
        "self_check_failed",
        f"The swap that was composed is not the one that was checked: {reason}. Nothing was "
        "signed; report this.",
        {"reason": reason},
    )
