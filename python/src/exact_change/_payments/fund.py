"""Holds the tokens for a payment, and swaps first if there are too few."""

from __future__ import annotations

from typing import Callable, NamedTuple

from .._base.network import WSOL_MINT
from .._config.swap_request import ResolvedRequest
from .._events import Emit
from .._journal.balances import Reading, Taken
from .._journal.types import Hold
from .._kernel.signals import Signal, check
from .._kernel.steps import background, join, quiet, start
from .._kernel.task import Steps, Task
from .._solana.address import Address
from .._swap.types import SwapQuote
from ..errors import ExactChangeError, Moved, is_code
from .approval import Approval, no_longer_approved
from .candidates import concerns_candidate
from .choose import Choice
from .context import PaymentContext
from .find_swap import find_swap
from .funding import MAX_CANDIDATES
from .funds import Funding
from .landing import Watch, mint_lock
from .offer_accounts import OfferFacts, fresh_in, known_available, read_offer_accounts
from .reconcile.open_swaps import finish_open_swaps
from .reconcile.swap_end import Swapped
from .reservation import Reservation
from .run_swap import run_swap
from .short import short_of
from .swap_cost import SwapTaking, is_over_cap
from .swap_once import SwapTask, run_wrap

# The part that is tried next of what a swap brings that no cap had room for.
_LESS = 4
# One more if others took what was there before the swap had brought the rest.
_MAX_SWAPS = 2


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
        waiting = context.wallet.waiting
        waiting[offer.mint] = waiting.get(offer.mint, 0) + offer.amount
        task.on_counted()
        try:
            taken = yield from self._hold_now()
            if taken is not None:
                return HeldFunds(taken.before)
            if not context.config.auto_swap:
                raise short_of(context.owner, offer, facts)
            return (yield from self._swap_in_turn())
        finally:
            rest = waiting.get(offer.mint, 0) - offer.amount
            if rest > 0:
                waiting[offer.mint] = rest
            else:
                waiting.pop(offer.mint, None)

    def _swap_in_turn(self) -> Steps[HeldFunds]:
        """The call that swaps into this mint holds its lock.

        The others wait and mostly find enough afterwards.
        """
        context, mint = self._context, self._choice.offer.mint
        signals = [self._signal, context.closing]
        work: Task[HeldFunds] = yield from start(
            context.locks.hold([f"swap {mint}"], self._swap_and_hold, signals)
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

            swap = yield from self._swap_from_best(facts, on_confirmed)
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

    def _swap_from_best(
        self, facts: OfferFacts, on_confirmed: Callable[[], Steps[None]]
    ) -> Steps[Swapped]:
        """Swaps from the best token that there is for it, or from the next.

        If the fault is that token's alone.
        """
        offer = self._choice.offer
        excluded: frozenset[Address] = frozenset()
        reason: ExactChangeError | None = None
        # What the swap is to bring together with what is there; None for all that wait.
        needed: int | None = None
        while True:
            try:
                funding = yield from find_swap(
                    self._context, self._choice, facts, needed, excluded, self._signal
                )
            except ExactChangeError as error:
                # That nothing else is worth the difference says less than what was wrong with the
                # best.
                if reason is not None and is_code(error, "insufficient_funds"):
                    raise reason from reason.__cause__
                raise
            try:
                return (yield from self._swap_into(funding, on_confirmed))
            except ExactChangeError as error:
                # All that a swap takes counts against the caps of this payment, whatever else it is
                # for.
                is_for_more = funding.brings > offer.amount - facts.available
                if is_over_cap(error) and is_for_more and needed != offer.amount:
                    needed = max(offer.amount, self._less_than(facts, funding))
                    continue
                if not concerns_candidate(error):
                    raise
                reason = error if reason is None else reason
                excluded |= {funding.input_mint}
                if len(excluded) >= MAX_CANDIDATES:
                    raise reason from reason.__cause__

    def _less_than(self, facts: OfferFacts, funding: Funding) -> int:
        """What to look for after no cap had room for a swap: less in steps, as each has a fee.

        No more than the payment needs if each step would be asked of a person.
        """
        if self._context.config.policy.approve is not None:
            return 0
        return facts.available + funding.brings // _LESS

    def _swap_into(
        self, funding: Funding, on_confirmed: Callable[[], Steps[None]]
    ) -> Steps[Swapped]:
        context, reservation = self._context, self._task.reservation
        watch = Watch(
            self._task.emit,
            self._signal,
            reservation.record_swap,
            reservation.end_swap,
            on_confirmed,
        )

        def on_planned(taking: SwapTaking) -> Steps[None]:
            return reservation.plan_swap(taking, self._signal)

        is_approved = yield from self._task.approval.ask(funding)
        if funding.quote is None:
            return (yield from run_wrap(context, funding.max_in, watch, on_planned))
        task = SwapTask(
            _request_for(funding.quote),
            watch,
            funding.quote,
            funding.built,
            is_approved,
            # Quoted anew, it may take no more than what was shown.
            funding.max_in if is_approved else funding.available,
            self._choice.offer.mint == WSOL_MINT,
            on_planned,
            funding.relay,
        )
        try:
            return (yield from run_swap(context, task))
        except ExactChangeError as error:
            if is_approved and is_code(error, "insufficient_funds"):
                raise no_longer_approved(error)
            raise

    def _hold_now(self) -> Steps[Taken | None]:
        """Takes the tokens if they are there.

        No swap runs on the account meanwhile: its guard must find what it counted on.
        """
        context, mint = self._context, self._choice.offer.mint

        def take() -> Steps[Taken | None]:
            if (yield from known_available(context, self._choice.facts.source)) is None:
                yield from self._fresh_facts()
            check(self._signal)
            return (yield from self._take_known())

        return context.locks.hold([mint_lock(mint)], take, [self._signal, context.closing])

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


def _request_for(quote: SwapQuote) -> ResolvedRequest:
    """What is needed; a service may have claimed to bring more."""
    mints = quote.input_mint, quote.output_mint
    return ResolvedRequest(*mints, quote.min_out, "ExactOut", quote.slippage_bps)
