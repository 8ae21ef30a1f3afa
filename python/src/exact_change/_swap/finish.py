"""Finishes a transaction: simulates it, and sets its compute budget within the limits."""

from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple

from .._base.amounts import U64_MAX
from .._base.runtime import Runtime
from .._firewall.decoders import Decoders
from .._firewall.simulation import check_simulation, watched_accounts
from .._kernel.signals import Signal
from .._kernel.steps import join, start
from .._kernel.task import Steps, Task
from .._solana.address import Address
from .._solana.message import assemble_transaction
from .._solana.rpc.blockhash import BlockhashSource
from .._solana.rpc.rpc import Rpc
from .._solana.tables import TableCache
from .._solana.types import Lifetime
from ..errors import is_code
from .budget import ComputeBudget, SwapLimits, bounded_unit_price, check_budget
from .compose import Draft
from .types import ReservedAmounts

_MAX_UNITS = 1_400_000
# Number of compute-budget instructions, which come first.
_COMPUTE_INSTRUCTIONS = 2


class SwapDeps(NamedTuple):
    decoders: Decoders
    rpc: Rpc
    runtime: Runtime
    blockhashes: BlockhashSource
    tables: TableCache
    limits: SwapLimits


class Finish(NamedTuple):
    """Simulates with the largest compute limit, then composes again with the limit it needs."""

    deps: SwapDeps
    wallet: Address
    compose: Callable[[ComputeBudget, str, ReservedAmounts], Draft]
    reserved: Callable[[], Steps[ReservedAmounts]]
    wallet_minimum: int
    # The slot at which the wallet's accounts were read.
    read_at: int
    # The market's price in micro-lamports per compute unit. Raises if the venue could reach another
    # account of the wallet, so the final transaction waits for it.
    unit_price: Task[int]
    signal: Signal | None
    # See `SwapOrder`.
    is_beside: bool = False
    # Added to the compute limit, so that otherwise equal transactions differ: a fee limit may leave
    # no room for a price.
    next: Callable[[str], Steps[int]] | None = None

    def run(self) -> Steps[tuple[Draft, ComputeBudget, Lifetime]]:
        """Returns the final transaction with its compute budget and lifetime.

        If more than the compute budget and the guard's lamports differ between the two
        transactions, simulates again.
        """
        blockhashes, signal = self.deps.blockhashes, self.signal
        reserved = yield from self.reserved()
        first = yield from blockhashes.fresh(signal=signal)
        rehearsal = self.compose(ComputeBudget(_MAX_UNITS, 1), first.blockhash, reserved)
        simulation = yield from start(self._rehearse(rehearsal, first.blockhash, reserved))
        unit_price = yield from join(self.unit_price)
        used = yield from join(simulation)
        lifetime = yield from blockhashes.fresh(signal=signal)
        # The landed transaction may use more units than the simulation: allow a fifth and 5,000.
        wanted = math.ceil(used * 1.2) + 5_000
        if self.next is not None:
            wanted += yield from self.next(lifetime.blockhash)
        units = min(_MAX_UNITS, wanted)
        max_fee = self.deps.limits.max_priority_fee
        compute = ComputeBudget(units, bounded_unit_price(unit_price, units, max_fee))
        reserved = reserved.larger((yield from self.reserved()))
        if self.is_beside:
            # `plan_swap` reduces this to the balance of the output.
            reserved = reserved._replace(output=U64_MAX)
        draft = self.compose(compute, lifetime.blockhash, reserved)
        if _other_instructions(rehearsal) == _other_instructions(draft):
            self._check_affordable(draft)
        else:
            yield from self._simulate(draft)
        return draft, compute, lifetime

    def _rehearse(self, draft: Draft, blockhash: str, reserved: ReservedAmounts) -> Steps[int]:
        """Returns the compute units of a simulation.

        If the wallet has too little SOL, the error names enough SOL for the market's price too.
        """
        try:
            return (yield from self._simulate(draft))
        except Exception as error:
            if not is_code(error, "insufficient_sol"):
                raise
            # The units are unknown without a simulation, so the most units are assumed.
            wanted = yield from join(self.unit_price)
            most = bounded_unit_price(wanted, _MAX_UNITS, self.deps.limits.max_priority_fee)
            compute = ComputeBudget(_MAX_UNITS, most)
            self._check_affordable(self.compose(compute, blockhash, reserved))
            raise

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
            self.wallet,
            draft.budget,
            draft.available_lamports,
            self.wallet_minimum,
            self.deps.limits.max_rent,
        )


def _other_instructions(draft: Draft) -> list[Any]:
    """Returns all instructions but the compute budget and the guard's lamports."""
    return [
        (instruction.program, instruction.data, list(instruction.accounts))
        for instruction in draft.instructions[_COMPUTE_INSTRUCTIONS:-1]
    ]
