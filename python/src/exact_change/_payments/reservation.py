"""An attempt from its claim to its signed payment, with all that counts for it against caps."""

from __future__ import annotations

from typing import Callable, TypeVar

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
from .claims import body_claim, drop_claims, note_dropped, take_claims
from .context import PaymentContext
from .costs import cost_for_swap
from .reconcile.earlier_errors import in_progress
from .reconcile.orphans import end_unpaid
from .reconcile.resume import abandon, free_orphaned_budget, resume_with_next_call
from .swap_cost import SwapTaking, swap_bound, swap_cost_after, with_swap_cost, without_bound

T = TypeVar("T")


class Reservation:
    """What is on record of a payment before it is signed."""

    def __init__(self, context: PaymentContext, reserved: Attempt) -> None:
        # As it stands, with what its swaps have cost.
        self.attempt: Attempt = reserved
        self._context = context
        self._price = reserved
        self._is_reserved = False

    def reserve(self, hold: Hold | None = None) -> Steps[Taken | None]:
        """Claims it for this call, and reserves its price.

        Until its answer is there, no process takes it for an orphan. ``hold``: what to hold for it,
        if that takes no step of its own. Returns what was taken. Raises ``budget_exhausted``, or
        ``payment_in_progress`` if another call has its key.
        """
        context, attempt = self._context, self.attempt
        id_ = attempt["id"]
        caps = caps_for(context.config.policy.caps.caps, attempt)
        along = Along(claim=[id_])

        def ask() -> Steps[Reserved]:
            reserving = context.journal.reserve(attempt, caps, along, hold)
            return (yield from take_claims(context, along.claim, reserving))

        def is_made(result: Reserved) -> bool:
            return result is None or isinstance(result, Taken)

        done = yield from _without_orphans(context, ask, is_made)
        if isinstance(done, KeyTaken):
            raise in_progress({})
        if isinstance(done, CapBlock):
            raise over_budget(done.cap, done.used, taken_of(done.cap, attempt))
        self._is_reserved = True
        return done

    def plan_swap(self, taking: SwapTaking, signal: Signal | None) -> Steps[None]:
        """Reserves what a swap takes at most, before it is signed.

        Raises ``budget_exhausted`` or ``amount_over_limit``.
        """
        context, policy = self._context, self._context.config.policy
        swapping = yield from swap_bound(context, taking, self._price, signal)
        # What became of the one before goes on record with it, before another takes its place.
        following: Attempt = {**self.attempt, "swapping": swapping, "at": context.now()}
        refusal = check_payment(policy.caps, following)
        if refusal is not None:
            raise refusal
        caps = caps_for(policy.caps.caps, following)
        refused = yield from _without_orphans(
            context, lambda: context.journal.raise_(following, caps), lambda block: block is None
        )
        if refused is not None:
            raise over_budget(refused.cap, refused.used, taken_of(refused.cap, following))
        self.attempt = following

    def record_swap(self, swap: SignedSwap) -> Steps[None]:
        """Puts a signed swap on record, before it leaves."""
        # Before it is written: a call that gives up meanwhile must know of it.
        self.attempt = {**self.attempt, "swap": swap}
        try:
            yield from self._context.journal.put(self.attempt)
        except Exception:
            # It does not leave now, and so it must not later, should it be on record all the same.
            lost: SwapOutcome = {"state": "failed", "code": "journal_unavailable"}
            self.attempt = {**self.attempt, "swap": {**swap, "outcome": lost}}
            raise

    def end_swap(self, outcome: SwapOutcome) -> Cost:
        """Takes down what became of the swap that was signed last, and says what it cost.

        It goes on record with the next write.
        """
        cost = swap_cost_after(self.attempt, outcome) or NO_SWAP_COST
        self.attempt = with_swap_cost(self.attempt, outcome)
        return cost_for_swap(cost, int(outcome.get("feeLamports", "0")))

    def sign(self, payment: SignedPayment, receipt: Receipt) -> Steps[OpenPayment]:
        """Puts the signed payment on record, before it leaves, and claims its answer.

        Raises if another process took the attempt for an orphan and freed its budget.
        """
        # It is spent from now on, however long it waited for a swap or an approval.
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

    def roll_back(self, source: str | None, reason: Exception | None) -> Steps[None]:
        """Frees the tokens, the price, the key and the claim, for no payment was signed.

        ``source``: the token account that the payment would have left from, if one was held. Never
        raises.
        """
        context, id_ = self._context, self.attempt["id"]
        drop = [id_, body_claim(id_)]
        is_unwritten = is_code(reason, "journal_unavailable")
        # What could not be undone now is freed with all other orphans, which are looked for again;
        # the reason of the failure says more.
        if is_unwritten:
            resume_with_next_call(context)
        # One whose answer was lost may be on record.
        if not self._is_reserved and not is_unwritten:
            note_dropped(context, drop)
            return
        free = [] if source is None else [source]
        try:
            yield from _give_up(context, self.attempt, Along(drop=drop, free=free))
            note_dropped(context, drop)
            return
        except Exception:
            yield from quiet(drop_claims(context, drop))
            # Before, the next call would have taken it for one at work, and left it.
            resume_with_next_call(context)


def _without_orphans(
    context: PaymentContext, ask: Callable[[], Steps[T]], is_done: Callable[[T], bool]
) -> Steps[T]:
    """Orphaned attempts must not consume budget or block a key.

    They are freed, and the journal is asked once more.
    """
    result = yield from ask()
    if not is_done(result) and (yield from free_orphaned_budget(context)):
        result = yield from ask()
    return result


def _give_up(context: PaymentContext, attempt: Attempt, along: Along) -> Steps[None]:
    """Frees the price and the key: no payment was signed.

    A swap that may still land stays on record, and so does what swaps have cost.
    """
    swap = attempt.get("swap")
    if swap is None or "outcome" in swap:
        yield from end_unpaid(context, without_bound(attempt), along)
    else:
        yield from abandon(context, attempt, along)
