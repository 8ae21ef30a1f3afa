"""The record of an attempt from its claim to its signed payment, as it counts against caps."""

from __future__ import annotations

from typing import Callable, TypeVar

from .._journal.attempts import is_made
from .._journal.balances import Taken
from .._journal.registry import OpenPayment
from .._journal.types import (
    Along,
    Attempt,
    CapBlock,
    Hold,
    KeyTaken,
    Reserved,
    SignedPayment,
    SignedSwap,
    SwapOutcome,
)
from .._kernel.signals import Signal
from .._kernel.steps import quiet
from .._kernel.task import Steps
from .._policy.caps import caps_for, check_payment, over_budget, taken_of
from .._policy.cost import NO_SWAP_COST
from .._receipt import Cost, Receipt, write
from ..errors import is_code
from .claims import body_claim, drop_claims, forget_claims, take_claims
from .context import PaymentContext
from .costs import cost_for_swap
from .reconcile.earlier_errors import in_progress
from .reconcile.orphans import end_unpaid
from .reconcile.resume import abandon, free_orphaned_budget, resume_with_next_call
from .swap_cost import SwapTaking, swap_bound, swap_cost_after, with_swap_cost, without_bound

T = TypeVar("T")


class Reservation:
    """An attempt before it is signed: it counts against the caps."""

    def __init__(self, context: PaymentContext, reserved: Attempt) -> None:
        # The current attempt, with the cost of its swaps so far.
        self.attempt: Attempt = reserved
        self._context = context
        self._price = reserved
        self._is_reserved = False

    def reserve(self, hold: Hold | None = None) -> Steps[Taken | None]:
        """Claims the attempt for this call, and reserves its price.

        While it is claimed, no process takes it for an orphan. ``hold``: tokens to hold in the same
        step. Returns the tokens that were held. Raises ``budget_exhausted``, or
        ``payment_in_progress`` if another call has the key.
        """
        context, attempt = self._context, self.attempt
        id_ = attempt["id"]
        caps = caps_for(context.config.policy.caps.caps, attempt)
        along = Along(claim=[id_])

        def ask() -> Steps[Reserved]:
            reserving = context.journal.reserve(attempt, caps, along, hold)
            return (yield from take_claims(context, along.claim, reserving))

        result = yield from _without_orphans(context, ask, is_made)
        if isinstance(result, KeyTaken):
            raise in_progress({})
        if isinstance(result, CapBlock):
            raise over_budget(result.cap, result.used, taken_of(result.cap, attempt))
        self._is_reserved = True
        return result

    def plan_swap(self, taking: SwapTaking, signal: Signal | None) -> Steps[None]:
        """Reserves the bound of a swap before it is signed.

        Raises ``budget_exhausted`` or ``amount_over_limit``.
        """
        context, policy = self._context, self._context.config.policy
        swapping = yield from swap_bound(context, taking, self._price, signal)
        # This write also records the outcome of the earlier swap, before the new swap replaces it.
        planned: Attempt = {**self.attempt, "swapping": swapping, "at": context.now()}
        refusal = check_payment(policy.caps, planned)
        if refusal is not None:
            raise refusal
        caps = caps_for(policy.caps.caps, planned)
        block = yield from _without_orphans(
            context, lambda: context.journal.raise_(planned, caps), lambda block: block is None
        )
        if block is not None:
            raise over_budget(block.cap, block.used, taken_of(block.cap, planned))
        self.attempt = planned

    def record_swap(self, swap: SignedSwap) -> Steps[None]:
        """Puts a signed swap on record before it is sent."""
        # Set it before the write: if the call gives up meanwhile, its rollback must know the swap.
        self.attempt = {**self.attempt, "swap": swap}
        try:
            yield from self._context.journal.put(self.attempt)
        except Exception:
            # The swap is not sent. The write may have landed anyway, so mark the swap as failed:
            # then no later call sends it.
            lost: SwapOutcome = {"state": "failed", "code": "journal_unavailable"}
            self.attempt = {**self.attempt, "swap": {**swap, "outcome": lost}}
            raise

    def end_swap(self, outcome: SwapOutcome) -> Cost:
        """Notes the outcome of the last signed swap, and returns its cost.

        The next write of the attempt puts it on record.
        """
        cost = swap_cost_after(self.attempt, outcome) or NO_SWAP_COST
        self.attempt = with_swap_cost(self.attempt, outcome)
        return cost_for_swap(cost, int(outcome.get("feeLamports", "0")))

    def sign(self, payment: SignedPayment, receipt: Receipt) -> Steps[OpenPayment]:
        """Puts the signed payment on record before it is sent, and claims its answer.

        Raises if another process took the attempt for an orphan and freed its budget.
        """
        # Caps over time count the payment from now on, even if a swap or an approval took long.
        signed: Attempt = {
            **without_bound(self.attempt),
            "state": "signed",
            "at": self._context.now(),
            "payment": payment,
            "receipt": write(receipt),
        }
        claim = [body_claim(signed["id"])]
        putting = self._context.journal.put(signed, Along(claim=claim))
        yield from take_claims(self._context, claim, putting)
        return OpenPayment(signed)

    def roll_back(self, source: str | None, reason: BaseException | None) -> Steps[None]:
        """Frees the tokens, the price, the key and the claim, because no payment was signed.

        ``source``: the token account of the held tokens, if any. Never raises.
        """
        context, id_ = self._context, self.attempt["id"]
        drop = [id_, body_claim(id_)]
        is_unwritten = is_code(reason, "journal_unavailable")
        # If the journal failed, this rollback may fail too. The next call looks for orphans, and
        # frees what is left.
        if is_unwritten:
            resume_with_next_call(context)
        # If the journal failed, the attempt may be on record without our knowledge.
        if not self._is_reserved and not is_unwritten:
            forget_claims(context, drop)
            return
        free = [] if source is None else [source]
        try:
            yield from _give_up(context, self.attempt, Along(drop=drop, free=free))
            forget_claims(context, drop)
            return
        except Exception:
            yield from quiet(drop_claims(context, drop))
            # Look for orphans only now: while it is claimed, the attempt is not an orphan.
            resume_with_next_call(context)


def _without_orphans(
    context: PaymentContext, ask: Callable[[], Steps[T]], is_done: Callable[[T], bool]
) -> Steps[T]:
    """Asks the journal; if it refuses, frees orphaned attempts and asks once more.

    Orphaned attempts must not consume budget or block a key.
    """
    result = yield from ask()
    if not is_done(result) and (yield from free_orphaned_budget(context)):
        result = yield from ask()
    return result


def _give_up(context: PaymentContext, attempt: Attempt, along: Along) -> Steps[None]:
    """Frees the price and the key of an attempt that signed no payment.

    A swap that may still land stays on record, and so does the cost of swaps.
    """
    swap = attempt.get("swap")
    if swap is None or "outcome" in swap:
        yield from end_unpaid(context, without_bound(attempt), along)
    else:
        yield from abandon(context, attempt, along)
