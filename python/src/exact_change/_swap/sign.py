"""Has the wallet sign a swap of ours."""

from __future__ import annotations

from typing import Callable, Mapping, NamedTuple

from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.ask_signer import Ask, ask_signer
from .._solana.keys import AnySigner, SigningIntent, signature_text
from .._solana.message import assemble_transaction, first_signature, message_signers
from .._solana.types import Lifetime
from ..errors import failure
from .finish import SwapDeps
from .prepare import PreparedSwap, SwapOrder, SwapOutlook, prepare_swap

# Signatures by the addresses that they are of.
Signatures = Mapping[Address, bytes]


class Wallet(NamedTuple):
    """What signs."""

    signer: AnySigner
    # What it answers, for a message that has these signatures already.
    ask: Callable[[Signatures], Ask]
    # CAIP-2.
    network: str


class SwapSigned(NamedTuple):
    """A swap that may leave."""

    # Wire bytes.
    data: bytes
    # The transaction's id, which is the fee payer's signature.
    signature: str
    # The wallet's own.
    payer_signature: str
    lifetime: Lifetime
    expected: SwapOutlook


def sign_swap(deps: SwapDeps, wallet: Wallet, order: SwapOrder) -> Steps[SwapSigned]:
    """Prepares a swap and has the wallet sign it. Raises what both raise."""
    prepared = yield from prepare_swap(deps, wallet.signer.address, order)
    yield from order.plan(prepared.expected)
    return (yield from sign_prepared(wallet, prepared, order.signal))


def sign_prepared(
    wallet: Wallet,
    prepared: PreparedSwap,
    signal: Signal | None,
    others: Signatures | None = None,
) -> Steps[SwapSigned]:
    """Raises ``signing_failed`` if the signer refuses or signs something else.

    And ``self_check_failed`` if the message asks for another wallet's signature that is not there.
    ``others``: what the message has already; with these it may not change.
    """
    message, expected, given = prepared.message, prepared.expected, others or {}
    signer, address = wallet.signer, wallet.signer.address
    if [one for one in message_signers(message) if one not in given] != [address]:
        reason = "the transaction would need another signature"
        raise failure(
            "self_check_failed",
            f"Nothing was signed: {reason}. Report this.",
            {"reason": reason},
        )
    intent: SigningIntent = {
        "kind": "swap",
        "network": wallet.network,
        "input_mint": expected.bounds.input_mint,
        "max_in_amount": str(expected.max_in),
        "output_mint": expected.bounds.output_mint,
        "min_out_amount": str(expected.min_out),
    }
    signed = yield from ask_signer(signer, wallet.ask(given), message, intent, signal)
    if given and signed.message != message:
        raise failure(
            "signing_failed",
            f"The wallet {address} changed the swap that a relayer has signed already, which voids "
            "that signature. Nothing was sent. Use another wallet, or send this one SOL.",
            {"address": address},
        )
    data = assemble_transaction(signed.message, {**given, address: signed.signature})
    own = signature_text(signed.signature)
    return SwapSigned(data, first_signature(data), own, prepared.lifetime, expected)
