"""Has the wallet sign a swap that this library composed."""

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

# Signatures by the address of the signer.
Signatures = Mapping[Address, bytes]


class Wallet(NamedTuple):
    """The wallet's signer, and the way to call it."""

    signer: AnySigner
    # Returns the call of the signer for a message that already has these signatures.
    ask: Callable[[Signatures], Ask]
    # CAIP-2.
    network: str


class SwapSigned(NamedTuple):
    """A signed swap. Nothing has been sent."""

    # Signed wire bytes.
    data: bytes
    # The transaction's id, which is the fee payer's signature.
    signature: str
    # The wallet's own signature.
    payer_signature: str
    lifetime: Lifetime
    expected: SwapOutlook


def sign_swap(deps: SwapDeps, wallet: Wallet, order: SwapOrder) -> Steps[SwapSigned]:
    """Prepares a swap and has the wallet sign it; sends nothing. Raises the errors of both."""
    prepared = yield from prepare_swap(deps, wallet.signer.address, order)
    yield from order.plan(prepared.expected)
    return (yield from sign_prepared(wallet, prepared, order.signal))


def sign_prepared(
    wallet: Wallet,
    prepared: PreparedSwap,
    signal: Signal | None,
    existing: Signatures | None = None,
) -> Steps[SwapSigned]:
    """Has the wallet sign a prepared swap and assembles the wire bytes.

    Raises ``signing_failed`` if the signer refuses or signs another message. Raises
    ``self_check_failed`` if the message needs another signature that is not among ``existing``:
    signatures that the message already has. With them, the wallet may not change the message.
    """
    message, expected, signatures = prepared.message, prepared.expected, existing or {}
    signer, address = wallet.signer, wallet.signer.address
    if [key for key in message_signers(message) if key not in signatures] != [address]:
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
    signed = yield from ask_signer(signer, wallet.ask(signatures), message, intent, signal)
    if signatures and signed.message != message:
        raise failure(
            "signing_failed",
            f"The wallet {address} changed the swap that a relayer has signed already, which voids "
            "that signature. Nothing was sent. Use another wallet, or send this one SOL.",
            {"address": address},
        )
    data = assemble_transaction(signed.message, {**signatures, address: signed.signature})
    payer_signature = signature_text(signed.signature)
    return SwapSigned(data, first_signature(data), payer_signature, prepared.lifetime, expected)
