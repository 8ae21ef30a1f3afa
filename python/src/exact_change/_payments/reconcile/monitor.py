"""Follows signed payments until the chain has decided."""

from __future__ import annotations

from typing import Any, NamedTuple

from typing_extensions import Literal

from ..._events import Emit
from ..._journal.attempts import copy_of
from ..._journal.registry import Monitored, OpenPayment
from ..._journal.types import Along, Attempt
from ..._kernel.signals import Signal
from ..._kernel.steps import bounded, ensure, join, quiet, sleep, start
from ..._kernel.task import Steps, Task
from ..._receipt import Receipt, read_receipt, write
from ...errors import ExactChangeError, failure
from ..context import PaymentContext
from ..costs import cost_for
from ..saving import last_write_ended, save_attempt
from .claim import proven_claim
from .earlier_errors import as_uncertain
from .fate import Fate, Landed, fate_of
from .forgotten import is_forgotten
from .sent import sent_payment

# The first question mostly suffices, because the facilitator waits for confirmation.
_FIRST_WAIT_MS = 250
_LONGEST_WAIT_MS = 10_000
# What is open for more than ten minutes may stay open: wait this part of the time so far.
_LATER_PART = 60
# Wait between two questions about a payment that nodes no longer remember.
_FORGOTTEN_WAIT_MS = 60 * 60_000
# Wait before the first question, so that the caller gets the seller's answer first.
_ANSWER_MS = 10


class _Decision(NamedTuple):
    """The chain's decision about a payment."""

    state: Literal["settled", "unsettled"]
    signature: str = ""
    slot: int = 0


def open_payment_of(context: PaymentContext, attempt: Attempt) -> OpenPayment:
    """Returns this process's open payment for an attempt, or a new one.

    There must be only one, because writes of two would undo each other.
    """
    known = context.wallet.monitored.get(attempt["id"])
    return OpenPayment(attempt, is_shared=True) if known is None else known.open


def monitor_payment(context: PaymentContext, open_: OpenPayment, emit: Emit) -> Steps[Task[None]]:
    """Follows a signed payment in the background until the chain decides or the client closes.

    The task never raises.
    """
    id_ = open_.attempt["id"]
    monitored = context.wallet.monitored
    known = monitored.setdefault(id_, Monitored(open_))
    if known.is_followed and context in known.monitors:
        return known.monitors[context]
    task = yield from start(_follow(context, known, emit))
    if not task.is_settled:
        known.monitors[context] = task
    return task


def receipt_once_decided(
    context: PaymentContext, open_: OpenPayment, emit: Emit, signal: Signal | None
) -> Steps[Receipt]:
    """Waits until the chain has decided about a payment, and returns its receipt.

    Raises the signal's reason, or ``ConfigError`` (``client_closed``) with uncertain funds.
    """
    monitored = context.wallet.monitored.get(open_.attempt["id"])
    followed = open_ if monitored is None else monitored.open
    if not is_decided(open_):
        task = yield from monitor_payment(context, open_, emit)
        yield from join(task, signal)
        reason = context.closing.reason
        if not is_decided(followed) and isinstance(reason, ExactChangeError):
            raise as_uncertain(reason, "The payment may still land, and stays on record.")
    return read_receipt((open_ if is_decided(open_) else followed).receipt)


def decide_payment(
    context: PaymentContext, open_: OpenPayment, emit: Emit, signal: Signal
) -> Steps[bool]:
    """Asks the chain once, and closes the attempt if the chain has decided.

    Returns whether it has.
    """
    if is_decided(open_):
        _forget_unfollowed(context, open_)
        return True
    sent = sent_payment(open_.attempt, open_.payment, proven_claim(open_))
    # Each call of a node has a deadline, but many calls may be needed.
    within_ms = context.config.timeouts.payment
    fate = yield from bounded(
        within_ms,
        lambda: _late(within_ms),
        [signal],
        lambda bounded_signal: fate_of(context.histories, sent, bounded_signal),
    )
    decision = _decision_of(fate)
    if decision is None:
        return False
    if decision.state == "unsettled":
        context.blockhashes.expire(open_.payment["blockhash"])
        context.memory.outdate_offers()
    # Another call may have closed the attempt meanwhile.
    if not is_decided(open_):
        yield from _close(context, open_, decision, emit)
    _forget_unfollowed(context, open_)
    return True


def _forget_unfollowed(context: PaymentContext, open_: OpenPayment) -> None:
    """Ends the record of a decided payment if the event loops of all its monitors were closed."""
    known = context.wallet.monitored.get(open_.attempt["id"])
    if known is not None and not known.is_followed:
        del context.wallet.monitored[open_.attempt["id"]]


def _late(within_ms: float) -> Exception:
    return failure(
        "timeout",
        f"The nodes did not say within {within_ms:g} ms what became of a payment; try again, or "
        "set another rpc_url.",
        {"step": "chain", "timeout_ms": within_ms},
    )


def is_decided(open_: OpenPayment) -> bool:
    """Returns whether the chain has decided, as far as this process knows."""
    return open_.attempt["state"] != "signed"


def _follow(context: PaymentContext, known: Monitored, emit: Emit) -> Steps[None]:
    def end() -> Steps[None]:
        id_ = known.open.attempt["id"]
        known.monitors.pop(context, None)
        if known.is_followed:
            return
        context.wallet.monitored.pop(id_, None)
        if is_decided(known.open):
            return
        # The client closed before the chain had decided, so nothing here ends the hold later. Count
        # its tokens as spent, because they may leave.
        yield from quiet(context.ledger.spend(known.open.payment["source"], id_))

    yield from ensure(_watch(context, known.open, emit), end)


def _watch(context: PaymentContext, open_: OpenPayment, emit: Emit) -> Steps[None]:
    signal = context.closing
    yield from quiet(sleep(_ANSWER_MS, signal))
    wait, waited = float(_FIRST_WAIT_MS), 0.0
    sent = sent_payment(open_.attempt, open_.payment, None)
    while not signal.aborted:
        # None if a node or the journal does not answer: the payment stays undecided, so ask again.
        decided = yield from quiet(decide_payment(context, open_, emit, signal))
        if decided:
            return
        is_answered = decided is not None
        if is_answered and (yield from is_forgotten(context, open_.attempt["at"], sent)):
            wait = _FORGOTTEN_WAIT_MS
        yield from quiet(sleep(wait, signal))
        # An outage says nothing about the payment, and makes no later wait longer.
        if is_answered:
            waited += wait
        wait = min(wait * 2, max(_LONGEST_WAIT_MS, waited / _LATER_PART))


def _decision_of(fate: Fate) -> _Decision | None:
    """Returns the decision, or None. A payment that landed and failed counts as unsettled."""
    if fate == "open":
        return None
    if isinstance(fate, Landed) and fate.error is None:
        return _Decision("settled", fate.signature, fate.slot)
    return _Decision("unsettled")


def _close(
    context: PaymentContext, open_: OpenPayment, decision: _Decision, emit: Emit
) -> Steps[None]:
    """Writes the decision, ends the hold, and emits the event once."""
    source = open_.payment["source"]
    is_open = not open_.is_shared or (yield from _refresh(context, open_))
    # Another monitor may have closed the attempt during that read.
    if is_decided(open_):
        return
    is_first = False

    def change(attempt: Attempt) -> Attempt:
        nonlocal is_first
        if attempt["state"] != "signed":
            return attempt
        is_first = True
        return _closed(attempt, open_.receipt, decision, context.now())

    # If the write fails, the attempt stays open and the chain is asked again. If another process
    # has closed the attempt, only the hold is left to end here, unless the answer arrived here.
    if is_open:
        yield from save_attempt(context, open_, change, _ends_of(source, decision))
    else:
        yield from _end_hold(context, open_, decision)
        if open_.is_delivered_here:
            yield from save_attempt(context, open_, change)
        else:
            open_.attempt = change(open_.attempt)
    # A closed client may have subtracted the amount from the known balance, so forget that balance.
    if decision.state == "unsettled":
        yield from context.ledger.forget(source)
    # Several calls may get here at the same time; only the first emits the event.
    if is_first:
        if decision.state == "settled":
            yield from emit("payment.settled", receipt=open_.receipt)
        else:
            yield from emit("payment.unsettled", receipt=open_.receipt)


def _refresh(context: PaymentContext, open_: OpenPayment) -> Steps[bool]:
    """Copies newer fields of an attempt from the journal.

    Returns False if the attempt is no longer signed there, because another process closed it.
    """
    known = open_.attempt
    # The journal must not answer with what this process has changed since.
    yield from last_write_ended(open_)
    last_write, before = open_.last_write, open_.receipt
    for attempt in (
        yield from context.journal.attempts(context.owner, state="signed", since=known["at"])
    ):
        if attempt["id"] != known["id"]:
            continue
        # The record of the journal is older than a decision that this process has made since.
        if is_decided(open_):
            return True
        # This process has written since, so the record may be older than what it wrote.
        if open_.last_write is not last_write:
            return (yield from _refresh(context, open_))
        names = ["tellingAt", "toldAt", "doubt"]
        if not open_.is_delivered_here and not open_.is_taken_back:
            names.append("delivered")
        newer = {name: value for name, value in attempt.items() if name in names}
        # Only one process may know the seller's word on it.
        ours, theirs = open_.receipt, attempt.get("receipt", {})
        receipt = {**ours, **theirs} if ours is before else {**theirs, **ours}
        open_.attempt = copy_of({**open_.attempt, **newer, "receipt": receipt})
        return True
    return False


def _closed(attempt: Attempt, receipt: dict[str, Any], decision: _Decision, now: int) -> Attempt:
    """Returns the attempt with the decision; caps over time count its cost from ``now``.

    If the clock was set back since the signature, they count from the signature.
    """
    is_settled = decision.state == "settled"
    fee = int(receipt["cost"]["networkFeeLamports"])
    decided_receipt = {
        **receipt,
        "state": decision.state,
        "cost": write(cost_for(attempt, fee, is_paid=is_settled)),
    }
    if is_settled:
        decided_receipt["payment"] = {**receipt["payment"], "signature": decision.signature}
    left_at = max(attempt["at"], now)
    return {**attempt, "state": decision.state, "leftAt": left_at, "receipt": decided_receipt}


def _ends_of(source: str, decision: _Decision) -> Along:
    """Returns the change of the hold to write with the decision: spend it, or free it."""
    if decision.state == "settled":
        return Along(spend=(source, decision.slot))
    return Along(free=[source])


def _end_hold(context: PaymentContext, open_: OpenPayment, decision: _Decision) -> Steps[None]:
    source, id_ = open_.payment["source"], open_.attempt["id"]
    if decision.state == "settled":
        return context.ledger.spend(source, id_, decision.slot)
    return context.ledger.release(source, id_)


def follow_in_background(context: PaymentContext, open_: OpenPayment, emit: Emit) -> Steps[None]:
    """Starts :func:`monitor_payment`, and does not wait for it. Never raises."""
    yield from quiet(monitor_payment(context, open_, emit))
