"""Builds, checks and signs the payment for a chosen offer. Sends nothing."""

from __future__ import annotations

from typing import NamedTuple

from .._journal.balances import Reading
from .._journal.types import SignedPayment
from .._kernel.signals import Signal
from .._kernel.steps import both, quiet
from .._kernel.task import Steps
from .._solana.ask_signer import SignedMessage, ask_signer
from .._solana.keys import SigningIntent, signature_text
from .._solana.message import assemble_transaction
from .._solana.types import Lifetime
from .._x402.exact import build_exact_payment, carries_nonce
from .._x402.facilitator_layout import refuses_form
from .._x402.payload import attach_payment
from .._x402.types import BuiltPayment, PaymentFacts
from ..errors import failure
from .choose import Choice
from .context import PaymentContext
from .fingerprint import nonce_for
from .signer import timed_signer

_PAYMENT_ID_BYTES = 16
# Slots to subtract from the slot of a cached, confirmed blockhash: a short fork may count
# differently.
_FORK_SLOTS = 64


class Composed(NamedTuple):
    """A payment's message, built and checked, with its life on the chain."""

    built: BuiltPayment
    lifetime: Lifetime
    # The payment cannot land before this slot.
    slot: int


def sign_payment(
    context: PaymentContext,
    choice: Choice,
    url: str,
    idempotency_key: str | None,
    before: Reading | None,
    signal: Signal | None,
) -> Steps[SignedPayment]:
    """Signs a payment, and returns its record.

    ``before``: the last balance that the chain showed of the account that it leaves from.
    """
    composed = yield from _compose(context, choice, url, idempotency_key, signal)
    (message, memo), lifetime, slot = composed
    signed_message = yield from _sign(context, choice, message, url, signal)
    signature = signed_message.signature
    transaction = assemble_transaction(signed_message.message, {context.config.wallet: signature})
    random = context.config.runtime.random_bytes(_PAYMENT_ID_BYTES)
    header, has_id = attach_payment(choice.terms, choice.offer, transaction, random)
    signed: SignedPayment = {
        "header": {"name": header.name, "value": header.value},
        "payerSignature": signature_text(signature),
        "source": choice.facts.source,
        "slot": slot,
        "blockhash": lifetime.blockhash,
        "blockhashSlot": lifetime.slot,
        "lastValidBlockHeight": str(lifetime.last_valid_block_height),
    }
    if memo is not None:
        signed["memo"] = memo
    if before is not None:
        signed["before"] = {"amount": str(before.amount), "slot": before.slot}
    if has_id:
        signed["hasPaymentId"] = True
    return signed


def _compose(
    context: PaymentContext,
    choice: Choice,
    url: str,
    idempotency_key: str | None,
    signal: Signal | None,
) -> Steps[Composed]:
    offer, facts = choice.offer, choice.facts
    recent = context.blockhashes.recent(signal=signal)
    sellers: Lifetime | None = None
    if offer.recent_blockhash is None:
        own = yield from recent
    else:
        judging = _judge_hash(context, offer.recent_blockhash, signal)
        own, sellers = yield from both(recent, judging)
    lifetime = own
    if sellers is not None:
        # A blockhash that is valid at a slot expires no later than the newest hash of that slot.
        # The chain grows by at most one block a slot.
        last = own.last_valid_block_height + max(0, sellers.slot - own.slot)
        lifetime = Lifetime(sellers.blockhash, last, sellers.slot)
    price = 1
    if not carries_nonce(offer):
        # Without a nonce, a price of its own makes each payment unique.
        price = yield from context.next(lifetime.blockhash)
    payment = PaymentFacts(
        offer,
        context.config.wallet,
        facts.source,
        facts.destination,
        facts.token_program,
        facts.decimals,
        lifetime.blockhash,
        nonce_for(url, idempotency_key, context.config.runtime.random_bytes),
        price,
    )
    return Composed(build_exact_payment(payment), lifetime, own.slot - _FORK_SLOTS)


def _judge_hash(
    context: PaymentContext, blockhash: str, signal: Signal | None
) -> Steps[Lifetime | None]:
    """Returns the seller's blockhash if the client's node says that it is valid, else None.

    A payment with an invented blockhash, or one of another chain, would have no known end. The
    client's own blockhash works too, so an invalid one is no error.
    """
    invalid: tuple[int, bool] = (0, False)
    asking = context.rpc.is_blockhash_valid(blockhash, signal=signal)
    slot, is_valid = yield from quiet(asking, invalid)
    return Lifetime(blockhash, 0, slot) if is_valid else None


def _sign(
    context: PaymentContext, choice: Choice, message: bytes, url: str, signal: Signal | None
) -> Steps[SignedMessage]:
    """Signs a message; refuses a form with the wallet's guards that facilitators do not take."""
    signer, offer = context.config.signer, choice.offer
    intent: SigningIntent = {
        "kind": "payment",
        "network": context.config.network,
        "mint": offer.mint,
        "amount": str(offer.amount),
        "pay_to": offer.pay_to,
        "url": url,
    }
    ask = timed_signer(context, signal)
    signed = yield from ask_signer(signer, ask, message, intent, signal)
    refused = None if signed.guards == 0 else refuses_form(offer, signed.message)
    if refused is None:
        return signed
    raise failure(
        "signing_failed",
        f"The wallet {signer.address} put {signed.guards} instructions of its own into the "
        f"payment, and facilitators of this seller's kind refuse it: {refused}. Nothing was "
        "presented. Pay with a wallet that adds fewer or puts them last, or with one that adds "
        "none: a key, a cloud key or a hardware wallet.",
        {"address": signer.address, "rule": "wallet_form"},
    )
