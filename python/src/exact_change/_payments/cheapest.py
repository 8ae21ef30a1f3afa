"""Compares swaps from several tokens."""

from __future__ import annotations

from typing import Callable, NamedTuple, Sequence

from .._base.amounts import WHOLE_BPS
from .._kernel.signals import Signal, check, follow
from .._kernel.steps import Forget, all_of, fails_on, join, park, start, timer
from .._kernel.task import Host, Steps, Task, Wake
from .._swap.candidates import Candidate
from .._swap.types import SwapQuote
from ..errors import ExactChangeError
from .candidates import price_of
from .context import PaymentContext
from .funds import Funding

# After the first swap is found, wait so long for the quotes of other tokens. Milliseconds.
_PATIENCE_MS = 500
# Basis points of a swap's output. Losses that differ by less count as equal: the selling price of a
# token that is not a dollar hides the cost of its market.
_SAME_BPS = 25


class Tried(NamedTuple):
    """A candidate, with its swap or the error of the search."""

    candidate: Candidate
    found: Funding | ExactChangeError


def find_together(
    searches: Sequence[Steps[Tried]], signal: Signal | None
) -> Steps[Sequence[Tried]]:
    """Runs searches at the same time, and returns the finished results in order.

    After the first search finds a swap, it waits ``_PATIENCE_MS`` for the other searches. If none
    finds a swap, it raises the first error of a search.
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
    has_result = task.is_settled and task.error is None
    return has_result and isinstance(task.result().found, Funding)


def found_in(tried: Sequence[Tried]) -> list[Funding]:
    """Returns the swaps that were found, in their order."""
    return [entry.found for entry in tried if isinstance(entry.found, Funding)]


def cheapest_of_all(
    context: PaymentContext,
    swaps: Sequence[Funding],
    search_later: Callable[[Signal], Steps[Sequence[Funding]]],
    signal: Signal | None,
) -> Steps[Funding]:
    """Returns the swap that loses least by the client's own prices; all swaps bring one token.

    If several lose about the same, it returns the first. ``search_later`` finds swaps from later
    candidates. It is called only if every swap in ``swaps`` is expensive.
    """
    best = yield from _cheapest(context, swaps, signal)
    loss = yield from _loss_of(context, best.quote, signal)
    if loss is not None and loss <= _SAME_BPS:
        return best
    found = yield from _found_beside(context, search_later, signal)
    return (yield from _cheapest(context, [best, *found], signal))


def _found_beside(
    context: PaymentContext,
    search: Callable[[Signal], Steps[Sequence[Funding]]],
    signal: Signal | None,
) -> Steps[Sequence[Funding]]:
    """Returns the swaps of a search that is optional, because a swap is known already.

    The search has low priority and limited time. It returns an empty list if it fails.
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
    """Returns the swap with the least loss; a swap without a price comes last.

    Fees and rent are left out, because they are the same for every swap.
    """
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
    """Returns the loss in basis points of the output's value; negative if the swap gains.

    None if a price is unknown.
    """
    if quote is None:
        return None
    # These prices are mostly cached, because the check of each quote used them.
    mints = quote.input_mint, quote.output_mint
    input_price, output_price = yield from all_of(
        [price_of(context, mint, signal) for mint in mints]
    )
    output = None if output_price is None else output_price.least(int(quote.out_amount))
    if input_price is None or not output:
        return None
    return (input_price.about(int(quote.in_amount)) - output) * WHOLE_BPS // output
