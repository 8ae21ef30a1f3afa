"""Proves a transaction id that a seller claims, by its signature."""

from __future__ import annotations

from ..._journal.registry import OpenPayment
from ..._solana.address import base58_decode
from ..._solana.keys import signature_text, verify_signature
from ..._solana.message import decode_transaction
from ..._x402.payload import transaction_in
from ..._x402.settlement import SIGNATURE
from ..._x402.types import PaymentHeader


def proven_claim(open_: OpenPayment) -> str | None:
    """Returns the transaction id that the seller claims, if it is an id of this payment.

    The id is the fee payer's signature, so this checks it against the message that the wallet
    signed. It needs no node. Whether the transaction landed, only the chain can say.
    """
    payment, settlement = open_.payment, open_.receipt.get("settlement")
    id_ = None if settlement is None else settlement.get("transaction")
    if not isinstance(id_, str) or SIGNATURE.fullmatch(id_) is None:
        return None
    # Keep the result, because each question to the chain needs it.
    if open_.claim is None or open_.claim[0] != id_:
        header = PaymentHeader(**payment["header"])
        is_proven = _is_id_of(id_, transaction_in(header), payment["payerSignature"])
        open_.claim = id_, is_proven
    return id_ if open_.claim[1] else None


def _is_id_of(id_: str, transaction: bytes | None, payer_signature: str) -> bool:
    """Returns whether the id signs the transaction, which must have the payer's signature."""
    decoded = None if transaction is None else decode_transaction(transaction)
    signature = base58_decode(id_)
    if decoded is None or signature is None or not decoded.decoded.static_accounts:
        return False
    fee_payer = decoded.decoded.static_accounts[0]
    return payer_signature in map(signature_text, decoded.signatures) and verify_signature(
        decoded.message, signature, fee_payer
    )
