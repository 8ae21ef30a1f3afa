"""Asks a wallet to sign a message."""

from __future__ import annotations

from typing import Callable, NamedTuple

from .._kernel.signals import Signal, check
from .._kernel.task import Steps
from ..errors import ExactChangeError, failure, is_code
from .keys import AnySigner, SigningIntent, is_good_signature, signs_transactions
from .wallet_changes import ChangeText, judge_change

# Calls the signer. Returns its answer, and raises if the signer is late.
Ask = Callable[[bytes, SigningIntent], Steps[object]]


class SignedMessage(NamedTuple):
    """The result of a signer's answer."""

    # The signed message: the message asked for, or with guards that the wallet added.
    message: bytes
    # The signer's own signature, 64 bytes.
    signature: bytes
    # Number of guards that the wallet added.
    guards: int = 0


def ask_signer(
    signer: AnySigner,
    ask: Ask,
    message: bytes,
    intent: SigningIntent,
    signal: Signal | None,
) -> Steps[SignedMessage]:
    """Asks a wallet to sign a message.

    Raises ``signing_failed`` if the wallet refuses, or signs anything else. Raises the signal's
    reason if the caller aborts before the signer's own deadline, and ``client_closed`` if the
    client closes.
    """
    address, kind = signer.address, intent.get("kind", "transaction")
    try:
        answer = yield from ask(message, intent)
        # The answer is copied, so that the checked bytes are the bytes that are sent.
        data = bytes(answer) if isinstance(answer, (bytes, bytearray)) else b""
    except Exception as cause:
        check(signal)
        if is_code(cause, "client_closed"):
            raise
        raise failure(
            "signing_failed",
            f"The signer of {address} refused to sign the {kind}, failed, or was late. Nothing was "
            "sent; see the cause.",
            {"address": address},
            cause=cause,
        )
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
    """Returns the message that a wallet signed, and its signature. Raises ``signing_failed``.

    Signatures of other signers are ignored and not sent.
    """
    judged = judge_change(message, wire)
    if isinstance(judged, ChangeText):
        raise _change_error(address, kind, judged)
    signers = judged.signed.decoded.static_accounts
    at = signers.index(address) if address in signers else len(signers)
    signature = b"".join(judged.signed.signatures[at : at + 1])
    return SignedMessage(judged.signed.message, signature, judged.guards)


def _change_error(address: str, kind: str, rule: ChangeText) -> ExactChangeError:
    return failure(
        "signing_failed",
        f"The wallet {address} changed the {kind} before it signed: {rule.refuses} (rule "
        f"{rule.id}). Nothing was sent. Use another wallet, or turn off what changes transactions "
        "in this one.",
        {"address": address, "rule": rule.id},
    )
