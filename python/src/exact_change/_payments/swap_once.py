"""Signs and lands one swap, by one quote."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple

from .._base.network import TOKEN_PROGRAMS, WSOL_MINT
from .._base.runtime import stopwatch
from .._config.swap_request import ResolvedRequest
from .._kernel.signals import Signal
from .._kernel.steps import sleep
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.ask_signer import Ask
from .._solana.tokens import associated_token_address
from .._swap.budget import SIGNATURE_LAMPORTS, swap_limits
from .._swap.finish import SwapDeps
from .._swap.prepare import SwapOrder, SwapOutlook, prepare_wrap
from .._swap.sign import Signatures, SwapSigned, Wallet, sign_prepared
from .._swap.sign_relayed import RelayOffer
from .._swap.types import (
    NOTHING_RESERVED,
    ReservedAmounts,
    SwapBuild,
    SwapQuote,
    bounds_of,
)
from ..errors import ExactChangeError, is_code
from .context import PaymentContext
from .landing import Quoted, Watch, exclusively
from .quote_within import WorstPrice, past_approval
from .reconcile.swap_end import Swapped
from .sign_swap import sign_swap_paid
from .signer import timed_signer
from .swap_build import build_for
from .swap_cost import SwapTaking, is_over_cap, taking_of
from .swap_quote import check_input

_LOOK_MS = 100
# A payment in flight mostly lands within so long.
_IN_FLIGHT_MS = 2_000
# If none is seen to land for so long, those left may take minutes: they are seen once a second.
_STANDSTILL_MS = 1_500


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
    # What pays its lamports if the wallet cannot.
    relay: RelayOffer | None = None
    # Of a swap by name: what was approved, which no quote for it may be worse than.
    worst: WorstPrice | None = None
    # Payments go on from what there is of the output while it lands, if the caps have room for
    # that: its guard lets all of it be missing, so all of it counts as what the swap may take.
    is_beside: bool = False

    def plan(self, taking: SwapTaking) -> Steps[None]:
        """Tells what it takes at most."""
        if self.on_planned is not None:
            yield from self.on_planned(taking)


class Guard:
    """Whether the guard of what was signed lets nothing be missing."""

    is_strict = False


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
            context.next,
            signal,
        )
        yield from on_planned(taking_of(prepared.expected))
        return (yield from sign_prepared(_wallet_of(context, signal), prepared, signal))

    quoted = Quoted(WSOL_MINT, WSOL_MINT, amount, amount, "wrap")
    return exclusively(context, [WSOL_MINT], watch, sign, quoted)


def swap_once(
    context: PaymentContext, task: SwapTask, quote: SwapQuote, built: Any, guard: Guard
) -> Steps[Swapped]:
    """``built``: what was built for the quote, if it came along with it."""
    bounds, signal = bounds_of(quote), task.watch.signal
    mints = quote.input_mint, quote.output_mint
    # What a cap refuses by its quote is not built, and keeps no payment waiting.
    yield from task.plan(SwapTaking(*mints, bounds.max_in, bounds.min_out, SIGNATURE_LAMPORTS))
    # What was approved is within the policy.
    most_in = _with_approved(context.config.policy.max_in_amount, quote.input_mint, task.worst)
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

    planned: list[SwapOutlook] = []

    def on_planned(expected: SwapOutlook) -> Steps[None]:
        planned.append(expected)
        taking = taking_of(expected)
        # A venue may take what payments in flight leave to be missing of the input, too.
        check_input(context.config.network, taking.input_mint, taking.max_in, most_in)
        yield from task.plan(taking)

    order = SwapOrder(
        bounds, build_once, reserved, task.keep_wrapped, signal=signal, on_planned=on_planned
    )
    deps, wallet = _deps_of(context), _wallet_of(context, signal)

    def sign_as(given: SwapOrder) -> Steps[SwapSigned]:
        return sign_swap_paid(
            context, deps, wallet, given, task.relay, is_approved=task.is_approved
        )

    def sign() -> Steps[SwapSigned]:
        try:
            return (yield from sign_as(order))
        except ExactChangeError as error:
            if not planned or sum(planned[-1].leeway) == 0 or not is_over_cap(error):
                raise
        # Refused without its leeway too, it ends here.
        outlook = planned[-1]._replace(leeway=NOTHING_RESERVED)
        yield from task.plan(taking_of(outlook))
        yield from _none_in_flight(context, reserved, signal)
        guard.is_strict = True
        return (yield from sign_as(order._replace(is_strict=True)))

    def sign_within() -> Steps[SwapSigned]:
        try:
            return (yield from sign())
        except ExactChangeError as error:
            if _is_past_approval(error, task.worst):
                raise past_approval() from None
            raise

    quoted = Quoted(*mints, int(quote.in_amount), int(quote.out_amount), quote.provider)
    if task.is_beside:
        # A payment that leaves meanwhile fails the rehearsal.
        guard.is_strict = True
        beside = order._replace(is_beside=True)
        try:
            return (
                yield from exclusively(
                    context, mints[:1], task.watch, lambda: sign_as(beside), quoted
                )
            )
        except ExactChangeError as error:
            if not is_over_cap(error):
                raise
        guard.is_strict = False
    return (yield from exclusively(context, mints, task.watch, sign_within, quoted))


def _with_approved(
    bounds: Mapping[str, int], mint: Address, worst: WorstPrice | None
) -> Mapping[str, int]:
    """The caller's own bounds, and what was approved of the input: a relayer's fee is in it too."""
    if worst is None:
        return bounds
    return {**bounds, mint: min(worst.max_in, bounds.get(mint, worst.max_in))}


def _is_past_approval(error: ExactChangeError, worst: WorstPrice | None) -> bool:
    """Whether a swap was refused for what was approved, not for the caller's own bound."""
    return (
        worst is not None
        and is_code(error, "amount_over_limit")
        and error.details["cap"] == "max_in_amount"
        and error.details["limit"] == str(worst.max_in)
    )


def _wallet_of(context: PaymentContext, signal: Signal | None) -> Wallet:
    def ask(others: Signatures) -> Ask:
        return timed_signer(context, signal, others)

    return Wallet(context.config.signer, ask, context.config.network)


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
