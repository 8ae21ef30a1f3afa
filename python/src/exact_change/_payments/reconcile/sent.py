"""Transactions that this wallet signed, with all that their fate is told by."""

from __future__ import annotations

from typing import NamedTuple

from ..._base.network import WSOL_MINT
from ..._journal.balances import Reading
from ..._journal.types import Attempt, ReadingJson, SignedPayment, SignedSwap
from ..._solana.address import Address
from .account_history import Source

# A blockhash is at most 150 blocks old when it is used last, and slots may pass without a block.
SLOT_MARGIN = 364


class Sent(NamedTuple):
    """What the chain is asked about."""

    # Our signature in it.
    signature: str
    # Whether our signature is the transaction's id: it is if we pay the fee.
    is_id: bool
    # What it takes from.
    source: Source
    # It cannot have landed before this slot.
    slot: int
    blockhash: str
    # The blockhash was valid as of this slot.
    blockhash_slot: int
    last_valid_block_height: int
    # What the source held before it was signed, as of a slot.
    before: Reading | None = None
    # Its id, as the seller says it and the fee payer's signature in it proves: looked at first.
    claim: str | None = None
    # What its memo says, if it has one of its own.
    memo: str | None = None
    # The token that it takes, if an index of addresses alone can tell that it landed.
    mint: Address | None = None


def sent_swap(swap: SignedSwap, wallet: Address) -> Sent:
    """A signed swap. One that sells SOL takes lamports of the wallet, and pays its fee there."""
    sells_sol = swap["inputMint"] == WSOL_MINT
    relay = swap.get("relay")
    # A relayer can sign the same message again: only our own signature is sure to be in what lands.
    signature = swap["signature"] if relay is None else relay["payerSignature"]
    return Sent(
        signature,
        relay is None,
        Source(wallet, "lamports") if sells_sol else Source(swap["source"], "tokens"),
        max(0, swap["blockhashSlot"] - SLOT_MARGIN),
        swap["blockhash"],
        swap["blockhashSlot"],
        int(swap["lastValidBlockHeight"]),
        _reading_of(swap.get("before")),
        claim=None if relay is None else swap["signature"],
        mint=None if relay is None else swap["inputMint"],
    )


def source_of(payment: SignedPayment) -> Source:
    """What a signed payment takes from."""
    return Source(payment["source"], "tokens")


def sent_payment(attempt: Attempt, payment: SignedPayment, claim: str | None) -> Sent:
    """A signed payment."""
    return Sent(
        payment["payerSignature"],
        False,
        source_of(payment),
        payment["slot"],
        payment["blockhash"],
        payment["blockhashSlot"],
        int(payment["lastValidBlockHeight"]),
        _reading_of(payment.get("before")),
        claim,
        payment.get("memo"),
        attempt["mint"],
    )


def _reading_of(recorded: ReadingJson | None) -> Reading | None:
    return None if recorded is None else Reading(int(recorded["amount"]), recorded["slot"])
