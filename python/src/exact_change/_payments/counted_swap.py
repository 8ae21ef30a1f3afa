"""Swaps that count against the caps as a swap for a payment does.

Not the caller, but a less trusted source orders such a swap. On record it is an attempt that is
never paid.
"""

from __future__ import annotations

from typing import Callable

from .._config.swap_request import ResolvedRequest
from .._journal.types import Attempt
from .._kernel.steps import ensure
from .._kernel.task import Steps
from .._solana.address import Address
from .context import PaymentContext
from .landing import SwapHooks
from .once_topped_up import work_once_topped_up
from .quote_within import WorstPrice
from .reconcile.swap_end import Swapped
from .reservation import Reservation
from .run_swap import run_swap
from .swap_cost import SwapTaking
from .swap_once import SwapTask


def counted_swap(
    context: PaymentContext, request: ResolvedRequest, hooks: SwapHooks, worst: WorstPrice | None
) -> Steps[Swapped]:
    """Reserves the swap's bound, swaps, and keeps the real cost counted.

    Raises ``amount_over_limit`` or ``budget_exhausted``.
    """
    signal = hooks.signal

    def work(reservation: Reservation) -> Steps[Swapped]:
        def on_planned(taking: SwapTaking) -> Steps[None]:
            return reservation.plan_swap(taking, signal)

        on_record = hooks._replace(
            on_signed=reservation.record_swap, on_decided=reservation.end_swap
        )
        task = SwapTask(request, on_record, on_planned=on_planned, worst=worst)
        return work_once_topped_up(context, lambda: run_swap(context, task), signal)

    url = f"swap:{request.input_mint}/{request.output_mint}"
    return swap_counted(context, context.new_id(), url, request.output_mint, work)


def swap_counted(
    context: PaymentContext,
    id_: str,
    url: str,
    mint: Address,
    swap: Callable[[Reservation], Steps[Swapped]],
) -> Steps[Swapped]:
    """Runs a swap under the record of an attempt that is never paid."""
    attempt: Attempt = {
        "id": id_,
        "wallet": context.config.wallet,
        "network": context.config.network,
        "state": "reserved",
        "delivered": False,
        "url": url,
        "method": "SWAP",
        "host": "",
        "payTo": "",
        # Unique, because each order is a swap of its own.
        "fingerprint": id_,
        "at": context.now(),
        "mint": mint,
        "amount": "0",
        "microUsd": "0",
    }
    reservation = Reservation(context, attempt)

    failed: list[Exception] = []

    def work() -> Steps[Swapped]:
        try:
            yield from reservation.reserve()
            return (yield from swap(reservation))
        except Exception as error:
            failed.append(error)
            raise

    def end() -> Steps[None]:
        # The attempt holds no tokens, so there is no account to release.
        yield from reservation.roll_back(None, failed[0] if failed else None)

    return ensure(work(), end)
