"""Has the wallet sign a swap of ours."""

from __future__ import annotations

from typing import NamedTuple

from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.ask_signer import Ask, ask_signer
from .._solana.keys import AnySigner, SigningIntent, signature_text
from .._solana.message import assemble_transaction, message_signers
from .._solana.types import Lifetime
from ..errors import failure
from .prepare import PreparedSwap, SwapOutlook


class SwapSigned(NamedTuple):
    """A swap that may leave."""

    # Wire bytes.
    data: bytes
    signature: str
    lifetime: Lifetime
    expected: SwapOutlook


def sign_swap(
    signer: AnySigner, ask: Ask, network: str, prepared: PreparedSwap, signal: Signal | None
) -> Steps[SwapSigned]:
    """Raises ``signing_failed`` if the signer refuses or signs something else.

    And ``self_check_failed`` if the message asks for another wallet's signature.
    """
    message, address, bounds = prepared.message, signer.address, prepared.expected.bounds
    if list(message_signers(message)) != [address]:
        reason = "the transaction would need another signature"
        raise failure(
            "self_check_failed",
            f"Nothing was signed: {reason}. Report this.",
            {"reason": reason},
        )
    intent: SigningIntent = {
        "kind": "swap",
        "network": network,
        "input_mint": bounds.input_mint,
        "max_in_amount": str(bounds.max_in),
        "output_mint": bounds.output_mint,
        "min_out_amount": str(bounds.min_out),
    }
    signed = yield from ask_signer(signer, ask, message, intent, signal)
    data = assemble_transaction(signed.message, {address: signed.signature})
    text = signature_text(signed.signature)
    return SwapSigned(data, text, prepared.lifetime, prepared.expected)
