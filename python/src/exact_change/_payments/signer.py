"""The wallet's signer, whose calls fail if it does not answer in time."""

from __future__ import annotations

from typing import Callable, Mapping, cast

from .._kernel.signals import Signal
from .._kernel.steps import bounded, done, hook
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.ask_signer import Ask
from .._solana.keys import AnySigner, KeySigner, Signer, SigningIntent, signs_transactions
from .._solana.message import assemble_transaction
from .context import PaymentContext


def timed_signer(
    context: PaymentContext, signal: Signal | None, others: Mapping[Address, bytes] | None = None
) -> Ask:
    """What it answers: locks and budgets wait for it.

    Raises what it raises, and if the caller gives up or the client closes. What it signs too late
    is dropped, and has never left. ``others``: signatures that a message has already, which wallets
    leave as it is then.
    """
    signer, timeout_ms = context.config.signer, context.config.timeouts.signer

    def late() -> Exception:
        return TimeoutError(f"The signer did not answer within timeouts.signer, {timeout_ms:g} ms.")

    def ask(message: bytes, intent: SigningIntent) -> Steps[object]:
        if isinstance(signer, KeySigner):
            return done(signer.sign_message(message, intent))
        sign, given = _call_of(signer, message, others or {})
        return bounded(
            timeout_ms,
            late,
            [signal, context.closing],
            lambda own: hook(sign, given, intent, signal=own),
        )

    return ask


def _call_of(
    signer: AnySigner, message: bytes, others: Mapping[Address, bytes]
) -> tuple[Callable[..., object], bytes]:
    """What of a signer is called, and with what bytes."""
    if signs_transactions(signer):
        return signer.sign_transaction, assemble_transaction(message, others)
    return cast("Signer", signer).sign_message, message
