"""Swaps and waits for confirmation."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from .._base.network import TOKEN_PROGRAMS, WSOL_MINT
from .._base.runtime import since_then, stopwatch
from .._config.swap_request import ResolvedRequest
from .._kernel.signals import Signal
from .._kernel.steps import sleep
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.tokens import associated_token_address
from .._swap.budget import SIGNATURE_LAMPORTS, swap_limits
from .._swap.compose import MAX_ACCOUNTS_LADDER
from .._swap.finish import SwapDeps
from .._swap.prepare import PreparedSwap, SwapOrder, SwapOutlook, prepare_swap, prepare_wrap
from .._swap.sign import SwapSigned, sign_swap
from .._swap.types import (
    NOTHING_RESERVED,
    ReservedAmounts,
    SwapBuild,
    SwapQuote,
    bounds_of,
)
from ..errors import ExactChangeError, is_code
from .context import PaymentContext
from .funding import ask_about
from .landing import Quoted, Watch, exclusively
from .reconcile.swap_end import Swapped, swap_failed
from .signer import timed_signer
from .swap_build import build_for
from .swap_cost import SwapTaking, is_over_cap, taking_of
from .swap_quote import check_available, check_input, quote_by_name, quote_for_payment

# A price moves on: from an older quote the swap would mostly fail.
_QUOTE_MAX_AGE_MS = 5_000
# One more try if the first provably came to nothing.
_MAX_LANDINGS = 2
_LOOK_MS = 100
# A payment in flight mostly lands within so long.
_IN_FLIGHT_MS = 2_000
# If none of them lands for so long, those that are left may take minutes.
_STANDSTILL_MS = 500


class SwapTask(NamedTuple):
    """A swap that is to be made."""

    request: ResolvedRequest
    watch: Watch
    # Asked for already, for a payment: used if it is young. Without, the caller asked for the swap
    # by name.
    quote: SwapQuote | None = None
    # What was built for that quote, if it came along with it.
    built: Any = None
    # A person was shown the quote and approved it, however long that took.
    is_approved: bool = False
    # Base units of the input that the payment may take, however often it is quoted.
    available: int | None = None
    # The output is wrapped SOL, and wanted as such.
    keep_wrapped: bool = False
    # Called with what a swap takes at most, by its quote and then by its guard, before it is
    # signed; what it raises keeps it from being signed.
    on_planned: Callable[[SwapTaking], Steps[None]] | None = None


class _Guard:
    """Whether the guard of what was signed lets nothing be missing."""

    is_strict = False


def run_swap(context: PaymentContext, task: SwapTask) -> Steps[Swapped]:
    """Swaps, and tries once more what may well work then.

    A swap that failed over its price, or over a payment that left beside it, or provably never
    landed, with a new quote; one that did not fit a transaction, with fewer accounts.
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
                quote = yield from _quote_anew(context, request, task)
            except ExactChangeError as error:
                raise _with_fees(error, failed) from error.__cause__
        guard = _Guard()
        yield from task.watch.emit(
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
            swapped = yield from _swap_once(context, task, quote, built, guard)
            return swapped._replace(fee_lamports=swapped.fee_lamports + _fees_of(failed))
        except ExactChangeError as error:
            if is_code(error, "transaction_too_large") and ladder:
                request = request._replace(max_accounts=ladder.pop(0))
            elif landings >= _MAX_LANDINGS or not _is_worth_another(context, error, guard):
                raise _with_fees(error, failed) from error.__cause__
            else:
                landings += 1
            failed = error if is_code(error, "swap_failed") else failed
            quote, max_age_ms = None, _QUOTE_MAX_AGE_MS


def run_wrap(
    context: PaymentContext,
    amount: int,
    watch: Watch,
    on_planned: Callable[[SwapTaking], Steps[None]],
) -> Steps[Swapped]:
    """Turns SOL into wrapped SOL, for a payment that is made in it."""
    signal = watch.signal

    def sign() -> Steps[SwapSigned]:
        prepared = yield from prepare_wrap(
            _deps_of(context),
            context.config.wallet,
            amount,
            lambda: _reserved_for(context, WSOL_MINT, WSOL_MINT),
            signal,
        )
        yield from on_planned(taking_of(prepared.expected))
        return (yield from _sign(context, prepared, signal))

    quoted = Quoted(WSOL_MINT, WSOL_MINT, amount, amount, "wrap")
    return exclusively(context, [WSOL_MINT], watch, sign, quoted)


def _swap_once(
    context: PaymentContext, task: SwapTask, quote: SwapQuote, built: Any, guard: _Guard
) -> Steps[Swapped]:
    bounds, signal = bounds_of(quote), task.watch.signal
    mints = quote.input_mint, quote.output_mint
    # What a cap refuses by its quote is not built, and keeps no payment waiting.
    if task.on_planned is not None:
        yield from task.on_planned(
            SwapTaking(*mints, bounds.max_in, bounds.min_out, SIGNATURE_LAMPORTS)
        )
    # What was approved is within the policy.
    most_in = context.config.policy.max_in_amount
    if task.is_approved and task.available is not None:
        most_in = {quote.input_mint: task.available}
    build: SwapBuild | None = None

    def build_once() -> Steps[SwapBuild]:
        nonlocal build
        if build is None:
            build = yield from build_for(context, quote, built, signal)
        return build

    def reserved() -> Steps[ReservedAmounts]:
        return _reserved_for(context, *mints)

    def prepare_and_sign(is_strict: bool, planned: list[SwapOutlook]) -> Steps[SwapSigned]:
        order = SwapOrder(bounds, build_once, reserved, task.keep_wrapped, is_strict, signal)
        prepared = yield from prepare_swap(_deps_of(context), context.config.wallet, order)
        planned.append(prepared.expected)
        taking = taking_of(prepared.expected)
        # A venue may take what payments in flight leave to be missing of the input, too.
        check_input(context.config.network, taking.input_mint, taking.max_in, most_in)
        if task.on_planned is not None:
            yield from task.on_planned(taking)
        return (yield from _sign(context, prepared, signal))

    def sign() -> Steps[SwapSigned]:
        planned: list[SwapOutlook] = []
        try:
            return (yield from prepare_and_sign(False, planned))
        except ExactChangeError as error:
            if not planned or sum(planned[0].leeway) == 0 or not is_over_cap(error):
                raise
        # Refused without its leeway too, it ends here.
        if task.on_planned is not None:
            outlook = planned[0]._replace(leeway=NOTHING_RESERVED)
            yield from task.on_planned(taking_of(outlook))
        yield from _none_in_flight(context, reserved, signal)
        guard.is_strict = True
        return (yield from prepare_and_sign(True, planned))

    quoted = Quoted(*mints, int(quote.in_amount), int(quote.out_amount), quote.provider)
    return (yield from exclusively(context, mints, task.watch, sign, quoted))


def _sign(
    context: PaymentContext, prepared: PreparedSwap, signal: Signal | None
) -> Steps[SwapSigned]:
    return sign_swap(
        context.config.signer,
        timed_signer(context, signal),
        context.config.network,
        prepared,
        signal,
    )


def _quote_anew(
    context: PaymentContext, request: ResolvedRequest, task: SwapTask
) -> Steps[SwapQuote]:
    """A later quote is bound by what the first was."""
    signal = task.watch.signal
    if task.quote is None:
        return (yield from quote_by_name(context, request, signal))
    quote = yield from ask_about(
        context,
        request.output_mint,
        signal,
        lambda own: quote_for_payment(context, request, own),
    )
    if task.available is not None:
        check_available(context.config.network, quote, task.available)
    return quote


def _fees_of(failed: ExactChangeError | None) -> int:
    return 0 if failed is None else int(failed.details["fee_lamports"])


def _with_fees(error: ExactChangeError, failed: ExactChangeError | None) -> ExactChangeError:
    """What the last try ended with, and the fee of a try before it that landed and failed.

    It is gone, whatever else came of the swap.
    """
    if failed is None or error.funds != "untouched":
        return error
    if not is_code(error, "swap_failed"):
        return swap_failed(failed.details, error)
    fees = int(error.details["fee_lamports"]) + _fees_of(failed)
    return swap_failed({**error.details, "fee_lamports": str(fees)})


def _is_worth_another(context: PaymentContext, error: ExactChangeError, guard: _Guard) -> bool:
    if is_code(error, "swap_expired"):
        return True
    # A payment that left meanwhile is in what is read for the next.
    if guard.is_strict and is_code(error, "swap_failed", "unsafe_swap"):
        return True
    return is_code(error, "swap_failed", "simulation_failed") and any(
        one.is_price_moved(error.details["reason"]) for one in context.decoders
    )


def _none_in_flight(
    context: PaymentContext,
    reserved: Callable[[], Steps[ReservedAmounts]],
    signal: Signal | None,
) -> Steps[None]:
    """Waits for a while, as long as payments in flight leave the accounts of a swap.

    A strict guard fails if one leaves meanwhile.
    """
    elapsed = stopwatch(context.config.runtime)
    left, at = sum((yield from reserved())), 0
    while left > 0 and elapsed() < _IN_FLIGHT_MS and elapsed() - at < _STANDSTILL_MS:
        yield from sleep(_LOOK_MS, signal)
        now = sum((yield from reserved()))
        if now < left:
            left, at = now, elapsed()


def _deps_of(context: PaymentContext) -> SwapDeps:
    policy = context.config.policy
    return SwapDeps(
        context.decoders,
        context.rpc,
        context.config.runtime,
        context.blockhashes,
        context.tables,
        swap_limits(policy.max_fee_lamports, policy.max_rent_lamports),
    )


def _reserved_for(
    context: PaymentContext, input_mint: Address, output_mint: Address
) -> Steps[ReservedAmounts]:
    """What payments in flight may still take from the accounts that the swap's guard looks at."""
    wallet, ledger = context.config.wallet, context.ledger
    amounts: list[int] = []
    for mint in (input_mint, output_mint):
        held = 0
        for program in TOKEN_PROGRAMS:
            held += yield from ledger.held(associated_token_address(wallet, mint, program))
        amounts.append(held)
    return ReservedAmounts(amounts[0], amounts[1], (yield from ledger.held(wallet)))
