"""Which of several tokens to swap from."""

from __future__ import annotations

from typing import Callable, NamedTuple, Sequence

from .._kernel.signals import Signal, check, follow
from .._kernel.steps import Forget, all_of, fails_on, join, park, start, timer
from .._kernel.task import Host, Steps, Task, Wake
from .._swap.candidates import Candidate
from .._swap.types import SwapQuote
from ..errors import ExactChangeError
from .candidates import price_of
from .context import PaymentContext
from .funds import Funding

# Once a swap is found, so long are the quotes for others waited for, in milliseconds.
_PATIENCE_MS = 500
# A token that is no dollar is valued at its selling price, which hides what its market costs: this
# much of what a swap brings is no reason to leave the order.
_SAME_BPS = 25
_WHOLE = 10_000


class Tried(NamedTuple):
    """A candidate, and its swap, or why there is none."""

    candidate: Candidate
    found: Funding | ExactChangeError


def find_together(
    searches: Sequence[Steps[Tried]], signal: Signal | None
) -> Steps[Sequence[Tried]]:
    """Searches that were over within a while of the first that found something, in their order.

    They are made side by side. Raises what one raises if none found anything.
    """
    tasks: list[Task[Tried]] = []
    for search in searches:
        tasks.append((yield from start(search)))

    def register(host: Host, wake: Wake) -> Sequence[Forget]:
        forgets = fails_on(wake, [signal])
        is_patient = True

        def look() -> None:
            nonlocal is_patient
            if all(task.is_settled for task in tasks):
                wake()
            elif is_patient and any(map(_has_found, tasks)):
                is_patient = False
                forgets.append(host.later(_PATIENCE_MS, wake))

        forgets.extend(task.then(look) for task in tasks if not task.is_settled)
        look()
        return forgets

    yield park(register)
    check(signal)
    if not any(map(_has_found, tasks)):
        for task in tasks:
            if task.error is not None:
                raise task.error
    return [task.result() for task in tasks if task.is_settled and task.error is None]


def _has_found(task: Task[Tried]) -> bool:
    is_over = task.is_settled and task.error is None
    return is_over and isinstance(task.result().found, Funding)


def found_in(tried: Sequence[Tried]) -> list[Funding]:
    """The swaps that were found, in their order."""
    return [one.found for one in tried if isinstance(one.found, Funding)]


def cheapest_of_all(
    context: PaymentContext,
    swaps: Sequence[Funding],
    others: Callable[[Signal], Steps[Sequence[Funding]]],
    signal: Signal | None,
) -> Steps[Funding]:
    """The swap into one token that loses the least by the client's own prices.

    The first of those that lose about the same. ``others``: searches among what comes later; called
    if each of the first is dear.
    """
    best = yield from _cheapest(context, swaps, signal)
    loss = yield from _loss_of(context, best.quote, signal)
    if loss is not None and loss <= _SAME_BPS:
        return best
    found = yield from _found_beside(context, others, signal)
    return (yield from _cheapest(context, [best, *found], signal))


def _found_beside(
    context: PaymentContext,
    search: Callable[[Signal], Steps[Sequence[Funding]]],
    signal: Signal | None,
) -> Steps[Sequence[Funding]]:
    """What a search finds beside a swap that there is already.

    It gives way to other work, is waited for a while, and may fail.
    """
    beside = follow(context.closing if signal is None else signal, is_low_priority=True)
    task = yield from start(search(beside.signal))
    impatience = Signal()
    call_off = yield from timer(_PATIENCE_MS, impatience.abort)
    try:
        return (yield from join(task, impatience, signal))
    except Exception as error:
        check(signal)
        if impatience.aborted or isinstance(error, ExactChangeError):
            return []
        raise
    finally:
        call_off()
        beside.end()


def _cheapest(
    context: PaymentContext, swaps: Sequence[Funding], signal: Signal | None
) -> Steps[Funding]:
    """Fees and rent are left out: they are the same for all. What has no price comes last."""
    if len(swaps) < 2:
        return swaps[0]
    best, least = swaps[0], (yield from _loss_of(context, swaps[0].quote, signal))
    for swap in swaps[1:]:
        loss = yield from _loss_of(context, swap.quote, signal)
        if loss is not None and (least is None or loss + _SAME_BPS < least):
            best, least = swap, loss
    return best


def _loss_of(
    context: PaymentContext, quote: SwapQuote | None, signal: Signal | None
) -> Steps[int | None]:
    """Basis points of what it brings; below zero if it takes less than that."""
    if quote is None:
        return None
    # Mostly known: each quote was held against them.
    mints = quote.input_mint, quote.output_mint
    paid, got = yield from all_of([price_of(context, mint, signal) for mint in mints])
    brought = None if got is None else got.least(int(quote.out_amount))
    if paid is None or not brought:
        return None
    return (paid.about(int(quote.in_amount)) - brought) * _WHOLE // brought
