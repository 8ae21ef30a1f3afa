"""Reads the lamports that lie in a token account of the wallet beyond its rent."""

from __future__ import annotations

from .._base.network import SYSTEM_PROGRAM
from .._firewall.guard import OwnAccount
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.compile import compile_message
from .._solana.instructions import withdraw_excess_lamports
from .._solana.message import assemble_transaction
from .._solana.rpc.types import Reads
from .compose import create_own


def read_excess(
    node: Reads,
    wallet: Address,
    account: OwnAccount,
    rented_bytes: int | None,
    slot: int,
    signal: Signal | None,
) -> Steps[int]:
    """Returns the lamports beyond its rent that the wallet can withdraw from its account.

    0 if the token program has no such instruction, as older ones have not. Otherwise one lamport,
    which any wallet may send, would stop each swap of the account. A simulation without the venue
    tells.
    """
    lamports = account.lamports
    if rented_bytes is None or lamports <= (yield from node.rent(rented_bytes, signal=signal)):
        return 0
    withdrawal = withdraw_excess_lamports(account.address, wallet, wallet, account.token_program)
    instructions = [create_own(wallet, account, wallet), withdrawal]
    # The node simulates with a blockhash of its own.
    wire = assemble_transaction(compile_message(wallet, instructions, SYSTEM_PROGRAM), {})
    result = yield from node.simulate(wire, [account.address], min_slot=slot, signal=signal)
    after = result.accounts[0] if result.error is None else None
    return 0 if after is None else max(0, lamports - after.lamports)
