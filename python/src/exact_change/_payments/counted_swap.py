"""A swap that counts against the caps as one for a payment does.

Because something less trusted than the caller ordered it: an attempt that is never paid.
"""

from __future__ import annotations

from .._config.swap_request import ResolvedRequest
from .._journal.types import Attempt
from .._kernel.steps import ensure
from .._kernel.task import Steps
from .context import PaymentContext
from .landing import Watch
from .quote_within import WorstPrice
from .reconcile.swap_end import Swapped
from .reservation import Reservation
from .run_swap import run_swap
from .swap_cost import SwapTaking
from .swap_once import SwapTask


def counted_swap(
    context: PaymentContext, request: ResolvedRequest, watch: Watch, worst: WorstPrice | None
) -> Steps[Swapped]:
    """What it may take is reserved before it is signed, and what it took stays counted.

    Raises ``amount_over_limit`` or ``budget_exhausted``.
    """
    id_, signal = context.new_id(), watch.signal
    attempt: Attempt = {
        "id": id_,
        "wallet": context.config.wallet,
        "network": context.config.network,
        "state": "reserved",
        "delivered": False,
        "url": f"swap:{request.input_mint}/{request.output_mint}",
        "method": "SWAP",
        "host": "",
        "payTo": "",
        # There is no other like it: each is an order of its own.
        "fingerprint": id_,
        "at": context.now(),
        "mint": request.output_mint,
        "amount": "0",
        "microUsd": "0",
    }
    reservation = Reservation(context, attempt)

    def on_planned(taking: SwapTaking) -> Steps[None]:
        return reservation.plan_swap(taking, signal)

    task = SwapTask(
        request,
        watch._replace(on_signed=reservation.record_swap, on_decided=reservation.end_swap),
        on_planned=on_planned,
        worst=worst,
    )
    failed: list[Exception] = []

    def work() -> Steps[Swapped]:
        try:
            yield from reservation.reserve()
            return (yield from run_swap(context, task))
        except Exception as error:
            failed.append(error)
            raise

    def end() -> Steps[None]:
        # It holds no tokens, so there is no account to let go of.
        yield from reservation.roll_back(None, failed[0] if failed else None)

    return ensure(work(), end)
