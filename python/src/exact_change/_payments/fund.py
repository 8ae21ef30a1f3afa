"""Holds the tokens for a payment, after a swap if the wallet has too few."""

from __future__ import annotations

import functools
from typing import Callable, NamedTuple

from .._events import Emit
from .._journal.balances import Reading, Taken
from .._journal.types import Hold
from .._kernel.hosts import this_host
from .._kernel.signals import Signal, check
from .._kernel.steps import background, join, quiet, start
from .._kernel.task import Steps, Task
from .._solana.address import Address
from ..errors import ExactChangeError, Moved
from .approval import Approval
from .best_swap import SwapOnRecord, Wanted, swap_from_best
from .choose import Choice
from .context import PaymentContext
from .find_swap import find_swap
from .funds import Funding
from .landing import mint_lock, swap_lock
from .offer_accounts import OfferFacts, fresh_in, known_available, read_offer_accounts
from .once_topped_up import work_once_topped_up
from .reconcile.open_swaps import finish_open_swaps
from .reconcile.swap_end import Swapped
from .reservation import Reservation
from .short import too_little_held

# The second swap helps if other payments took this payment's tokens during the first swap.
_MAX_SWAPS = 2

# The most tries to hold tokens: a known balance may expire, or be forgotten, between read and hold.
_MOST_LOOKS = 5


class HeldFunds(NamedTuple):
    # The last balance of the account that the chain showed before the payment.
    before: Reading | None
    # The swap that brought the tokens, if there was one.
    swap: Swapped | None = None


class FundTask(NamedTuple):
    # Id of the attempt.
    id: str
    emit: Emit
    signal: Signal | None
    # Called for each swap that lands, even if the payment fails.
    moved: Callable[[Moved], None]
    # Counts and records the swaps.
    reservation: Reservation
    # Asks whether the swap and the payment may be signed.
    approval: Approval
    # Called when the payment counts among those that wait for the token, or needs no swap.
    on_counted: Callable[[], None]
    # The tokens, if they are held for the payment already.
    taken: Taken | None = None


def fund_payment(context: PaymentContext, choice: Choice, task: FundTask) -> Steps[HeldFunds]:
    """Holds the tokens for a payment; one swap serves all payments that wait for a pinned mint."""
    return _Fund(context, choice, task).run()


def hold_for(context: PaymentContext, choice: Choice) -> Hold:
    """Returns the hold to take when the payment is reserved.

    It takes the mint's lock, so that no swap runs on the account: a swap's guard checks its
    balance.
    """
    return Hold(choice.facts.source, fresh_in(context), mint_lock(choice.offer.mint))


class _Fund:
    def __init__(self, context: PaymentContext, choice: Choice, task: FundTask) -> None:
        self._context = context
        self._choice = choice
        self._task = task
        self._signal = task.signal

    def run(self) -> Steps[HeldFunds]:
        context, task = self._context, self._task
        offer, facts = self._choice.offer, self._choice.facts
        yield from task.emit(
            "balance.checked",
            mint=offer.mint,
            available=str(facts.available),
            required=str(offer.amount),
            missing=str(max(0, offer.amount - facts.available)),
        )
        if task.taken is not None:
            task.on_counted()
            return HeldFunds(task.taken.before)
        # Enter before the first wait, so that a swap of another call covers this payment too.
        host = yield from this_host()
        leave = context.wallet.needed_by_mint.enter(host, offer.mint, offer.amount)
        task.on_counted()
        try:
            taken = yield from self._hold_now()
            if taken is not None:
                return HeldFunds(taken.before)
            if not context.config.auto_swap:
                # Another process may have ended the attempt, which can hold no tokens then.
                yield from context.journal.put(task.reservation.attempt)
                raise too_little_held(context.owner, offer, facts, auto_swap=False)
            return (yield from self._swap_in_turn())
        finally:
            leave()

    def _swap_in_turn(self) -> Steps[HeldFunds]:
        """Swaps under the lock of swaps into this mint.

        Other calls wait for the lock, and then mostly find enough tokens. While a call waits for a
        top-up, it does not hold the lock.
        """
        context, mint = self._context, self._choice.offer.mint
        signals = [self._signal, context.closing]

        def swap() -> Steps[HeldFunds]:
            return context.locks.hold([swap_lock(mint)], self._swap_and_hold, signals)

        work: Task[HeldFunds] = yield from start(work_once_topped_up(context, swap, self._signal))
        try:
            return (yield from join(work, self._signal))
        except Exception:
            # The call has ended, so release the tokens that the work may still hold for it.
            yield from background(self._release_after(work))
            raise

    def _release_after(self, work: Task[HeldFunds]) -> Steps[None]:
        held = yield from quiet(join(work))
        if held is not None:
            source = self._choice.facts.source
            yield from quiet(self._context.ledger.release(source, self._task.id))

    def _swap_and_hold(self) -> Steps[HeldFunds]:
        context, task, signal = self._context, self._task, self._signal
        source, offer = self._choice.facts.source, self._choice.offer
        for swaps in range(1, _MAX_SWAPS + 1):
            check(signal)
            earlier = yield from finish_open_swaps(
                context, offer.mint, task.emit, signal, task.moved
            )
            facts = yield from self._fresh_facts()
            taken = yield from self._hold_now()
            if taken is not None:
                return HeldFunds(taken.before, earlier)
            confirmed = _Confirmed()

            def on_confirmed(into: _Confirmed = confirmed) -> Steps[None]:
                # Hold the tokens while the swap has the account's lock. Later, calls that wait for
                # the lock come first. The swap has landed, so an error here must not fail it; the
                # hold is tried again below.
                if signal is None or not signal.aborted:
                    into.taken = yield from quiet(self._take_known())

            wanted = Wanted(offer.mint, offer.amount, functools.partial(self._find, facts))
            on_record = SwapOnRecord(
                task.emit, signal, task.reservation, task.approval, on_confirmed
            )
            swap = yield from swap_from_best(context, wanted, facts, on_record)
            task.moved(Moved("swap", *swap.record[:5]))
            taken = confirmed.taken
            if taken is None:
                taken = yield from self._hold_now()
            if taken is None:
                # A failing journal may have kept the balance from before the swap.
                yield from context.ledger.forget(source)
                taken = yield from self._hold_now()
            if taken is not None:
                return HeldFunds(taken.before, swap)
            if swaps == _MAX_SWAPS:
                break
        # The node confirmed the swap, so another program must have spent the tokens.
        left = yield from self._fresh_facts()
        raise too_little_held(context.owner, offer, left, auto_swap=True)

    def _find(
        self, facts: OfferFacts, needed: int | None, excluded: frozenset[Address]
    ) -> Steps[Funding]:
        return find_swap(self._context, self._choice, facts, needed, excluded, self._signal)

    def _hold_now(self) -> Steps[Taken | None]:
        """Holds the tokens if the account has enough, else returns None.

        It takes the mint's lock, so that no swap runs on the account: a swap's guard checks the
        balance.
        """
        context, offer = self._context, self._choice.offer

        def take() -> Steps[Taken | None]:
            for _ in range(_MOST_LOOKS):
                known = yield from known_available(context, self._choice.facts.source)
                if known is None:
                    yield from self._fresh_facts()
                check(self._signal)
                taken = yield from self._take_known()
                if taken is not None:
                    return taken
                if known is not None and known < offer.amount:
                    return None
            return None

        return context.locks.hold([mint_lock(offer.mint)], take, [self._signal, context.closing])

    def _take_known(self) -> Steps[Taken | None]:
        context, choice = self._context, self._choice
        fresh = fresh_in(context)
        return context.ledger.take(choice.facts.source, self._task.id, choice.offer.amount, fresh)

    def _fresh_facts(self) -> Steps[OfferFacts]:
        (read,) = yield from read_offer_accounts(self._context, [self._choice.offer], self._signal)
        if isinstance(read.facts, ExactChangeError):
            raise read.facts
        return read.facts


class _Confirmed:
    """The tokens that `on_confirmed` held, if it could."""

    taken: Taken | None = None
