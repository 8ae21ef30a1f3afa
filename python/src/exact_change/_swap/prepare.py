"""Builds, checks, composes and simulates a swap, and has the wallet sign it. Sends nothing."""

from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple, Sequence

from .._base.network import WSOL_MINT
from .._base.runtime import Runtime
from .._firewall.decoders import Decoders
from .._firewall.expected import SwapExpectation
from .._firewall.exposure import Exposed, check_exposure, foreign_accounts
from .._firewall.instruction import check_swap
from .._firewall.self_check import check_composed
from .._firewall.simulation import check_simulation, watched_accounts
from .._firewall.tables import fetch_lookup_tables
from .._kernel.signals import Signal
from .._kernel.steps import all_of, both, done
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.message import assemble_transaction
from .._solana.rpc.blockhash import BlockhashSource
from .._solana.rpc.rpc import Rpc
from .._solana.tables import TableCache
from .._solana.types import AccountMeta, Instruction, Lifetime
from .budget import (
    ComputeBudget,
    SwapLimits,
    bounded_unit_price,
    check_budget,
)
from .compose import Draft, SwapFacts, compose_swap, compose_wrap
from .read_facts import Leg, account_bytes, read_leg, read_raw_wallet
from .types import NOTHING_RESERVED, ReservedAmounts, SwapBounds, SwapBuild

_MAX_UNITS = 1_400_000
# Both compute-budget instructions come first.
_COMPUTE_INSTRUCTIONS = 2
_READ_AT_ONCE = 100
# The most accounts that the node takes in one question, and the share of races to win.
_MAX_FEE_ACCOUNTS = 128
_PERCENTILE = 75


class SwapDeps(NamedTuple):
    """What preparing works with."""

    decoders: Decoders
    rpc: Rpc
    runtime: Runtime
    blockhashes: BlockhashSource
    tables: TableCache
    limits: SwapLimits


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


class _Market(NamedTuple):
    """What a composed transaction costs on today's chain; in lamports."""

    # Micro-lamports per unit.
    unit_price: int
    wallet_minimum: int
    source_rent: int
    output_rent: int


def prepare_swap(deps: SwapDeps, wallet: Address, order: SwapOrder) -> Steps[PreparedSwap]:
    """Raises what the provider raises, and what the firewall and the chain refuse it for.

    ``transaction_too_large``: quote again with fewer accounts. Nothing has left this process.
    """
    bounds, signal = order.bounds, order.signal
    before = yield from order.reserved()
    mints = [bounds.input_mint, bounds.output_mint]
    raw, build = yield from both(
        read_raw_wallet(deps.rpc, wallet, mints, signal=signal), order.build()
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
    )
    instruction = build.instruction
    check_swap(instruction, expected)
    market, tables = yield from both(
        _read_market(deps.rpc, wallet, instruction, legs, raw.slot, signal),
        fetch_lookup_tables(deps.tables, deps.rpc, build.lookup_tables, signal),
    )
    facts = SwapFacts(legs[0].account, legs[1].account, raw.lamports, *market[1:])

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

    finish = _Finish(deps, compose, reserved, market, raw.slot, signal)
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
        compute.priority_fee,
        draft.budget.rent,
        draft.budget.required(market.wallet_minimum),
    )
    return PreparedSwap(draft.message, lifetime, compute, outlook)


def prepare_wrap(
    deps: SwapDeps,
    wallet: Address,
    amount: int,
    reserved: Callable[[], Steps[ReservedAmounts]],
    signal: Signal | None,
) -> Steps[PreparedSwap]:
    """A transaction that turns SOL into wrapped SOL, in the shape of a swap."""
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
    market = _Market(1, wallet_minimum, source_rent, 0)
    finish = _Finish(deps, compose, reserved, market, raw.slot, signal)
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


class _Finish(NamedTuple):
    """Simulates with the largest compute limit, then composes again with what is needed."""

    deps: SwapDeps
    compose: Callable[[ComputeBudget, str, ReservedAmounts], Draft]
    reserved: Callable[[], Steps[ReservedAmounts]]
    market: _Market
    # The slot at which the wallet's accounts were read.
    read_at: int
    signal: Signal | None

    def run(self) -> Steps[tuple[Draft, ComputeBudget, Lifetime]]:
        """Only the compute budget and the guard's lamports may differ between the two.

        Anything else is simulated again.
        """
        blockhashes, signal = self.deps.blockhashes, self.signal
        reserved = yield from self.reserved()
        first = yield from blockhashes.fresh(signal=signal)
        rehearsal = self.compose(ComputeBudget(_MAX_UNITS, 1), first.blockhash, reserved)
        used = yield from self._simulate(rehearsal)
        # A fifth more than was used, rounded up, and a little.
        units = min(_MAX_UNITS, math.ceil(used * 1.2) + 5_000)
        max_fee = self.deps.limits.max_priority_fee
        price = bounded_unit_price(self.market.unit_price, units, max_fee)
        compute = ComputeBudget(units, price)
        lifetime = yield from blockhashes.fresh(signal=signal)
        reserved = reserved.larger((yield from self.reserved()))
        draft = self.compose(compute, lifetime.blockhash, reserved)
        if _rest(rehearsal) == _rest(draft):
            self._check_affordable(draft)
        else:
            yield from self._simulate(draft)
        return draft, compute, lifetime

    def _simulate(self, draft: Draft) -> Steps[int]:
        self._check_affordable(draft)
        simulation = yield from self.deps.rpc.simulate(
            assemble_transaction(draft.message, {}),
            watched_accounts(draft.floors),
            min_slot=self.read_at,
            signal=self.signal,
        )
        check_simulation(
            simulation,
            draft.floors,
            self.read_at,
            self.deps.decoders,
            draft.swap_at,
            draft.guard_from,
        )
        return simulation.units_consumed

    def _check_affordable(self, draft: Draft) -> None:
        check_budget(
            draft.budget,
            draft.available_lamports,
            self.market.wallet_minimum,
            self.deps.limits.max_rent,
        )


def _rest(draft: Draft) -> list[Any]:
    """All but the compute budget and the guard's lamports."""
    return [
        (one.program, one.data, list(one.accounts))
        for one in draft.instructions[_COMPUTE_INSTRUCTIONS:-1]
    ]


def _read_market(
    rpc: Rpc,
    wallet: Address,
    instruction: Instruction,
    legs: Sequence[Leg],
    slot: int,
    signal: Signal | None,
) -> Steps[_Market]:
    """What else the chain must be asked: fees, rent, and what the venue could reach.

    Raises ``unsafe_swap`` if that is another account of the wallet.
    """
    own = [wallet, *(leg.account.address for leg in legs)]
    foreign = foreign_accounts(instruction, own)
    writable = dict.fromkeys(one.address for one in instruction.accounts if one.writable)

    def rent_of(leg: Leg) -> Steps[int]:
        if leg.account.exists:
            return done(0)
        return rpc.rent(account_bytes(leg.mint), signal=signal)

    exposed, numbers = yield from both(
        read_exposed(rpc, foreign, slot, signal),
        all_of(
            [
                _market_price(rpc, list(writable), signal),
                rpc.rent(0, signal=signal),
                *(rent_of(leg) for leg in legs),
            ]
        ),
    )
    check_exposure(wallet, exposed)
    return _Market(*numbers)


def _market_price(rpc: Rpc, writable: Sequence[Address], signal: Signal | None) -> Steps[int]:
    """Micro-lamports that win three quarters of the recent races for these accounts; at least 1.

    A node that cannot say is no reason not to swap.
    """
    try:
        fees = sorted((yield from rpc.priority_fees(writable[:_MAX_FEE_ACCOUNTS], signal=signal)))
    except Exception:
        if signal is not None:
            signal.check()
        return 1
    at = math.ceil(len(fees) * _PERCENTILE / 100) - 1
    return max(1, fees[at]) if fees else 1


def read_exposed(
    rpc: Any, foreign: Sequence[AccountMeta], slot: int | None, signal: Signal | None
) -> Steps[list[Exposed]]:
    """What lies in accounts of any number, as many read at once as the network allows."""
    addresses = [one.address for one in foreign]
    pages = [
        rpc.accounts(addresses[at : at + _READ_AT_ONCE], min_slot=slot, signal=signal)
        for at in range(0, len(addresses), _READ_AT_ONCE)
    ]
    read = yield from all_of(pages)
    accounts = [account for page in read for account in page.accounts]
    return [Exposed(one.address, one.writable, account) for one, account in zip(foreign, accounts)]
