"""Signs a payment for a caller that does its own HTTP."""

from __future__ import annotations

from typing import Callable, NamedTuple

from .._base.options import refuse
from .._base.urls import parse_address
from .._journal.registry import OpenPayment
from .._kernel.signals import Signal
from .._kernel.steps import quiet, until_aborted
from .._kernel.task import Steps
from .._receipt import Receipt, read_receipt
from .._x402.types import PaymentHeader, PaymentRequired
from ..errors import ExactChangeError, Moved, amended
from .choose import choose
from .claims import body_claim, drop_claims
from .context import PaymentContext
from .find_swap import while_choosing
from .prepare import prepare_payment
from .reconcile.monitor import follow_in_background
from .reconcile.resume import resume_once
from .request_checks import check_origin
from .task import PayTask, Purpose


class Payment(NamedTuple):
    """A payment for callers that do their own HTTP."""

    # Send it once, as a request header, to the URL that asked for payment. Follow no redirect.
    header: PaymentHeader
    # The receipt at the signature; `client.receipts()` returns its later state.
    receipt: Receipt

    def __repr__(self) -> str:
        return f"Payment(receipt={self.receipt.id})"


def pay_header(
    context: PaymentContext, terms: PaymentRequired, url: str | None, signal: Signal | None
) -> Steps[Payment]:
    """Signs a payment, and returns its header and receipt.

    ``url`` is the URL that asked for payment; it is required if the terms do not name it. Caps for
    hosts count by it.
    """
    started_at = context.now()
    at = terms.url if url is None else url
    if at is None:
        raise refuse(
            "url",
            "is missing: the terms do not say where they come from. Give the address that asked "
            "for payment.",
        )
    if parse_address(at) is None:
        raise refuse("url", "is no address. Give the one that asked for payment.")
    host = check_origin(at).host
    id_ = context.new_id()
    emit = context.events.emitter(id_)
    moved: list[Moved] = []

    def sign(on_counted: Callable[[], None]) -> Steps[OpenPayment]:
        yield from context.ready(signal)
        yield from until_aborted(resume_once(context), signal)
        choice = yield from choose(context, terms, host, signal)
        # The request of this payment is unknown here. So the fingerprint is unique, and no other
        # call takes the payment for its own.
        purpose = Purpose(at, "GET", host, id_)
        task = PayTask(id_, purpose, signal, emit, moved, started_at)
        return (yield from prepare_payment(context, choice, task, on_counted))

    try:
        open_ = yield from while_choosing(context, sign)
        # The caller presents the payment, so only the chain shows its outcome.
        yield from follow_in_background(context, open_, emit)
        yield from quiet(drop_claims(context, [id_, body_claim(id_)]))
        header = PaymentHeader(**open_.payment["header"])
        return Payment(header, read_receipt(open_.receipt))
    except ExactChangeError as raised:
        error = amended(raised, moved)
    yield from emit("payment.failed", code=error.code, funds=error.funds, message=error.message)
    raise error
