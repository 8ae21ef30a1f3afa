"""Has the wallet sign a swap of ours."""

from __future__ import annotations

from .._kernel.signals import Signal, check
from .._kernel.steps import hook
from .._kernel.task import Steps
from .._solana.keys import KeySigner, Signer, SigningIntent, is_good_signature, signature_text
from .._solana.message import assemble_transaction, message_signers
from ..errors import failure


def ask_signer(
    signer: Signer, message: bytes, intent: SigningIntent, signal: Signal | None
) -> Steps[object]:
    """What a signer answers; raises what it raises, or the signal's reason."""
    if isinstance(signer, KeySigner):
        return signer.sign_message(message, intent)
    return (yield from hook(signer.sign_message, message, intent, signal=signal))


def sign_message(
    signer: Signer, message: bytes, intent: SigningIntent, signal: Signal | None = None
) -> Steps[tuple[bytes, str]]:
    """Wire bytes and signature of a swap.

    Raises ``signing_failed`` if the signer refuses or signs something else, and
    ``self_check_failed`` if the message asks for another wallet's signature.
    """
    address = signer.address
    if list(message_signers(message)) != [address]:
        reason = "the transaction would need another signature"
        raise failure(
            "self_check_failed",
            f"Nothing was signed: {reason}. Report this.",
            {"reason": reason},
        )
    try:
        signature = yield from ask_signer(signer, message, intent, signal)
    except Exception as cause:
        check(signal)
        raise failure(
            "signing_failed",
            f"The signer of {address} refused or failed to sign the swap, or did not answer in "
            "time. Nothing was sent; see the cause.",
            {"address": address},
            cause=cause,
        ) from None
    if not isinstance(signature, bytes) or not is_good_signature(signer, message, signature):
        raise failure(
            "signing_failed",
            f"The signature of the signer of {address} does not fit the swap: it may have changed "
            "the message. Nothing was sent.",
            {"address": address},
        )
    return assemble_transaction(message, {address: signature}), signature_text(signature)
