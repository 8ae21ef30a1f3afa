"""What became of attempts that were taken up, to be told once."""

from __future__ import annotations

from typing_extensions import Literal

from ..._journal.types import Attempt
from ..._kernel.task import Steps
from ..._policy.cost import LAMPORTS, cost_of
from ..._receipt import FreedCost, FreedReceipt, PaidSwap, Receipt, read_receipt
from ..context import PaymentContext
from ..costs import cost_for
from .swap_outcome import relay_fee_of

# Of a client that is never asked.
_MOST_FREED = 1_000


def note_resumed(context: PaymentContext, attempt: Attempt) -> None:
    """Takes down that a context has taken up an attempt: what becomes of it is to be told."""
    context.recovery.open[attempt["id"]] = attempt["at"]


def note_freed(
    context: PaymentContext, attempt: Attempt, state: Literal["abandoned", "unpaid"]
) -> None:
    """Takes down that an attempt was freed, if it is one that was taken up."""
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
    """What was decided or freed of all that was taken up, each change once.

    Whatever in this process, or in another, found out.
    """
    open_, freed = context.recovery.open, context.recovery.freed
    moments = [*open_.values(), *(one.at for one in freed.values())]
    if not moments:
        return []
    decided: list[Receipt] = []
    signed: set[str] = set()
    for attempt in (yield from context.journal.attempts(context.owner, since=min(moments))):
        if "receipt" not in attempt:
            continue
        signed.add(attempt["id"])
        if attempt["id"] in open_ and attempt["state"] != "signed":
            decided.append(read_receipt(attempt["receipt"]))
    for receipt in decided:
        open_.pop(receipt.id, None)
    # One that was taken for an orphan and went on has its receipt.
    given = [one for one in freed.values() if one.id not in signed]
    freed.clear()
    return [*decided, *given]


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
