"""Holds the tokens for a payment, and swaps first if there are too few."""

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
from .reconcile.open_swaps import finish_open_swaps
from .reconcile.swap_end import Swapped
from .reservation import Reservation
from .short import short_of

# One more if others took what was there before the swap had brought the rest.
_MAX_SWAPS = 2

# A balance may grow old, or be forgotten, between a look and the next: it is looked at again.
_MOST_LOOKS = 5


class HeldFunds(NamedTuple):
    """Tokens that are held for a payment."""

    # What the chain showed of the account last, before the attempt takes from it.
    before: Reading | None
    # The swap that brought them, if one had to.
    swap: Swapped | None = None


class FundTask(NamedTuple):
    """The payment that the tokens are for."""

    id: str
    emit: Emit
    signal: Signal | None
    # Told of what lands, also if this fails.
    moved: Callable[[Moved], None]
    # Counts and records the swaps.
    reservation: Reservation
    # Asks whether the swap and the payment may be signed.
    approval: Approval
    # Called once what the payment needs is counted among what waits.
    on_counted: Callable[[], None]
    # The tokens, if they are held for it already.
    taken: Taken | None = None


def fund_payment(context: PaymentContext, choice: Choice, task: FundTask) -> Steps[HeldFunds]:
    """One swap serves all payments in a pinned mint that wait for it."""
    return _Fund(context, choice, task).run()


def hold_for(context: PaymentContext, choice: Choice) -> Hold:
    """The tokens for a payment, to be held when it is reserved.

    No swap runs on the account meanwhile: its guard must find what it counted on.
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
        # Counted before the first wait: a call that looks for a swap meanwhile lets it cover this
        # payment too.
        host = yield from this_host()
        leave = context.wallet.waiting.enter(host, offer.mint, offer.amount)
        task.on_counted()
        try:
            taken = yield from self._hold_now()
            if taken is not None:
                return HeldFunds(taken.before)
            if not context.config.auto_swap:
                raise short_of(context.owner, offer, facts)
            return (yield from self._swap_in_turn())
        finally:
            leave()

    def _swap_in_turn(self) -> Steps[HeldFunds]:
        """The call that swaps into this mint holds its lock.

        The others wait and mostly find enough afterwards.
        """
        context, mint = self._context, self._choice.offer.mint
        signals = [self._signal, context.closing]
        work: Task[HeldFunds] = yield from start(
            context.locks.hold([swap_lock(mint)], self._swap_and_hold, signals)
        )
        try:
            return (yield from join(work, self._signal))
        except Exception:
            # No call is left to spend what it may come to hold.
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
            # What it brought is not in what was read before it.
            if earlier.is_any:
                yield from context.ledger.forget(source)
            facts = yield from self._fresh_facts()
            taken = yield from self._hold_now()
            if taken is not None:
                return HeldFunds(taken.before, earlier.swap)
            confirmed = _Confirmed()

            def on_confirmed(into: _Confirmed = confirmed) -> Steps[None]:
                # Before another call can: those that wait for the account to be free come first
                # once the swap lets go of it. The swap has landed, whatever becomes of the hold: it
                # is tried once more below.
                if signal is None or not signal.aborted:
                    into.taken = yield from quiet(self._take_known())

            wanted = Wanted(offer.mint, offer.amount, functools.partial(self._find, facts))
            watch = SwapOnRecord(task.emit, signal, task.reservation, task.approval, on_confirmed)
            swap = yield from swap_from_best(context, wanted, facts, watch)
            task.moved(Moved("swap", *swap.record[:5]))
            taken = confirmed.taken
            if taken is None:
                taken = yield from self._hold_now()
            if taken is not None:
                return HeldFunds(taken.before, swap)
            if swaps == _MAX_SWAPS:
                break
        # Confirmed on our node, so it was there: another program spends from this wallet.
        raise short_of(context.owner, offer, (yield from self._fresh_facts()))

    def _find(
        self, facts: OfferFacts, needed: int | None, excluded: frozenset[Address]
    ) -> Steps[Funding]:
        return find_swap(self._context, self._choice, facts, needed, excluded, self._signal)

    def _hold_now(self) -> Steps[Taken | None]:
        """Takes the tokens if they are there.

        No swap runs on the account meanwhile: its guard must find what it counted on.
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
        (one,) = yield from read_offer_accounts(self._context, [self._choice.offer], self._signal)
        if isinstance(one.facts, ExactChangeError):
            raise one.facts
        return one.facts


class _Confirmed:
    """The hold that was taken as the swap was confirmed."""

    taken: Taken | None = None
