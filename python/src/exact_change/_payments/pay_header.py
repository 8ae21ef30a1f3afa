"""Signs a payment for a caller that does its own HTTP."""

from __future__ import annotations

from typing import NamedTuple

from .._base.options import refuse
from .._base.urls import parse_address
from .._kernel.signals import Signal
from .._kernel.steps import quiet
from .._kernel.task import Steps
from .._receipt import Receipt, read_receipt
from .._x402.types import PaymentHeader, PaymentRequired
from ..errors import ExactChangeError, Moved, amended
from .choose import choose
from .claims import body_claim, drop_claims
from .context import PaymentContext
from .prepare import prepare_payment
from .reconcile.monitor import follow_in_background
from .reconcile.resume import resume_once
from .request_checks import check_origin
from .task import PayTask, Purpose


class Payment(NamedTuple):
    """A payment for callers that do their own HTTP."""

    # Present it as a request header, once, to the URL that asked, and never across a redirect.
    header: PaymentHeader
    # As it stands when the payment is made; `client.receipts()` has what became of it.
    receipt: Receipt

    def __repr__(self) -> str:
        return f"Payment(receipt={self.receipt.id})"


def pay_header(
    context: PaymentContext, terms: PaymentRequired, url: str | None, signal: Signal | None
) -> Steps[Payment]:
    """The header to present.

    ``url``: that the payment is for, as the caller knows it; needed if the terms do not say. Caps
    for hosts count by it.
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
    try:
        yield from context.ready(signal)
        yield from resume_once(context)
        choice = yield from choose(context, terms, host, signal)
        # What the header is presented with is the caller's to know, so no other call adopts this
        # payment.
        purpose = Purpose(at, "GET", host, id_)
        task = PayTask(id_, purpose, signal, emit, moved, started_at)
        open_ = yield from prepare_payment(context, choice, task, lambda: None)
        # It is not presented here: what comes of it is the chain's to say.
        yield from follow_in_background(context, open_, emit)
        yield from quiet(drop_claims(context, [id_, body_claim(id_)]))
        header = PaymentHeader(**open_.payment["header"])
        return Payment(header, read_receipt(open_.receipt))
    except ExactChangeError as raised:
        error = amended(raised, moved)
    yield from emit("payment.failed", code=error.code, funds=error.funds, message=error.message)
    raise error
