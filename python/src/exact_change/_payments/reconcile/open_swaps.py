"""Finishes earlier swaps into a mint."""

from __future__ import annotations

from typing import Callable

from ..._base.runtime import since_then
from ..._events import Emit
from ..._journal.types import SignedSwap, SwapOutcome
from ..._kernel.signals import Signal, check
from ..._kernel.steps import until_aborted
from ..._kernel.task import Steps
from ..._solana.address import Address
from ..._solana.confirm import Landing
from ...errors import ExactChangeError, Moved, failure
from ..context import PaymentContext
from ..landing import LAMPORTS_LOCK, mint_lock
from ..swap_cost import without_bound
from .forgotten import is_forgotten
from .orphans import end_decided, end_unpaid, release_orphans
from .sent import sent_swap
from .swap_end import SwapEnd, Swapped, ask_swap, end_of_swap, land_swap
from .swap_outcome import forget_outdated, read_after

# Milliseconds for which nodes are asked for the transaction of a confirmed swap. Without it, the
# swap costs its whole bound.
_UNSHOWN_MS = 600_000


def finish_open_swaps(
    context: PaymentContext,
    mint: Address,
    emit: Emit,
    signal: Signal | None,
    moved: Callable[[Moved], None],
) -> Steps[Swapped | None]:
    """Sends earlier signed swaps into a mint again until the chain has decided.

    Returns the last swap that succeeded and that a node shows.

    Such a swap is left if its attempt failed or its process ended. It may still bring the tokens,
    and a new swap beside it would swap twice for one purchase. If the policy has ``approve``, it is
    not sent again, because the caller may have refused it; the chain is only asked. A balance from
    before a decided swap could cause a second swap too, so such balances are forgotten. Raises
    ``swap_uncertain`` if no node tells the outcome.
    """
    # First free orphans, so that swaps of processes that ended meanwhile are found too.
    yield from release_orphans(context)
    yield from forget_outdated(context)
    abandoned = yield from context.journal.attempts(context.owner, state="abandoned")
    last: Swapped | None = None
    for attempt in [attempt for attempt in abandoned if attempt["mint"] == mint]:
        swap = attempt.get("swap")
        # Never send a decided swap: if its record failed, it was marked as failed and not sent.
        if swap is None or "outcome" in swap:
            yield from end_unpaid(context, without_bound(attempt))
            continue
        # To send a swap that no node remembers would never come to an end.
        if (yield from _is_forgotten_swap(context, attempt["at"], swap)):
            outcome = yield from decided_outcome(context, attempt["at"], swap)
            if outcome is not None:
                yield from end_decided(context, attempt, outcome)
            continue
        end = yield from _finish(context, mint, swap, emit, signal, moved)
        if end.swapped is not None and end.landed is not None:
            last = end.swapped
        outcome = _outcome_to_record(context, attempt["at"], end)
        if outcome is not None:
            yield from end_decided(context, attempt, outcome)
    return last


def decided_outcome(
    context: PaymentContext, at: int, swap: SignedSwap
) -> Steps[SwapOutcome | None]:
    """Asks the chain once for the outcome of a swap.

    Returns None if the swap may still land, or if a node may soon give its transaction.
    ``at`` is when the swap was made, in milliseconds since the epoch. If no node remembers the
    swap any more, all that it may have taken stays counted.
    """
    landing = yield from ask_swap(context, swap)
    end = yield from end_of_swap(context, swap, landing)
    if end is not None:
        return _outcome_to_record(context, at, end)
    if not (yield from _is_forgotten_swap(context, at, swap)):
        return None
    return {"state": "failed", "code": "swap_uncertain"}


def _outcome_to_record(context: PaymentContext, at: int, end: SwapEnd) -> SwapOutcome | None:
    """Returns the outcome of a decided swap; None if a node may soon give its transaction."""
    is_unshown = end.swapped is not None and end.landed is None
    is_early = since_then(context.config.runtime, at) < _UNSHOWN_MS
    return None if is_unshown and is_early else end.outcome


def _is_forgotten_swap(context: PaymentContext, at: int, swap: SignedSwap) -> Steps[bool]:
    return is_forgotten(context, at, sent_swap(swap, context.config.wallet))


def _finish(
    context: PaymentContext,
    mint: Address,
    swap: SignedSwap,
    emit: Emit,
    signal: Signal | None,
    moved: Callable[[Moved], None],
) -> Steps[SwapEnd]:
    if context.config.policy.approve is not None:
        current = yield from ask_swap(context, swap, signal)
        if current.outcome == "unknown":
            raise _undecided_swap(swap)

    def land() -> Steps[Landing]:
        check(signal)
        return (yield from land_swap(context, swap))

    # Hold the locks of its accounts: the swap's guard fails if a payment changes their balances.
    locks = [mint_lock(mint), LAMPORTS_LOCK]
    held = context.locks.hold(locks, land, [signal, context.closing])
    landing = yield from until_aborted(held, signal)
    if landing.outcome != "unknown":
        yield from read_after(context, swap, landing.slot)
    if landing.outcome == "failed":
        yield from emit("swap.failed", signature=swap["signature"], code="swap_failed")
    end = yield from end_of_swap(context, swap, landing)
    if end is None:
        raise _undecided_swap(swap)
    if end.swapped is None:
        return end
    record = end.swapped.record
    if end.landed is None:
        moved(Moved("swap", record.signature, record.input_mint, output_mint=record.output_mint))
        return end
    moved(Moved("swap", *record[:5]))
    yield from emit(
        "swap.confirmed", **record._asdict(), fee_lamports=str(end.swapped.fee_lamports)
    )
    return end


def _undecided_swap(swap: SignedSwap) -> ExactChangeError:
    height = swap["lastValidBlockHeight"]
    return failure(
        "swap_uncertain",
        "An earlier swap into this token was signed, and no node says what became of it. Nothing "
        f"more was signed; try again once block height {height} is final.",
        {"signature": swap["signature"], "last_valid_block_height": height},
        funds="uncertain",
    )
