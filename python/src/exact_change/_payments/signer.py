"""The wallet's signer, whose calls fail if it does not answer in time."""

from __future__ import annotations

from .._kernel.signals import Signal
from .._kernel.steps import bounded, hook
from .._kernel.task import Steps
from .._solana.keys import KeySigner, SigningIntent
from .context import PaymentContext


def ask_signer(
    context: PaymentContext, message: bytes, intent: SigningIntent, signal: Signal | None
) -> Steps[object]:
    """What it answers: locks and budgets wait for it.

    Raises what it raises, and if the caller gives up or the client closes. What it signs too late
    is dropped, and has never left.
    """
    signer, timeout_ms = context.config.signer, context.config.timeouts.signer
    if isinstance(signer, KeySigner):
        return signer.sign_message(message, intent)

    def late() -> Exception:
        return TimeoutError(f"The signer did not answer within timeouts.signer, {timeout_ms:g} ms.")

    return (
        yield from bounded(
            timeout_ms,
            late,
            [signal, context.closing],
            lambda own: hook(signer.sign_message, message, intent, signal=own),
        )
    )
