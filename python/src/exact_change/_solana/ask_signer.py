"""Has a wallet sign a message of ours."""

from __future__ import annotations

from typing import Callable, NamedTuple

from .._kernel.signals import Signal, check
from .._kernel.task import Steps
from ..errors import ExactChangeError, failure
from .keys import AnySigner, SigningIntent, is_good_signature, signs_transactions
from .wallet_changes import ChangeText, judge_change

# What a signer answers, in time.
Ask = Callable[[bytes, SigningIntent], Steps[object]]


class SignedMessage(NamedTuple):
    """What a signer made of a message."""

    # What is signed: the message itself, or with what the wallet may add to it.
    message: bytes
    # The signer's own, 64 bytes.
    signature: bytes
    # How many guards the wallet has added.
    guards: int = 0


def ask_signer(
    signer: AnySigner,
    ask: Ask,
    message: bytes,
    intent: SigningIntent,
    signal: Signal | None,
) -> Steps[SignedMessage]:
    """Raises ``signing_failed`` if the signer refuses, or signs anything else.

    Or the reason of the caller, which may stop waiting before the signer's own deadline.
    """
    address, kind = signer.address, intent.get("kind", "transaction")
    try:
        answer = yield from ask(message, intent)
    except Exception as cause:
        check(signal)
        raise failure(
            "signing_failed",
            f"The signer of {address} refused or failed to sign the {kind}, or did not answer in "
            "time. Nothing was sent; see the cause.",
            {"address": address},
            cause=cause,
        )
    # A copy: what is judged here must be what is sent.
    data = bytes(answer) if isinstance(answer, (bytes, bytearray)) else b""
    signed = SignedMessage(message, data)
    if signs_transactions(signer):
        signed = _read_transaction(address, message, data, kind)
    if is_good_signature(signer, signed.message, signed.signature):
        return signed
    raise failure(
        "signing_failed",
        f"The signature of the signer of {address} does not fit the {kind}: it may have changed "
        "the message. Nothing was sent.",
        {"address": address},
    )


def _read_transaction(address: str, message: bytes, wire: bytes, kind: str) -> SignedMessage:
    """What is in the slots of other signers is not looked at, and not sent."""
    judged = judge_change(message, wire)
    if isinstance(judged, ChangeText):
        raise _changed(address, kind, judged)
    signers = judged.signed.decoded.static_accounts
    at = signers.index(address) if address in signers else len(signers)
    signature = b"".join(judged.signed.signatures[at : at + 1])
    return SignedMessage(judged.signed.message, signature, judged.guards)


def _changed(address: str, kind: str, rule: ChangeText) -> ExactChangeError:
    return failure(
        "signing_failed",
        f"The wallet {address} changed the {kind} before it signed: {rule.refuses} (rule "
        f"{rule.id}). Nothing was sent. Use another wallet, or turn off what changes transactions "
        "in this one.",
        {"address": address, "rule": rule.id},
    )
