"""Builds the one transaction layout that every known facilitator takes."""

from __future__ import annotations

from .._solana.compile import compile_message
from .._solana.instructions import compute_unit_limit, compute_unit_price, memo, transfer_checked
from ..errors import failure
from .self_check import check_own_payment
from .types import BuiltPayment, Offer, PaymentFacts

# A limit that hosted facilitators take without question (x402.md 2.4).
_COMPUTE_UNITS = 20_000
_NONCE_BYTES = 16
# The lowest limit on the price that a known facilitator sets (x402.md 2.4).
_MAX_PRICE = 1_000_000


def carries_nonce(offer: Offer) -> bool:
    """Returns whether the memo of a payment is our nonce, which makes the payment unique."""
    return offer.memo is None and offer.takes_memo


def build_exact_payment(payment: PaymentFacts) -> BuiltPayment:
    """Builds and checks a payment: limit, price, TransferChecked, and a memo.

    The memo is the seller's memo, or else the nonce. Legacy facilitators of v1 allow three
    instructions, so their payments get only a seller's memo. Without the nonce as memo, the price
    makes the payment unique.
    """
    offer = payment.offer
    is_unique_by_memo = carries_nonce(offer)
    text = payment.nonce.hex() if is_unique_by_memo else offer.memo
    instructions = [
        compute_unit_limit(_COMPUTE_UNITS),
        compute_unit_price(1 if is_unique_by_memo else _checked_price(payment.price)),
        transfer_checked(
            payment.source,
            offer.mint,
            payment.destination,
            payment.payer,
            offer.amount,
            payment.decimals,
            payment.token_program,
        ),
        *([] if text is None else [memo(text)]),
    ]
    message = compile_message(offer.fee_payer, instructions, payment.blockhash)
    check_own_payment(message, payment)
    return BuiltPayment(message, text)


# Two signatures; version and header; seven accounts; the blockhash; no lookup tables; limit,
# price and transfer.
_LEAST_BYTES = 1 + 2 * 64 + 4 + (1 + 7 * 32) + 32 + 1 + 8 + 12 + 17 + 1


def exact_payment_bytes(offer: Offer) -> int:
    """Returns the size of a transaction of :func:`build_exact_payment`, signatures included."""
    if offer.memo is None and not offer.takes_memo:
        return _LEAST_BYTES
    length = 2 * _NONCE_BYTES if offer.memo is None else len(offer.memo.encode())
    # A memo adds an account, the memo program, and an instruction without accounts.
    return _LEAST_BYTES + 32 + 2 + (1 if length < 0x80 else 2) + length


def _checked_price(price: int) -> int:
    if 1 <= price <= _MAX_PRICE:
        return price
    raise failure(
        "self_check_failed",
        f"A compute unit price of {price} is outside 1 to {_MAX_PRICE}, what facilitators take. "
        "Nothing was signed; try again with a new blockhash.",
        {"reason": "compute unit price out of range"},
        retry="fresh",
    )
