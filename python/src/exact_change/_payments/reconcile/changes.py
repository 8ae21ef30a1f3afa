"""Reports once what happened to attempts that the client took up from earlier processes."""

from __future__ import annotations

from typing_extensions import Literal

from ..._journal.types import Attempt
from ..._kernel.task import Steps
from ..._policy.cost import LAMPORTS, cost_of
from ..._receipt import FreedCost, FreedReceipt, PaidSwap, Receipt, read_receipt
from ..context import PaymentContext
from ..costs import cost_for
from .swap_outcome import relay_fee_of

# The most freed attempts that are kept if the caller never asks for them.
_MOST_FREED = 1_000


def note_resumed(context: PaymentContext, attempt: Attempt) -> None:
    """Notes that the client took up an attempt, so that its end is reported."""
    context.recovery.open[attempt["id"]] = attempt["at"]


def note_freed(
    context: PaymentContext, attempt: Attempt, state: Literal["abandoned", "unpaid"]
) -> None:
    """Notes that an attempt was freed, if the client took it up."""
    open_, freed = context.recovery.open, context.recovery.freed
    id_ = attempt["id"]
    if id_ not in open_:
        return
    if state == "unpaid":
        del open_[id_]
    freed.pop(id_, None)
    freed[id_] = _freed_receipt(attempt, state)
    if len(freed) > _MOST_FREED:
        del freed[next(iter(freed))]


def take_changes(context: PaymentContext) -> Steps[list[Receipt | FreedReceipt]]:
    """Returns the attempts taken up that were decided or freed, each change once.

    It also returns changes that other clients and processes made.
    """
    open_, freed = context.recovery.open, context.recovery.freed
    times = [*open_.values(), *(receipt.at for receipt in freed.values())]
    if not times:
        return []
    decided: list[Receipt] = []
    signed: set[str] = set()
    for attempt in (yield from context.journal.attempts(context.owner, since=min(times))):
        if "receipt" not in attempt:
            continue
        signed.add(attempt["id"])
        if attempt["id"] in open_ and attempt["state"] != "signed":
            decided.append(read_receipt(attempt["receipt"]))
    for receipt in decided:
        open_.pop(receipt.id, None)
    # Leave out a freed attempt that was signed after all: it was no orphan, and has a receipt.
    unsigned = [receipt for receipt in freed.values() if receipt.id not in signed]
    freed.clear()
    return [*decided, *unsigned]


def _freed_receipt(attempt: Attempt, state: Literal["abandoned", "unpaid"]) -> FreedReceipt:
    cost = cost_for(attempt, 0, is_paid=False)
    lamports = str(cost_of(attempt, False).get(LAMPORTS, 0))
    receipt = FreedReceipt(
        attempt["id"],
        attempt["url"],
        attempt["method"],
        attempt["at"],
        state,
        FreedCost(lamports, cost.usd, cost.parts),
    )
    swap = attempt.get("swap")
    outcome = None if swap is None else swap.get("outcome")
    if swap is None or outcome is None or outcome["state"] != "confirmed":
        return receipt
    record = PaidSwap(
        swap["signature"],
        swap["inputMint"],
        outcome.get("inAmount", "0"),
        swap["outputMint"],
        outcome.get("outAmount", "0"),
        swap["provider"],
        relay_fee_of(swap),
    )
    return receipt._replace(swap=record)
