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
    """Bounds and costs of a prepared transaction. Amounts in base units or lamports."""

    bounds: SwapBounds
    # The wallet's own token accounts.
    source: Address
    output: Address
    # Balance of the source before the swap, and the slot of the read. Base units, or the wallet's
    # lamports if it sells SOL.
    before: tuple[int, int]
    # Amounts that the guard lets be missing, because payments in flight may take them.
    leeway: ReservedAmounts
    # Base units that the output account held before the swap.
    output_before: int
    # Paid by the wallet; 0, like the priority fee and the rent, if a relayer pays.
    network_fee: int
    priority_fee: int
    # Rent of accounts that stay.
    rent: int
    # Lamports that the wallet must have for the swap to run, its own minimum included.
    required: int
    # The relayer that pays the lamports of the swap, if the wallet does not.
    relay: Relay | None = None

    @property
    def max_in(self) -> int:
        """The most that the swap takes, with the relayer's fee."""
        return self.bounds.max_in + relay_fee_in(self.relay, self.bounds.input_mint)

    @property
    def min_out(self) -> int:
        """The least that the swap brings, with the relayer's fee."""
        return self.bounds.min_out - relay_fee_in(self.relay, self.bounds.output_mint)


class PreparedSwap(NamedTuple):
    """An unsigned message, with its bounds and costs."""

    message: bytes
    lifetime: Lifetime
    compute: ComputeBudget
    expected: SwapOutlook


class SwapOrder(NamedTuple):
    bounds: SwapBounds
    build: Callable[[], Steps[SwapBuild]]
    # Amounts that our other transactions may still take; read before and after the chain is.
    reserved: Callable[[], Steps[ReservedAmounts]]
    # Whether an output of wrapped SOL stays wrapped, because a payment is made in it.
    keep_wrapped: bool = False
    # Whether the guard has no leeway: the swap fails if a `reserved` amount leaves meanwhile.
    is_strict: bool = False
    signal: Signal | None = None
    # The relayer that pays the lamports of the swap, if the wallet does not.
    relay: Relay | None = None
    # Called before signing; if it raises, the swap is not signed.
    on_planned: Callable[[SwapOutlook], Steps[None]] | None = None
    # Whether payments may begin while the swap lands, from the whole balance of the output. The
    # signed guard lets that balance be missing. The simulated guard does not, so that a venue must
    # bring all that was agreed.
    is_beside: bool = False

    def plan(self, expected: SwapOutlook) -> Steps[None]:
        if self.on_planned is not None:
            yield from self.on_planned(expected)


def prepare_swap(deps: SwapDeps, wallet: Address, order: SwapOrder) -> Steps[PreparedSwap]:
    """Builds, checks, composes and simulates a swap without signing it.

    Raises the errors of the provider, and the errors of the firewall and the chain. After
    ``transaction_too_large``, quote again with fewer accounts. Signs and sends nothing.
    """
    bounds, signal = order.bounds, order.signal
    before = yield from order.reserved()
    mints = [bounds.input_mint, bounds.output_mint]
    (raw, build), _ = yield from both(
        both(read_raw_wallet(deps.rpc, wallet, mints, signal), order.build()),
        # Ask early for rents that `read_rents` may need later: the connection keeps these answers.
        all_of([deps.rpc.rent(size, signal=signal) for size in (0, TOKEN_ACCOUNT_BYTES)]),
    )
    legs = [read_leg(wallet, raw_leg) for raw_leg in raw.legs]
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
    # The first simulation does not wait for the price and the exposure; the final one does.
    unit_price = yield from start(
        read_market(deps.rpc, wallet, instruction, legs, raw.slot, signal)
    )
    rents, tables = yield from both(
        read_rents(deps.rpc, wallet, legs, raw.slot, signal),
        fetch_lookup_tables(deps.tables, deps.rpc, build.lookup_tables, signal),
    )
    # A wallet that pays no fee may be empty.
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
        # Amounts that were reserved before the read still count: a transaction may land in between,
        # unseen by that read.
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
    next_: Callable[[str], Steps[int]],
    signal: Signal | None,
) -> Steps[PreparedSwap]:
    """Prepares a transaction that turns SOL into wrapped SOL; it has the shape of a swap.

    ``next_`` counts the transactions on a blockhash. Two equal wraps would be one transaction,
    which lands once, and no guard tells them apart.
    """
    raw = yield from read_raw_wallet(deps.rpc, wallet, [WSOL_MINT], signal)
    account, mint, _ = read_leg(wallet, raw.legs[0])
    rent: Steps[int] = done(0)
    if not account.exists:
        rent = deps.rpc.rent(account_bytes(mint), signal=signal)
    wallet_minimum, source_rent = yield from both(deps.rpc.rent(0, signal=signal), rent)

    def compose(compute: ComputeBudget, blockhash: str, _: ReservedAmounts) -> Draft:
        return compose_wrap(wallet, account, amount, raw.lamports, source_rent, compute, blockhash)

    def reserved() -> Steps[ReservedAmounts]:
        return done(NOTHING_RESERVED)

    # The least price, because no other wallet competes for the wallet's own accounts.
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
