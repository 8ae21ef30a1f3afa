"""Has the wallet sign a swap of ours."""

from __future__ import annotations

from typing import Callable, NamedTuple

from .._kernel.signals import Signal, check
from .._kernel.task import Steps
from .._solana.keys import Signer, SigningIntent, is_good_signature, signature_text
from .._solana.message import assemble_transaction, message_signers
from .._solana.types import Lifetime
from ..errors import failure
from .prepare import PreparedSwap, SwapOutlook

# What a signer answers, in time.
Ask = Callable[[bytes, SigningIntent], Steps[object]]


class SwapSigned(NamedTuple):
    """A swap that may leave."""

    # Wire bytes.
    data: bytes
    signature: str
    lifetime: Lifetime
    expected: SwapOutlook


def sign_swap(
    signer: Signer, ask: Ask, network: str, prepared: PreparedSwap, signal: Signal | None
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
    try:
        signature = yield from ask(message, intent)
    except Exception as cause:
        check(signal)
        raise failure(
            "signing_failed",
            f"The signer of {address} refused or failed to sign the swap, or did not answer in "
            "time. Nothing was sent; see the cause.",
            {"address": address},
            cause=cause,
        )
    if not isinstance(signature, bytes) or not is_good_signature(signer, message, signature):
        raise failure(
            "signing_failed",
            f"The signature of the signer of {address} does not fit the swap: it may have changed "
            "the message. Nothing was sent.",
            {"address": address},
        )
    data = assemble_transaction(message, {address: signature})
    return SwapSigned(data, signature_text(signature), prepared.lifetime, prepared.expected)
