"""Swaps, waits for confirmation, and tries again if that may help."""

from __future__ import annotations

from .._base.network import pinned_mint
from .._base.runtime import since_then
from .._config.swap_request import ResolvedRequest
from .._kernel.task import Steps
from .._swap.compose import MAX_ACCOUNTS_LADDER
from .._swap.types import SwapQuote
from ..errors import ExactChangeError, is_code
from .context import PaymentContext
from .funding import ask_about
from .memory import make_room
from .quote_within import quote_within
from .reconcile.swap_end import Swapped, swap_failed
from .swap_once import Guard, SwapTask, swap_once
from .swap_quote import check_available, quote_by_name, quote_for_payment

# Prices move, so a swap by an older quote would mostly fail.
_QUOTE_MAX_AGE_MS = 5_000
# The second try is for a swap that failed or provably never landed.
_MAX_LANDINGS = 2


def run_swap(context: PaymentContext, task: SwapTask) -> Steps[Swapped]:
    """Swaps, and tries again if another try may succeed.

    It uses a new quote if the price moved, a payment left meanwhile, or the swap provably never
    landed. It uses fewer accounts if the swap did not fit into a transaction.
    """
    runtime = context.config.runtime
    ladder = list(MAX_ACCOUNTS_LADDER)
    request, quote, built = task.request, task.quote, task.built
    max_age_ms: float = float("inf") if task.is_approved else _QUOTE_MAX_AGE_MS
    failed: ExactChangeError | None = None
    landings = 1
    while True:
        if quote is None or since_then(runtime, quote.quoted_at) > max_age_ms:
            built = None
            try:
                quote = yield from _new_quote(context, request, task)
            except ExactChangeError as error:
                raise _with_fees(error, failed)
        guard = Guard()
        yield from task.hooks.emit(
            "swap.quoted",
            input_mint=quote.input_mint,
            in_amount=quote.in_amount,
            max_in_amount=quote.max_in_amount,
            output_mint=quote.output_mint,
            out_amount=quote.out_amount,
            min_out_amount=quote.min_out_amount,
            provider=quote.provider,
        )
        try:
            swapped = yield from swap_once(context, task, quote, built, guard)
            return swapped._replace(fee_lamports=swapped.fee_lamports + _fees_of(failed))
        except ExactChangeError as error:
            _note_failure(context, quote)
            if is_code(error, "transaction_too_large") and ladder:
                request = request._replace(max_accounts=ladder.pop(0))
            elif landings >= _MAX_LANDINGS or not _is_worth_another(context, error, guard):
                raise _with_fees(error, failed)
            else:
                landings += 1
            failed = error if is_code(error, "swap_failed") else failed
            quote, max_age_ms = None, _QUOTE_MAX_AGE_MS


def _new_quote(
    context: PaymentContext, request: ResolvedRequest, task: SwapTask
) -> Steps[SwapQuote]:
    signal = task.hooks.signal
    if task.worst is not None:
        return (
            yield from quote_within(
                request, task.worst, lambda tighter: quote_by_name(context, tighter, signal)
            )
        )
    if task.quote is None:
        return (yield from quote_by_name(context, request, signal))
    quote = yield from ask_about(
        context,
        request.output_mint,
        signal,
        lambda quote_signal: quote_for_payment(context, request, quote_signal),
    )
    if task.available is not None:
        check_available(context.config.network, quote, task.available)
    return quote


def _note_failure(context: PaymentContext, quote: SwapQuote) -> None:
    """Remembers that a swap out of a token that is not pinned failed.

    Its price may be false, so searches do not prefer it for a while.
    """
    if pinned_mint(context.config.network, quote.input_mint) is not None:
        return
    failed = context.memory.failed_inputs
    make_room(failed)
    failed[quote.input_mint] = context.now()


def _fees_of(failed: ExactChangeError | None) -> int:
    return 0 if failed is None else int(failed.details["fee_lamports"])


def _with_fees(error: ExactChangeError, failed: ExactChangeError | None) -> ExactChangeError:
    """Returns the last error, with the fee of an earlier try that landed and failed.

    That fee is gone, whatever the last error is.
    """
    if failed is None or error.funds != "untouched":
        return error
    if not is_code(error, "swap_failed"):
        return swap_failed(failed.details, error)
    fees = int(error.details["fee_lamports"]) + _fees_of(failed)
    return swap_failed({**error.details, "fee_lamports": str(fees)})


def _is_worth_another(context: PaymentContext, error: ExactChangeError, guard: Guard) -> bool:
    if is_code(error, "swap_expired"):
        return True
    # A payment that left meanwhile broke the strict guard. The next try reads the balances again.
    if guard.is_strict and is_code(error, "swap_failed", "unsafe_swap"):
        return True
    return is_code(error, "swap_failed", "simulation_failed") and any(
        decoder.is_price_moved(error.details["reason"]) for decoder in context.decoders
    )
