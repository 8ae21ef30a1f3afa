"""Builds, checks, composes and simulates a swap. Signs and sends nothing."""

from __future__ import annotations

from typing import Callable, NamedTuple

from .._base.network import WSOL_MINT
from .._firewall.expected import Relay, SwapExpectation, relay_fee_in
from .._firewall.instruction import check_swap
from .._firewall.self_check import check_composed
from .._firewall.tables import fetch_lookup_tables
from .._kernel.signals import Signal
from .._kernel.steps import all_of, both, done, start
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.types import Lifetime
from .budget import ComputeBudget
from .compose import Draft, SwapFacts, compose_swap, compose_wrap
from .finish import Finish, SwapDeps
from .market import read_market, read_rents
from .read_facts import TOKEN_ACCOUNT_BYTES, account_bytes, read_leg, read_raw_wallet
from .types import NOTHING_RESERVED, ReservedAmounts, SwapBounds, SwapBuild


class SwapOutlook(NamedTuple):
    """What a prepared transaction will do at most, and cost. Base units or lamports."""

    bounds: SwapBounds
    # The wallet's own token accounts.
    source: Address
    output: Address
    # What it takes from held so much before, as of a slot: lamports of the wallet if it sells SOL.
    before: tuple[int, int]
    # What more the guard lets be missing, because payments in flight may take it.
    leeway: ReservedAmounts
    # Base units that the output account held before.
    output_before: int
    network_fee: int
    priority_fee: int
    # Rent of accounts that stay.
    rent: int
    # SOL that the wallet must have for it to run, the wallet's own minimum included.
    required: int
    # What pays its lamports, if the wallet does not: the wallet's are 0 above then.
    relay: Relay | None = None

    @property
    def max_in(self) -> int:
        """What it takes at most, the fee of a relayer counted."""
        return self.bounds.max_in + relay_fee_in(self.relay, self.bounds.input_mint)

    @property
    def min_out(self) -> int:
        """What it brings at least, the fee of a relayer counted."""
        return self.bounds.min_out - relay_fee_in(self.relay, self.bounds.output_mint)


class PreparedSwap(NamedTuple):
    """An unsigned message, and what it will do."""

    message: bytes
    lifetime: Lifetime
    compute: ComputeBudget
    expected: SwapOutlook


class SwapOrder(NamedTuple):
    """What is to be swapped."""

    bounds: SwapBounds
    build: Callable[[], Steps[SwapBuild]]
    # What others of our transactions may still take; read before and after the chain is.
    reserved: Callable[[], Steps[ReservedAmounts]]
    # The output is wrapped SOL, and wanted as such: a payment is made in it.
    keep_wrapped: bool = False
    # The guard lets nothing be missing: the swap fails if one of those lands meanwhile.
    is_strict: bool = False
    signal: Signal | None = None
    # What pays its lamports, if the wallet does not.
    relay: Relay | None = None
    # Told what it takes at most before anything is signed; what it raises keeps it from being
    # signed.
    on_planned: Callable[[SwapOutlook], Steps[None]] | None = None
    # Payments may begin while it lands, out of all that there is of the output: what is signed lets
    # that be missing. It is rehearsed without, so that a venue has to bring all that was agreed.
    is_beside: bool = False

    def plan(self, expected: SwapOutlook) -> Steps[None]:
        """Tells it."""
        if self.on_planned is not None:
            yield from self.on_planned(expected)


def prepare_swap(deps: SwapDeps, wallet: Address, order: SwapOrder) -> Steps[PreparedSwap]:
    """Raises what the provider raises, and what the firewall and the chain refuse it for.

    ``transaction_too_large``: quote again with fewer accounts. Nothing has left this process.
    """
    bounds, signal = order.bounds, order.signal
    before = yield from order.reserved()
    mints = [bounds.input_mint, bounds.output_mint]
    (raw, build), _ = yield from both(
        both(read_raw_wallet(deps.rpc, wallet, mints, signal=signal), order.build()),
        # Kept, and there when it is known which accounts are missing.
        all_of([deps.rpc.rent(size, signal=signal) for size in (0, TOKEN_ACCOUNT_BYTES)]),
    )
    legs = [read_leg(wallet, one) for one in raw.legs]
    expected = SwapExpectation(
        deps.decoders,
        wallet,
        bounds.input_mint,
        bounds.output_mint,
        legs[0].mint.token_program,
        legs[1].mint.token_program,
        bounds.max_in,
        bounds.min_out,
        bounds.slippage_bps,
        relay=order.relay,
    )
    instruction = build.instruction
    check_swap(instruction, expected)
    # The simulation waits for neither the price nor what is in reach; what is signed does.
    unit_price = yield from start(
        read_market(deps.rpc, wallet, instruction, legs, raw.slot, signal)
    )
    rents, tables = yield from both(
        read_rents(deps.rpc, legs, signal),
        fetch_lookup_tables(deps.tables, deps.rpc, build.lookup_tables, signal),
    )
    # What pays no fee may be empty.
    minimum = rents.wallet_minimum if order.relay is None else 0
    own_rents = rents._replace(wallet_minimum=minimum)
    facts = SwapFacts(legs[0].account, legs[1].account, raw.lamports, *own_rents)

    def compose(compute: ComputeBudget, blockhash: str, held: ReservedAmounts) -> Draft:
        leeway = NOTHING_RESERVED if order.is_strict else held
        return compose_swap(
            expected,
            instruction,
            facts._replace(reserved=held, leeway=leeway),
            order.keep_wrapped,
            compute,
            blockhash,
            tables,
        )

    def reserved() -> Steps[ReservedAmounts]:
        # What was reserved before the chain was read counts on: it may have landed since.
        return before.larger((yield from order.reserved()))

    finish = Finish(
        deps,
        expected.wallet,
        compose,
        reserved,
        minimum,
        raw.slot,
        unit_price,
        signal,
        order.is_beside,
    )
    draft, compute, lifetime = yield from finish.run()
    check_composed(
        draft.message,
        expected,
        instruction,
        draft.floors,
        tables,
        deps.limits.max_priority_fee,
    )
    held = raw.lamports if bounds.input_mint == WSOL_MINT else facts.source.balance
    outlook = SwapOutlook(
        bounds,
        facts.source.address,
        facts.output.address,
        (held, raw.slot),
        draft.leeway,
        facts.output.balance,
        draft.budget.network_fee,
        draft.budget.priority_fee,
        draft.budget.rent,
        draft.budget.required(minimum),
        order.relay,
    )
    return PreparedSwap(draft.message, lifetime, compute, outlook)


def prepare_wrap(
    deps: SwapDeps,
    wallet: Address,
    amount: int,
    reserved: Callable[[], Steps[ReservedAmounts]],
    next_: Callable[[str], Steps[int]],
    signal: Signal | None,
) -> Steps[PreparedSwap]:
    """Prepares a transaction that turns SOL into wrapped SOL, in the shape of a swap.

    ``next_`` counts the transactions on a blockhash. Two equal wraps would be one transaction,
    which lands once, and no guard tells them apart.
    """
    raw = yield from read_raw_wallet(deps.rpc, wallet, [WSOL_MINT], signal=signal)
    account, mint = read_leg(wallet, raw.legs[0])
    rent: Steps[int] = done(0)
    if not account.exists:
        rent = deps.rpc.rent(account_bytes(mint), signal=signal)
    wallet_minimum, source_rent = yield from both(deps.rpc.rent(0, signal=signal), rent)

    def compose(compute: ComputeBudget, blockhash: str, held: ReservedAmounts) -> Draft:
        available = max(0, raw.lamports - held.lamports)
        return compose_wrap(wallet, account, amount, available, source_rent, compute, blockhash)

    # Nothing competes for the accounts that it writes: the wallet's own.
    price = yield from start(done(1))
    finish = Finish(
        deps, wallet, compose, reserved, wallet_minimum, raw.slot, price, signal, next=next_
    )
    draft, compute, lifetime = yield from finish.run()
    outlook = SwapOutlook(
        SwapBounds(WSOL_MINT, WSOL_MINT, amount, amount, 0),
        wallet,
        account.address,
        (raw.lamports, raw.slot),
        NOTHING_RESERVED,
        account.balance,
        draft.budget.network_fee,
        compute.priority_fee,
        draft.budget.rent,
        draft.budget.required(wallet_minimum),
    )
    return PreparedSwap(draft.message, lifetime, compute, outlook)
