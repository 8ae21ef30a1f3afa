"""Keeps a float of a dollar token by swaps between calls."""

from __future__ import annotations

from .._base.backoff import with_jitter
from .._base.runtime import since_then
from .._events import Emit
from .._kernel.steps import all_of, quiet, start, until_aborted
from .._kernel.task import Steps
from .._policy.top_up import TopUp
from .._solana.address import Address
from .._solana.tokens import associated_token_address
from ..errors import ExactChangeError
from .approval import Approval
from .best_swap import SwapOnRecord, Wanted, swap_from_best
from .context import PaymentContext
from .counted_swap import swap_counted
from .funding import FundingOptions, find_funding
from .funds import Funding
from .holdings import read_holdings
from .landing import swap_lock
from .offer_accounts import OfferFacts, known_available
from .once_topped_up import top_up_url
from .plan import Place, Plan, plan_of_swap
from .prices import at_par
from .reconcile.open_swaps import finish_open_swaps
from .reconcile.resume import resume_once
from .reconcile.swap_end import Swapped
from .reservation import Reservation

# Pause after a top-up that failed or brought too little, because its reason mostly lasts. It
# doubles with each failure.
_FIRST_REST_MS = 60_000
_LONGEST_REST_MS = 3_600_000


def keep_topped_up(context: PaymentContext) -> Steps[None]:
    """Starts the swap of ``policy.top_up`` in the background if the wallet may hold too little.

    It starts if the known balance is too small or too old. Only one top-up runs at a time, and none
    starts for a while after a top-up that did not bring enough. Never raises.
    """
    rule, state = context.config.policy.top_up, context.memory.top_up
    if rule is None or state.running is not None or context.closing.aborted:
        return
    if since_then(context.config.runtime, state.failed_at) < state.rest_ms:
        return

    def run() -> Steps[None]:
        # Ignore a failure of the journal, which the next payment reports.
        known = yield from quiet(known_available(context, _source_of(context, rule)), rule.below)
        if known is None or known < rule.below:
            yield from _run(context, rule)

    state.running = running = yield from start(run())

    def ended() -> None:
        state.running = None

    running.then(ended)


def _source_of(context: PaymentContext, rule: TopUp) -> Address:
    mint, program = rule.pinned.mint, rule.pinned.token_program
    return associated_token_address(context.config.wallet, mint, program)


def _run(context: PaymentContext, rule: TopUp) -> Steps[None]:
    state, runtime = context.memory.top_up, context.config.runtime
    id_ = context.new_id()
    emit = context.events.emitter(id_)
    why, words = "brought too little", ""
    try:
        is_enough = yield from _top_up(context, rule, id_, emit)
    except Exception as error:
        is_enough = False
        if isinstance(error, ExactChangeError):
            why, words = f"failed with {error.code}", f" {error.message}"
    if context.closing.aborted:
        return
    state.failures = 0 if is_enough else state.failures + 1
    if is_enough:
        return
    pause_ms = min(_FIRST_REST_MS * 2 ** (state.failures - 1), _LONGEST_REST_MS)
    state.failed_at, state.rest_ms = context.now(), with_jitter(pause_ms, runtime)
    symbol, seconds = rule.pinned.symbol, pause_ms // 1000
    message = f"The top-up of {symbol} {why}, and none is tried for {seconds} s.{words}"
    yield from emit("warning", message=message)


def _top_up(context: PaymentContext, rule: TopUp, id_: str, emit: Emit) -> Steps[bool]:
    """Makes one swap up to the rule's balance, if the wallet holds too little.

    The swap is smaller if it does not fit into a cap. It runs under the lock of swaps into this
    mint, which all processes share: each swap sees the output of the one before, and payments that
    lack the token wait for it. Returns whether the wallet then holds enough.
    """
    pinned, below, to = rule
    signal, source = context.closing, _source_of(context, rule)

    def bring() -> Steps[bool]:
        yield from finish_open_swaps(context, pinned.mint, emit, signal, lambda _moved: None)
        available = yield from known_available(context, source)
        if available is None:
            yield from read_holdings(context, [pinned], signal)
            available = (yield from known_available(context, source)) or 0
        if available >= below:
            return True
        # A top-up has no payee, so its destination is the wallet's own account.
        facts = OfferFacts(pinned.token_program, pinned.decimals, source, source, available)

        def find(needed: int | None, excluded: frozenset[Address]) -> Steps[Funding]:
            options = FundingOptions(excluded, exact=True, is_beside=True)
            amount = to if needed is None else needed
            return find_funding(context, pinned, facts, amount, options, signal)

        smallest = at_par(pinned.decimals).amount_of(context.config.policy.min_swap)
        wanted = Wanted(pinned.mint, min(to, available + smallest), find, is_beside=True)
        url = top_up_url(pinned.mint)
        place = Place(url, "SWAP", 0, "")

        def swap(reservation: Reservation) -> Steps[Swapped]:
            def plan_for(funding: Funding | None) -> Steps[Plan]:
                attempt = reservation.attempt
                return plan_of_swap(context, place, attempt, funding, signal, is_reserved=True)

            approval = Approval(context, plan_for, signal)
            on_record = SwapOnRecord(emit, signal, reservation, approval)
            return swap_from_best(context, wanted, facts, on_record)

        swapped = yield from swap_counted(context, id_, url, pinned.mint, swap)
        return available + int(swapped.record.out_amount) >= below

    yield from until_aborted(all_of([context.ready(signal), resume_once(context)]), signal)
    return (yield from context.locks.hold([swap_lock(pinned.mint)], bring, [signal]))
