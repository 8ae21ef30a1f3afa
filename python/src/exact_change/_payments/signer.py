"""The wallet's signer, with a deadline for each call."""

from __future__ import annotations

from typing import Callable, Mapping, cast

from .._kernel.signals import Signal, check
from .._kernel.steps import bounded, done, hook
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.ask_signer import Ask
from .._solana.keys import AnySigner, KeySigner, Signer, SigningIntent, signs_transactions
from .._solana.message import assemble_transaction
from ..errors import ExactChangeError
from .context import PaymentContext


def timed_signer(
    context: PaymentContext, signal: Signal | None, others: Mapping[Address, bytes] | None = None
) -> Ask:
    """Returns a function that asks the signer, with a deadline, because locks and budgets wait.

    It also raises if the caller gives up or the client closes. A late signature is dropped and
    never sent. ``others``: signatures that the message has already, so that a wallet does not
    change the message.
    """
    signer, timeout_ms = context.config.signer, context.config.timeouts.signer

    def late() -> Exception:
        return TimeoutError(f"The signer did not answer within timeouts.signer, {timeout_ms:g} ms.")

    def ask(message: bytes, intent: SigningIntent) -> Steps[object]:
        if isinstance(signer, KeySigner):
            check(signal)
            check(context.closing)
            return done(signer.sign_message(message, intent))
        sign, argument = _call_of(signer, message, others or {})
        return bounded(
            timeout_ms,
            late,
            [signal, context.closing],
            lambda bounded_signal: _hide(hook(sign, argument, intent, signal=bounded_signal)),
        )

    return ask


def _hide(answer: Steps[object]) -> Steps[object]:
    """Hides an error of this library that a signer raises, because it is about another client."""
    try:
        return (yield from answer)
    except ExactChangeError as cause:
        raise RuntimeError("The signer failed.") from cause


def _call_of(
    signer: AnySigner, message: bytes, others: Mapping[Address, bytes]
) -> tuple[Callable[..., object], bytes]:
    """Returns the method of a signer to call, and the bytes to pass."""
    if signs_transactions(signer):
        return signer.sign_transaction, assemble_transaction(message, others)
    return cast("Signer", signer).sign_message, message
