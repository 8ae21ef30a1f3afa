"""Stage 1: the transaction as bytes."""

from __future__ import annotations

from typing import Callable, NamedTuple

from .._base.base64_text import decode_base64
from .._solana.address import Address
from .._solana.message import DecodedTransaction, decode_transaction
from .rule import Rule


class EnvelopeSubject(NamedTuple):
    """A foreign transaction before its lookup tables are read."""

    # None if the transaction cannot be read.
    decoded: DecodedTransaction | None
    wallet: Address


# Length of the longest swap transaction that we compose: it tops up wrapped SOL, and creates the
# output account at an address with lamports, which it withdraws.
_MAX_INSTRUCTIONS = 14
# Length of the longest base64 text that `decode_transaction` can accept.
_MAX_TEXT = 1_644


def _on_decoded(
    id_: str, passes: Callable[[DecodedTransaction, Address], bool]
) -> Rule[EnvelopeSubject]:
    """Makes a rule on a decoded transaction; a transaction that cannot be read breaks it."""

    def check(subject: EnvelopeSubject) -> bool:
        return subject.decoded is not None and passes(subject.decoded, subject.wallet)

    return Rule(id_, check)


def _has_one_signer(transaction: DecodedTransaction, _wallet: Address) -> bool:
    header = transaction.decoded.header
    return header.num_required_signatures == 1 and header.num_readonly_signed == 0


ENVELOPE_RULES = (
    _on_decoded("transaction_encoding", lambda _transaction, _wallet: True),
    _on_decoded(
        "transaction_fee_payer",
        lambda transaction, wallet: [*transaction.decoded.static_accounts[:1]] == [wallet],
    ),
    _on_decoded("transaction_signers", _has_one_signer),
    _on_decoded(
        "transaction_presigned",
        lambda transaction, _wallet: not any(map(any, transaction.signatures)),
    ),
    _on_decoded(
        "transaction_length",
        lambda transaction, _wallet: (
            1 <= len(transaction.decoded.instructions) <= _MAX_INSTRUCTIONS
        ),
    ),
)


def read_transaction(transaction: object) -> DecodedTransaction | None:
    """Reads base64 or wire bytes.

    None unless they are one v0 transaction in its canonical encoding.
    """
    data = transaction
    if isinstance(transaction, str):
        data = decode_base64(transaction) if len(transaction) <= _MAX_TEXT else None
    return decode_transaction(bytes(data)) if isinstance(data, (bytes, bytearray)) else None
