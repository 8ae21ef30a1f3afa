"""Signed transactions, with the facts that the search for their fate needs."""

from __future__ import annotations

from typing import NamedTuple

from ..._base.network import WSOL_MINT
from ..._journal.balances import Reading
from ..._journal.types import Attempt, ReadingJson, SignedPayment, SignedSwap
from ..._solana.address import Address
from .account_history import Source

# Slots between the slot of a blockhash and the first slot in which the transaction may land. A
# blockhash is at most 150 blocks old, and slots may pass without a block.
SLOT_MARGIN = 364


class SentTransaction(NamedTuple):
    """A signed transaction to ask the chain about."""

    # The wallet's signature in the transaction.
    signature: str
    # Whether that signature is the transaction's id: it is if the wallet pays the network fee.
    is_id: bool
    # The account that the transaction takes from.
    source: Source
    # The transaction cannot land before this slot.
    slot: int
    blockhash: str
    # The blockhash was valid as of this slot.
    blockhash_slot: int
    last_valid_block_height: int
    # Balance of the source before the signature, as of a slot.
    before: Reading | None = None
    # An id of the transaction that is looked up first: the seller claims it, and its signature is
    # valid.
    claim: str | None = None
    # The transaction's memo, if it makes the transaction unique.
    memo: str | None = None
    # The input mint, if only the address index can show that the transaction landed.
    mint: Address | None = None


def sent_swap(swap: SignedSwap, wallet: Address) -> SentTransaction:
    """Returns the facts of a signed swap.

    A swap that sells SOL takes lamports of the wallet, which also pays its fee.
    """
    sells_sol = swap["inputMint"] == WSOL_MINT
    relay = swap.get("relay")
    # A relayer can sign the same message again, so only the wallet's signature is certain.
    signature = swap["signature"] if relay is None else relay["payerSignature"]
    return SentTransaction(
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
    return Source(payment["source"], "tokens")


def sent_payment(attempt: Attempt, payment: SignedPayment, claim: str | None) -> SentTransaction:
    return SentTransaction(
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
