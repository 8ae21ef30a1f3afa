"""The transfer of a relayer's fee, as the transaction must contain it."""

from __future__ import annotations

from typing import NamedTuple

from .._solana.address import Address
from .._solana.tokens import associated_token_address
from .expected import Placed, SwapExpectation, names
from .guard import TRANSFER_CHECKED


class RelayFee(NamedTuple):
    """The accounts and the amount of the transfer."""

    source: Address
    destination: Address
    mint: Address
    token_program: Address
    # Base units.
    amount: int


def relay_fee_of(expected: SwapExpectation) -> RelayFee | None:
    """Returns the transfer of the relayer's fee; None if there is no fee."""
    relay = expected.relay
    if relay is None or relay.amount == 0:
        return None
    is_input = relay.mint == expected.input_mint
    program = expected.input_program if is_input else expected.output_program
    return RelayFee(
        associated_token_address(expected.wallet, relay.mint, program),
        associated_token_address(relay.pay_to, relay.mint, program),
        relay.mint,
        program,
        relay.amount,
    )


def is_relay_fee(placed: Placed, expected: SwapExpectation) -> bool:
    """Whether an instruction transfers exactly the relayer's fee."""
    fee = relay_fee_of(expected)
    program, _, data = placed.instruction
    if fee is None or placed.before or program != fee.token_program:
        return False
    if data[:1] != bytes((TRANSFER_CHECKED,)) or len(data) != 10:
        return False
    accounts = [fee.source, fee.mint, fee.destination, expected.wallet]
    is_named = names(placed.instruction, accounts)
    return is_named and int.from_bytes(data[1:9], "little") == fee.amount
