"""Stage 1: the transaction as bytes."""

from __future__ import annotations

import base64
import binascii
from typing import Callable, NamedTuple

from .._solana.address import Address
from .._solana.message import DecodedTransaction, decode_transaction
from .rule import Rule


class EnvelopeSubject(NamedTuple):
    """A foreign transaction before anything in it has been resolved; None if it cannot be read."""

    decoded: DecodedTransaction | None
    wallet: Address


# What we compose ourselves if wrapped SOL is topped up to buy a token that the wallet has no
# account of.
_MAX_INSTRUCTIONS = 13
# The most base64 that one transaction takes.
_MAX_TEXT = 1_644


def _on(id_: str, passes: Callable[[DecodedTransaction, Address], bool]) -> Rule[EnvelopeSubject]:
    """A rule on what the transaction says: one that cannot be read passes none."""

    def check(subject: EnvelopeSubject) -> bool:
        return subject.decoded is not None and passes(subject.decoded, subject.wallet)

    return Rule(id_, check)


def _has_one_signer(one: DecodedTransaction, _wallet: Address) -> bool:
    header = one.decoded.header
    return header.num_required_signatures == 1 and header.num_readonly_signed == 0


ENVELOPE_RULES = (
    _on("transaction_encoding", lambda _one, _wallet: True),
    _on(
        "transaction_fee_payer",
        lambda one, wallet: [*one.decoded.static_accounts[:1]] == [wallet],
    ),
    _on("transaction_signers", _has_one_signer),
    _on("transaction_presigned", lambda one, _wallet: not any(map(any, one.signatures))),
    _on(
        "transaction_length",
        lambda one, _wallet: 1 <= len(one.decoded.instructions) <= _MAX_INSTRUCTIONS,
    ),
)


def read_transaction(transaction: object) -> DecodedTransaction | None:
    """Reads base64 or wire bytes; None if they are not one v0 transaction in its one encoding."""
    data = _from_base64(transaction) if isinstance(transaction, str) else transaction
    return decode_transaction(bytes(data)) if isinstance(data, (bytes, bytearray)) else None


def _from_base64(text: str) -> bytes | None:
    if len(text) > _MAX_TEXT or not text.isascii():
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
    # One encoding only: bits that belong to no byte are zero.
    return data if base64.b64encode(data).decode() == text else None
