"""Sends the paid request, and judges its answer with the help of the chain."""

from __future__ import annotations

import functools
import os
from typing import NamedTuple

from .._events import Emit
from .._journal.registry import OpenPayment
from .._kernel.deadline import start_deadline
from .._kernel.hosts import this_host
from .._kernel.signals import Signal, check, follow, follow_also
from .._kernel.steps import background, ensure, quiet, sleep, until_aborted
from .._kernel.task import Host, Steps
from .._receipt import Receipt, read_receipt, write
from .._tied import tie_receipt
from .._x402.types import PaymentHeader, PaymentRequired
from ..errors import ErrorCode, ExactChangeError, failure
from .call import Call, Reply, free_connection
from .claims import body_claim, release_claims, start_release
from .context import PaymentContext
from .delivery import Delivery, warn_unwritten
from .outcomes import Outcome, outcome_of
from .presentation import Presentation, Rejected
from .reading import read_settlement_claim, read_terms
from .reconcile.earlier_errors import paid_by, state_text
from .reconcile.monitor import (
    decide_payment,
    follow_in_background,
    is_decided,
    open_payment_of,
    receipt_once_decided,
)
from .rejection import Answer, bounds_of, rejection
from .saving import Change, save_attempt, unchanged

# Waits between two questions to the chain; each doubles the last. Milliseconds.
_FIRST_WAIT_MS = 250
_LONGEST_WAIT_MS = 2_000


class _Shown(NamedTuple):
    reply: Reply
    # Whether the caller still has to read the body.
    is_awaited: bool


class _Refused(NamedTuple):
    outcome: Outcome
    answer: Answer


def present(
    context: PaymentContext, open_: OpenPayment, showing: Presentation
) -> Steps[Reply | Rejected]:
    """Presents a payment. Returns any answer except a 402 unchanged, with its receipt.

    It sends the same bytes again only if seller and chain say that they are settled, and the
    request may be repeated. It raises ``SettlementError`` for a lost answer. In each case the chain
    decides about the payment, in the background.

    The claims on the attempt and its answer end with this call, or soon after if the caller has
    given up, and so does the connection of an answer that is not returned. While the caller reads
    an answer, both claims stay. But an attempt with a key is released, else an equal call with the
    key would find it under way.
    """
    presenting = _Presenting(context, open_, showing)
    return ensure(presenting.run(), presenting.end)


def may_repeat(open_: OpenPayment, call: Call, is_repeatable: bool) -> bool:
    """Returns whether the same bytes may be sent to the seller again: x402.md 5.3."""
    has_id = open_.payment.get("hasPaymentId") is True
    return is_repeatable or has_id or call.method in ("GET", "HEAD")


class _Presenting:
    def __init__(self, context: PaymentContext, open_: OpenPayment, showing: Presentation) -> None:
        self._context = context
        self._open = open_
        self._showing = showing
        self._signal = showing.call.signal
        self._is_awaited = False
        # The answer, until it is clear that it reaches the caller.
        self._reply: Reply | None = None

    def run(self) -> Steps[Reply | Rejected]:
        context, open_, signal = self._context, self._open, self._signal
        deadline = yield from start_deadline(context.config.timeouts.payment, signal)
        may_resign = False
        try:
            check(signal)  # The caller may have given up while the journal wrote the signature.
            shown = yield from self._once(deadline.signal)
            if isinstance(shown, _Refused):
                may_resign = yield from self._ask_chain_first(shown.outcome, deadline.signal)
                check(signal)
                is_settled = open_.attempt["state"] == "settled"
                if shown.outcome.ask_first and is_settled and self._may_repeat():
                    yield from free_connection(context, shown.answer.reply)
                    shown = yield from self._once(deadline.signal)
            if isinstance(shown, _Shown):
                self._is_awaited = shown.is_awaited
                self._reply = None
                return shown.reply
            yield from until_aborted(self._note_doubt("payment_rejected"), signal)
            make_error = functools.partial(rejection, open_, shown.answer, self._showing.moved)
            return Rejected(make_error, (yield from self._terms_of(shown)), may_resign)
        except Exception:
            check(signal)
            raise
        finally:
            deadline.end()

    def end(self) -> Steps[None]:
        """Starts to follow the payment in the background, and ends what has no use any more."""
        if self._reply is not None:
            freeing = free_connection(self._context, self._reply)
            # The end of a closed client's last call closes its connections.
            yield from freeing if self._context.closing.aborted else background(freeing)
        # Follow first: a client that takes the attempt for an orphan must find this record of it.
        yield from follow_in_background(self._context, self._open, self._showing.emit)
        attempt = self._open.attempt
        attempt_claim = [] if self._showing.sign_again_after else [attempt["id"]]
        if not self._is_awaited:
            self._open.is_shared |= not self._open.is_delivered_here
            claims = [*attempt_claim, body_claim(attempt["id"])]
            yield from release_claims(self._context, self._open, claims, self._signal)
        elif "idempotencyKey" in attempt:
            yield from start_release(self._context, self._open, attempt_claim)

    def _may_repeat(self) -> bool:
        return may_repeat(self._open, self._showing.call, self._showing.is_repeatable)

    def _ask_chain_first(self, outcome: Outcome, signal: Signal) -> Steps[bool]:
        """Asks the chain before the call goes on; returns whether the call may sign again then."""
        context, emit = self._context, self._showing.emit
        if outcome.ask_first:
            yield from until_aborted(self._ask_until(signal), self._signal)
        # Ask once before a second signature, because the seller may be wrong.
        elif outcome.may_resign and context.config.policy.resign > 0:
            deciding = quiet(decide_payment(context, self._open, emit, signal))
            return (yield from until_aborted(deciding, self._signal)) is not None
        return False

    def _once(self, signal: Signal) -> Steps[_Shown | _Refused]:
        context, open_, showing = self._context, self._open, self._showing
        emit = showing.emit
        yield from emit("payment.sent", url=showing.url, method=showing.call.method)
        reply = self._reply = yield from self._send(signal)
        word = yield from read_settlement_claim(reply, context.config.timeouts.terms)
        outcome = outcome_of(reply.status, word)
        receipt = dict(open_.receipt)
        if open_.attempt["state"] == "signed":
            receipt["state"] = "pending" if outcome.is_delivered else "uncertain"
        if word.settlement is not None:
            receipt["settlement"] = write(word.settlement)
        answered = context.now() - showing.started_at
        receipt["timings"] = {**receipt["timings"], "answered": answered}
        is_awaited = outcome.is_delivered and reply.has_body()
        # Keep the settlement of a 402 too: it may name a pending transaction to look up first.
        open_.attempt = {
            **open_.attempt,
            "delivered": outcome.is_delivered and not is_awaited,
            "receipt": receipt,
        }
        open_.is_delivered_here = open_.attempt["delivered"]
        delivery = Delivery(context, open_, emit, self._signal)
        if open_.is_delivered_here:
            yield from delivery.hang_on(self._signal, delivery.take_back)
        # The end of the body causes a write, so skip this write. But write now if another process
        # also writes this attempt.
        if not is_awaited or open_.is_shared:
            yield from until_aborted(self._note(unchanged), self._signal)
        check(self._signal)
        if reply.status == 402:
            # If the client caused the refusal, outdated facts are the most likely cause.
            context.memory.outdate_offers()
            yield from quiet(context.ledger.forget(open_.payment["source"]))
            return _Refused(outcome, Answer(reply, word.reason))
        tie_receipt(reply.native, LiveReceipt(context, open_, emit, (yield from this_host())))
        # The answer is not complete yet. If the body is lost, a repeated call must not pay again,
        # in this process or the next.
        if is_awaited:
            reply.on_body_end(delivery)
            yield from delivery.hang_on(self._signal, delivery.given_up)
        yield from emit("payment.answered", status=reply.status, receipt=receipt)
        return _Shown(reply, is_awaited)

    def _terms_of(self, refused: _Refused) -> Steps[PaymentRequired | ExactChangeError | None]:
        may_sign_again = refused.outcome in self._showing.sign_again_after
        if not may_sign_again or self._open.attempt["state"] == "settled":
            return None
        try:
            timeout_ms = self._context.config.timeouts.terms
            return (yield from read_terms(refused.answer.reply, timeout_ms, self._signal))
        except ExactChangeError as unreadable:
            return unreadable

    def _send(self, signal: Signal) -> Steps[Reply]:
        showing, given_up = self._showing, self._signal
        header = PaymentHeader(**self._open.payment["header"])
        try:
            return (yield from showing.call.send_paid(showing.url, header, signal))
        except Exception as raised:
            cause = raised
        bounds = bounds_of(self._open)
        # A caller that has given up gets its error at once; the write goes on in the background.
        yield from until_aborted(self._note_doubt("payment_uncertain"), given_up)
        paid = paid_by(self._open)
        raise failure(
            "payment_uncertain",
            f"The answer to the paid request was lost, and the payment {state_text(self._open)}. "
            "Repeat the same call until it answers or says already_spent.",
            bounds,
            funds="spent" if paid else "uncertain",
            moved=[*self._showing.moved, *paid],
            cause=cause,
        )

    def _note(self, change: Change) -> Steps[None]:
        """Writes the attempt; only warns if the write fails. Never raises.

        The answer must be returned even without its record; the next write of the attempt adds it.
        """
        try:
            yield from save_attempt(self._context, self._open, change)
            return
        except Exception:
            yield from warn_unwritten(self._open, self._showing.emit)

    def _note_doubt(self, code: ErrorCode) -> Steps[None]:
        """Emits and records that only the chain can decide the payment, unless it has decided."""
        open_ = self._open
        if open_.attempt["state"] != "signed":
            return
        yield from self._showing.emit("payment.uncertain", **bounds_of(open_), code=code)
        # A second doubt is not recorded.
        if "doubt" in open_.attempt:
            return
        receipt = {**open_.receipt, "state": "uncertain"}
        open_.attempt = {**open_.attempt, "doubt": code, "receipt": receipt}
        # Ignore a failed write: the caller's error matters more, and the next write adds the doubt.
        yield from quiet(save_attempt(self._context, open_))

    def _ask_until(self, within: Signal) -> Steps[None]:
        """Asks the chain until it has decided, ``within`` fires, or the client closes."""
        either = follow(within)
        forget = follow_also(either.signal, self._context.closing)
        emit = self._showing.emit
        wait = _FIRST_WAIT_MS
        try:
            while not either.signal.aborted:
                # If no node answers, the payment stays undecided, so ask again.
                deciding = decide_payment(self._context, self._open, emit, either.signal)
                if (yield from quiet(deciding, False)):
                    return
                yield from quiet(sleep(wait, either.signal))
                wait = min(wait * 2, _LONGEST_WAIT_MS)
        finally:
            either.end()
            forget()


class LiveReceipt:
    """The receipt on a response that a payment bought; it changes until the chain has decided."""

    def __init__(self, context: PaymentContext, open_: OpenPayment, emit: Emit, host: Host) -> None:
        self._context = context
        self._open = open_
        self._emit = emit
        self._host = host
        self._process = os.getpid()

    def read(self) -> Receipt:
        return read_receipt(self._open.receipt)

    def is_of(self, host: Host) -> bool:
        """Returns whether the engine that paid runs on this host, or is not needed any more."""
        is_here = host is self._host and self._process == os.getpid()
        return is_here or is_decided(self._open)

    def settled(self, context: PaymentContext | None, signal: Signal | None) -> Steps[Receipt]:
        """Waits until the chain has decided, and returns the receipt.

        ``context`` asks the chain if the engine that paid is of another host, because the event
        loop of that host may close, or of the process that this one was forked from. Raises the
        signal's reason, or ``ConfigError`` (``client_closed``).
        """
        id_, emit, is_forked = self._open.attempt["id"], self._emit, self._process != os.getpid()
        if context is not None and context.owner == self._context.owner:
            emit = context.events.emitter(id_)
            if is_forked:
                # A write or a monitor of the parent never ends here.
                self._open = open_payment_of(context, self._open.attempt)
        elif is_forked and not is_decided(self._open):
            raise failure("client_closed", "Its client is of the parent process. Use one here.")
        else:
            context = self._context
        return receipt_once_decided(context, self._open, emit, signal)
