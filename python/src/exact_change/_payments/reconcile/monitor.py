"""Follows signed payments until the chain decides."""

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
from ...errors import failure
from ..context import PaymentContext
from ..costs import cost_for
from ..saving import save_attempt
from .claim import proven_claim
from .fate import Fate, Landed, fate_of
from .sent import sent_payment

# The facilitator has waited for confirmation before the answer, so the first look mostly suffices.
_FIRST_WAIT_MS = 250
_LONGEST_WAIT_MS = 10_000
# The seller's answer goes to its caller first, who has its body to read.
_ANSWER_MS = 10


class _Decision(NamedTuple):
    """What the chain made of a payment."""

    state: Literal["settled", "unsettled"]
    signature: str = ""
    slot: int = 0


def open_payment_of(context: PaymentContext, attempt: Attempt) -> OpenPayment:
    """The record of an attempt as this process follows it already, or a new one.

    Two records of one attempt would undo each other.
    """
    known = context.wallet.monitored.get(attempt["id"])
    return OpenPayment(attempt, is_foreign=True) if known is None else known.open


def monitor_payment(context: PaymentContext, open_: OpenPayment, emit: Emit) -> Steps[Task[None]]:
    """Follows a signed payment in the background until the chain decides or the client closes.

    The task never raises.
    """
    id_ = open_.attempt["id"]
    monitored = context.wallet.monitored
    known = monitored.setdefault(id_, Monitored(open_))
    running = known.monitors.get(context)
    if running is not None:
        return running
    task = yield from start(_follow(context, known, emit))
    if not task.is_settled:
        known.monitors[context] = task
    return task


def decided(
    context: PaymentContext, open_: OpenPayment, emit: Emit, signal: Signal | None
) -> Steps[Receipt]:
    """The receipt of a payment once the chain has decided.

    Raises the signal's reason, or ``ConfigError`` (``client_closed``).
    """
    followed = context.wallet.monitored.get(open_.attempt["id"])
    one = open_ if followed is None else followed.open
    if not is_decided(open_):
        task = yield from monitor_payment(context, open_, emit)
        yield from join(task, signal)
        if not is_decided(one):
            context.closing.check()
    return read_receipt((open_ if is_decided(open_) else one).receipt)


def decide_payment(
    context: PaymentContext, open_: OpenPayment, emit: Emit, signal: Signal
) -> Steps[bool]:
    """Asks the chain once, and closes the attempt if it has decided."""
    if is_decided(open_):
        return True
    sent = sent_payment(open_.attempt, open_.payment, proven_claim(open_))
    # Each call of a node has a deadline, but there may be many of them.
    within_ms = context.config.timeouts.payment
    fate = yield from bounded(
        within_ms,
        lambda: _late(within_ms),
        [signal],
        lambda own: fate_of(context.histories, sent, own),
    )
    verdict = _decision_of(fate)
    if verdict is None:
        return False
    if verdict.state == "unsettled":
        context.blockhashes.expire(open_.payment["blockhash"])
    # Another caller may have been told meanwhile.
    if not is_decided(open_):
        yield from _close(context, open_, verdict, emit)
    return True


def _late(within_ms: float) -> Exception:
    return failure(
        "timeout",
        f"The nodes did not say within {within_ms:g} ms what became of a payment; try again, or "
        "set another rpc_url.",
        {"step": "chain", "timeout_ms": within_ms},
    )


def is_decided(open_: OpenPayment) -> bool:
    """Whether the chain has decided, as far as this process knows."""
    return open_.attempt["state"] != "signed"


def _follow(context: PaymentContext, known: Monitored, emit: Emit) -> Steps[None]:
    def end() -> Steps[None]:
        id_ = known.open.attempt["id"]
        known.monitors.pop(context, None)
        if known.monitors:
            return
        context.wallet.monitored.pop(id_, None)
        if is_decided(known.open):
            return
        # Closed before the chain had decided: nothing is left here to end it, and the tokens may
        # go.
        yield from quiet(context.ledger.spend(known.open.payment["source"], id_))

    yield from ensure(_watch(context, known.open, emit), end)


def _watch(context: PaymentContext, open_: OpenPayment, emit: Emit) -> Steps[None]:
    signal = context.closing
    yield from quiet(sleep(_ANSWER_MS, signal))
    wait = _FIRST_WAIT_MS
    while not signal.aborted:
        # A node or journal that does not answer decides nothing: it is asked again.
        if (yield from quiet(decide_payment(context, open_, emit, signal), False)):
            return
        yield from quiet(sleep(wait, signal))
        wait = min(wait * 2, _LONGEST_WAIT_MS)


def _decision_of(fate: Fate) -> _Decision | None:
    """A payment that landed and failed is as good as one that never can."""
    if fate == "open":
        return None
    if isinstance(fate, Landed) and fate.error is None:
        return _Decision("settled", fate.signature, fate.slot)
    return _Decision("unsettled")


def _close(
    context: PaymentContext, open_: OpenPayment, verdict: _Decision, emit: Emit
) -> Steps[None]:
    source = open_.payment["source"]
    stands = not open_.is_foreign or (yield from _is_up_to_date(context, open_))
    is_first = False

    def change(attempt: Attempt) -> Attempt:
        nonlocal is_first
        if attempt["state"] != "signed":
            return attempt
        is_first = True
        return _closed(attempt, open_.receipt, verdict, context.now())

    # What is not written down is not decided: it is asked again. What another process has decided
    # meanwhile is written already, and may have been before the tokens were held here.
    if stands:
        yield from save_attempt(context, open_, change, _ends_of(source, verdict))
    else:
        yield from _end_hold(context, open_, verdict)
        open_.attempt = change(open_.attempt)
    # It may have been taken off the known balance already, when its client closed.
    if verdict.state == "unsettled":
        yield from context.ledger.forget(source)
    # Several may have been told at once.
    if is_first:
        if verdict.state == "settled":
            yield from emit("payment.settled", receipt=open_.receipt)
        else:
            yield from emit("payment.unsettled", receipt=open_.receipt)


def _is_up_to_date(context: PaymentContext, open_: OpenPayment) -> Steps[bool]:
    """Takes over what others have written of an attempt since it was read.

    False if it is decided.
    """
    own = open_.attempt
    for attempt in (
        yield from context.journal.attempts(context.owner, state="signed", since=own["at"])
    ):
        if attempt["id"] != own["id"]:
            continue
        names = ("delivered", "receipt", "tellingAt", "toldAt", "doubt")
        news = {name: value for name, value in attempt.items() if name in names}
        open_.attempt = copy_of({**open_.attempt, **news})
        return True
    return False


def _closed(attempt: Attempt, receipt: dict[str, Any], verdict: _Decision, now: int) -> Attempt:
    """Caps over time count what was paid from ``now``, or from when it was signed if that is later.

    It is if the clock was set back since.
    """
    is_settled = verdict.state == "settled"
    fee = int(receipt["cost"]["networkFeeLamports"])
    after = {
        **receipt,
        "state": verdict.state,
        "cost": write(cost_for(attempt, fee, is_paid=is_settled)),
    }
    if is_settled:
        after["payment"] = {**receipt["payment"], "signature": verdict.signature}
    left_at = max(attempt["at"], now)
    return {**attempt, "state": verdict.state, "leftAt": left_at, "receipt": after}


def _ends_of(source: str, verdict: _Decision) -> Along:
    """What its end makes of the tokens that are held for it."""
    if verdict.state == "settled":
        return Along(spend=(source, verdict.slot))
    return Along(free=[source])


def _end_hold(context: PaymentContext, open_: OpenPayment, verdict: _Decision) -> Steps[None]:
    source, id_ = open_.payment["source"], open_.attempt["id"]
    if verdict.state == "settled":
        return context.ledger.spend(source, id_, verdict.slot)
    return context.ledger.release(source, id_)


def follow_in_background(context: PaymentContext, open_: OpenPayment, emit: Emit) -> Steps[None]:
    """The same as :func:`monitor_payment`, for those that do not wait for it."""
    yield from quiet(monitor_payment(context, open_, emit))
