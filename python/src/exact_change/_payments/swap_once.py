"""Signs and lands one swap by one quote."""

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
from .landing import Quoted, SwapHooks, land_exclusively
from .quote_within import WorstPrice, past_approval
from .reconcile.swap_end import Swapped
from .relay import sign_swap_paid
from .signer import timed_signer
from .swap_build import build_for
from .swap_cost import SwapTaking, is_over_cap, taking_of
from .swap_quote import check_input

# Pause between two looks at payments in flight. Milliseconds.
_LOOK_MS = 100
# A payment in flight mostly lands within this time. Milliseconds.
_IN_FLIGHT_MS = 2_000
# If no payment lands for this time, the rest may take minutes, so stop waiting. Landings are seen
# once a second. Milliseconds.
_STANDSTILL_MS = 1_500


class SwapTask(NamedTuple):
    request: ResolvedRequest
    hooks: SwapHooks
    # A quote for a payment, used while it is young. None if the caller asked for a swap by name.
    quote: SwapQuote | None = None
    # The transaction that came along with the quote, if any.
    built: Any = None
    # Whether the policy's `approve` accepted the quote; then the quote may be old.
    is_approved: bool = False
    # Base units of the input that any quote may take.
    available: int | None = None
    # Whether the output is wrapped SOL that must stay wrapped.
    keep_wrapped: bool = False
    # Called with the most that the swap takes, by its quote and then by its guard. If it raises,
    # the swap is not signed.
    on_planned: Callable[[SwapTaking], Steps[None]] | None = None
    # The relayer that pays the lamports if the wallet cannot.
    relay: RelayOffer | None = None
    # The approved bounds of a swap by name; no later quote may be worse.
    worst: WorstPrice | None = None
    # Whether payments may use the output account while the swap lands, if the caps allow it. The
    # guard then lets the whole balance be missing, so all of it counts as taken by the swap.
    is_beside: bool = False

    def plan(self, taking: SwapTaking) -> Steps[None]:
        """Calls ``on_planned``, if there is one."""
        if self.on_planned is not None:
            yield from self.on_planned(taking)


class Guard:
    """Whether a payment that leaves meanwhile fails the swap, because it allows no leeway."""

    is_strict = False


def run_wrap(
    context: PaymentContext,
    amount: int,
    hooks: SwapHooks,
    on_planned: Callable[[SwapTaking], Steps[None]],
) -> Steps[Swapped]:
    """Wraps SOL for a payment in wrapped SOL."""
    signal = hooks.signal

    def sign() -> Steps[SwapSigned]:
        prepared = yield from prepare_wrap(
            _deps_of(context),
            context.config.wallet,
            amount,
            context.next,
            signal,
        )
        yield from on_planned(taking_of(prepared.expected))
        return (yield from sign_prepared(_wallet_of(context, signal), prepared, signal))

    quoted = Quoted(WSOL_MINT, WSOL_MINT, amount, amount, "wrap")
    return land_exclusively(context, [WSOL_MINT], hooks, sign, quoted)


def swap_once(
    context: PaymentContext, task: SwapTask, quote: SwapQuote, built: Any, guard: Guard
) -> Steps[Swapped]:
    """Builds, signs and lands a swap by a quote.

    ``built``: the transaction that came along with the quote, if any. ``guard`` is set to strict if
    the swap allows no leeway.
    """
    bounds, signal = bounds_of(quote), task.hooks.signal
    mints = quote.input_mint, quote.output_mint
    # Ask the caps before the build and before any lock, so that a refused swap delays no payment.
    # A relayer may pay the lamports.
    lamports = SIGNATURE_LAMPORTS if context.config.relayer is None else 0
    yield from task.plan(SwapTaking(*mints, bounds.max_in, bounds.min_out, lamports))
    worst = None if task.worst is None else task.worst.max_in
    most = task.available if task.is_approved else worst
    most_in = _with_approved(context.config.policy.max_in_amount, quote.input_mint, most)
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
        # `max_in` includes the leeway of the input, because a swap venue could take it too.
        check_input(context.config.network, taking.input_mint, taking.max_in, most_in)
        yield from task.plan(taking)

    order = SwapOrder(
        bounds, build_once, reserved, task.keep_wrapped, signal=signal, on_planned=on_planned
    )
    deps, wallet = _deps_of(context), _wallet_of(context, signal)

    def sign_as(variant: SwapOrder) -> Steps[SwapSigned]:
        return sign_swap_paid(
            context, deps, wallet, variant, task.relay, is_approved=task.is_approved
        )

    def sign_strict() -> Steps[SwapSigned]:
        yield from _none_in_flight(context, reserved, signal)
        guard.is_strict = True
        return (yield from sign_as(order._replace(is_strict=True)))

    # Amounts may be missing only if caps count them, and if neither the caller nor an approval has
    # bounded the swap.
    is_bounded = task.on_planned is None or task.worst is not None or task.is_approved

    def sign() -> Steps[SwapSigned]:
        try:
            if is_bounded and sum((yield from reserved())) > 0:
                return (yield from sign_strict())
            return (yield from sign_as(order._replace(is_strict=is_bounded)))
        except ExactChangeError as error:
            if not planned or sum(planned[-1].leeway) == 0 or not is_over_cap(error):
                raise
        # Ask the caps again without leeway; a second refusal ends the swap.
        outlook = planned[-1]._replace(leeway=NOTHING_RESERVED)
        yield from task.plan(taking_of(outlook))
        return (yield from sign_strict())

    def sign_within() -> Steps[SwapSigned]:
        try:
            return (yield from sign())
        except ExactChangeError as error:
            if task.worst is not None and is_past_approval(error, task.worst.max_in):
                raise past_approval() from None
            raise

    quoted = Quoted(*mints, int(quote.in_amount), int(quote.out_amount), quote.provider)
    # Beside payments, the whole balance may be missing, and no approver has seen that.
    if task.is_beside and not task.is_approved:
        # The simulation allows no leeway, so a payment that leaves meanwhile fails it.
        guard.is_strict = True
        beside = order._replace(is_beside=True)
        try:
            return (
                yield from land_exclusively(
                    context, mints[:1], task.hooks, lambda: sign_as(beside), quoted
                )
            )
        except ExactChangeError as error:
            if not is_over_cap(error):
                raise
        guard.is_strict = False
    return (yield from land_exclusively(context, mints, task.hooks, sign_within, quoted))


def _with_approved(
    bounds: Mapping[str, int], mint: Address, approved: int | None
) -> Mapping[str, int]:
    """Adds the approved input to the caller's bounds; it includes a relayer's fee."""
    if approved is None:
        return bounds
    return {**bounds, mint: min(approved, bounds.get(mint, approved))}


def is_past_approval(error: ExactChangeError, approved: int) -> bool:
    """Returns whether the approved input, not the caller's own bound, refused the swap."""
    return (
        is_code(error, "amount_over_limit")
        and error.details["cap"] == "max_in_amount"
        and error.details["limit"] == str(approved)
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
    """Waits for a short time until no payments in flight hold tokens of a swap's accounts.

    A strict guard fails if a payment leaves its accounts.
    """
    elapsed = stopwatch(context.config.runtime)
    in_flight, shrunk_at = sum((yield from reserved())), 0
    while in_flight > 0 and elapsed() < _IN_FLIGHT_MS and elapsed() - shrunk_at < _STANDSTILL_MS:
        yield from sleep(_LOOK_MS, signal)
        now = sum((yield from reserved()))
        if now < in_flight:
            in_flight, shrunk_at = now, elapsed()


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
    """Returns what payments in flight may still take from the accounts of the swap's guard."""
    wallet, ledger = context.config.wallet, context.ledger
    amounts: list[int] = []
    for mint in (input_mint, output_mint):
        held = 0
        for program in TOKEN_PROGRAMS:
            held += yield from ledger.held(associated_token_address(wallet, mint, program))
        amounts.append(held)
    return ReservedAmounts(*amounts)
