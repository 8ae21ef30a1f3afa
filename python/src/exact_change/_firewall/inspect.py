"""Judges a foreign transaction as it is, by every rule, and drops no part of it."""

from __future__ import annotations

from typing import Sequence, TypeVar

from typing_extensions import Literal

from .._base.network import WSOL_MINT
from .._kernel.steps import all_of, both
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.message import assemble_transaction
from .._solana.rpc.types import Account, Reads
from .._solana.tables import TableCache
from .._solana.types import Instruction
from .._swap.excess import read_excess
from .._swap.market import read_exposed
from .._swap.read_facts import (
    TOKEN_ACCOUNT_BYTES,
    CreationCost,
    RawLeg,
    account_bytes,
    creation_cost,
    own_account_of,
    read_raw_wallet,
)
from .._swap.types import SwapBounds, SwapCall
from ..errors import is_code
from .costs import Before, Costs, costs_of
from .decoders import Decoders, is_swap, temporary_of
from .expected import Surroundings, SwapExpectation, Temporary
from .exposure import EXPOSURE_RULES, ExposureSubject, account_exists, foreign_accounts
from .foreign import read_swap
from .guard import OwnAccount, guards_hold, guards_in
from .inner import INNER_RULES, InnerSubject
from .instruction import swap_rules, swap_subject
from .own_accounts import OWN_ACCOUNT_RULES, OwnAccountSubject
from .rule import Rule, RuleText, refusal
from .shape import temporary_in
from .simulation import (
    GUARD_RULE,
    SIMULATION_RULES,
    is_guard_failure,
    simulation_subject,
    watched_accounts,
)
from .surroundings import SURROUNDINGS_RULES, closes_wrapped, created_in

T = TypeVar("T")


class Inspection:
    """One inspection. Each stage leaves its findings for the next stage and for the verdict."""

    def __init__(
        self,
        node: Reads,
        wallet: Address,
        bounds: SwapBounds,
        decoders: Decoders,
        max_priority_fee: int,
    ) -> None:
        self.broken: RuleText | None = None
        self.outcomes: dict[str, Literal["passed", "broken"]] = {}
        self.instructions: Sequence[Instruction] = ()
        self.expected: SwapExpectation | None = None
        self.call: SwapCall | None = None
        self.costs: Costs | None = None
        self.guarded = False
        self._node = node
        self._wallet = wallet
        self._bounds = bounds
        self._decoders = decoders
        self._max_priority_fee = max_priority_fee

    def run(self, transaction: object) -> Steps[None]:
        """Judges a transaction. A broken rule is a finding, not an error.

        Raises ``TransportError`` if the node fails, and ``unknown_mint``, ``mint_not_supported`` or
        ``account_unusable`` for the mints and the wallet of the terms.
        """
        try:
            yield from self._judge(transaction)
        except Exception as error:
            # A broken rule only ends the inspection. Any other error is for the caller.
            if self.broken is None or not is_code(error, "unsafe_swap"):
                raise

    def _judge(self, transaction: object) -> Steps[None]:
        wallet, decoders = self._wallet, self._decoders
        message, self.instructions, _ = yield from read_swap(
            self._node, TableCache(), transaction, wallet, decoders, self._check, None
        )
        swap_at = next(
            at
            for at, instruction in enumerate(self.instructions)
            if is_swap(decoders, instruction, wallet)
        )
        swap = self.instructions[swap_at]

        bounds = self._bounds
        mints = [bounds.input_mint, bounds.output_mint, WSOL_MINT]
        raw = yield from read_raw_wallet(self._node, wallet, mints, None)
        temporary, found = yield from self._read_temporary(raw.slot)
        legs = [
            leg._replace(address=temporary.address, account=found)
            if temporary is not None and leg.mint_address == WSOL_MINT
            else leg
            for leg in raw.legs
        ]
        source, output, wrapped = legs
        self.expected = SwapExpectation(
            decoders,
            wallet,
            bounds.input_mint,
            bounds.output_mint,
            source.mint.token_program,
            output.mint.token_program,
            *bounds[2:],
            None if temporary is None else temporary.address,
        )
        subject = Surroundings(
            self.instructions, swap_at, self.expected, self._max_priority_fee, temporary
        )
        touched = legs if closes_wrapped(subject) else legs[:2]
        self._check_all(
            OWN_ACCOUNT_RULES,
            [
                OwnAccountSubject(wallet, leg.mint_address, leg.held)
                for leg in touched
                if account_exists(leg.account)
            ],
        )
        self._check(SURROUNDINGS_RULES, subject)
        swapping = swap_subject(swap, self.expected)
        self._check(swap_rules(decoders), swapping)
        self.call = swapping.call

        own = [wallet, source.address, output.address]
        created = created_in(subject) + ([] if temporary is None else [temporary.address])
        exposed, (makings, excess) = yield from both(
            read_exposed(self._node, foreign_accounts(swap, own), raw.slot, None),
            both(self._read_makings(created, legs), self._read_excess(legs[:2], raw.slot)),
        )
        self._check(EXPOSURE_RULES, ExposureSubject(wallet, exposed))

        # Compare addresses, because the wrapped SOL account can also be the input or the output.
        used = {leg.address for leg in touched}

        def account_of(leg: RawLeg) -> OwnAccount:
            judged = leg if leg.address in used else leg._replace(account=None)
            account = own_account_of(wallet, judged)
            made = makings.get(leg.address)
            return account if made is None else account._replace(uncounted=made.uncounted)

        before = Before(
            raw.lamports,
            account_of(source),
            account_of(output),
            account_of(wrapped),
            makings,
            excess,
        )
        yield from self._simulate(message, subject, swapping.call, before, raw.slot)

    def _simulate(
        self,
        message: bytes,
        subject: Surroundings,
        call: SwapCall | None,
        before: Before,
        read_at: int,
    ) -> Steps[None]:
        if call is None:
            return
        # Use the instruction's own amounts: the rules have checked them against the terms.
        expected = subject.expected._replace(max_in=call.max_in, min_out=call.min_out)
        self.costs = costs_of(subject._replace(expected=expected), before)
        floors = self.costs.floors
        guards = guards_in(subject)
        self.guarded = guards_hold(guards, floors) and not self.costs.leaves_excess
        is_closed = guards.lamports is not None
        guard_from = len(subject.instructions) - len(guards.tokens) - is_closed
        simulation = yield from self._node.simulate(
            assemble_transaction(message, {}),
            watched_accounts(floors),
            min_slot=read_at,
        )
        if is_guard_failure(simulation, guard_from):
            self._break(GUARD_RULE)
        self._check(SIMULATION_RULES, simulation_subject(simulation, floors, read_at))
        own = [token.account.address for token in floors.tokens]
        made_at = next(
            (
                at
                for at, instruction in enumerate(subject.instructions)
                if temporary_of(self._decoders, instruction, self._wallet) is not None
            ),
            -1,
        )
        inner = InnerSubject(simulation.inner, subject.swap_at, self._wallet, own, made_at)
        self._check(INNER_RULES, inner)
        if self.guarded:
            self.outcomes[GUARD_RULE.id] = "passed"

    def _read_temporary(self, slot: int) -> Steps[tuple[Temporary | None, Account | None]]:
        """Reads the temporary SOL account, as the chain has it before a transaction makes it."""
        address = temporary_in(self._decoders, self.instructions, self._wallet)
        if address is None:
            return None, None
        (read, rent) = yield from both(
            self._node.accounts([address], min_slot=slot),
            self._node.rent(TOKEN_ACCOUNT_BYTES),
        )
        account: Account | None = read.accounts[0]
        return Temporary(address, rent, not account_exists(account)), account

    def _read_makings(
        self, created: Sequence[Address], legs: Sequence[RawLeg]
    ) -> Steps[dict[Address, CreationCost]]:
        """Reads the lamports that creating each missing account takes, and that then count."""
        missing = [
            leg for leg in legs if leg.address in created and not account_exists(leg.account)
        ]
        rents = yield from all_of([self._node.rent(account_bytes(leg.mint)) for leg in missing])
        return {
            leg.address: creation_cost(own_account_of(self._wallet, leg), rent)
            for leg, rent in zip(missing, rents)
        }

    def _read_excess(self, legs: Sequence[RawLeg], slot: int) -> Steps[dict[Address, int]]:
        """Reads the lamports beyond its rent that the wallet can withdraw from each account."""
        node, wallet = self._node, self._wallet
        accounts = [own_account_of(wallet, leg) for leg in legs]
        sizes = [leg.rented_bytes for leg in legs]
        found = yield from all_of(
            [
                read_excess(node, wallet, account, size, slot, None)
                for account, size in zip(accounts, sizes)
            ]
        )
        return {account.address: excess for account, excess in zip(accounts, found)}

    def _check(self, rules: Sequence[Rule[T]], subject: T) -> None:
        self._check_all(rules, [subject])

    def _check_all(self, rules: Sequence[Rule[T]], subjects: Sequence[T]) -> None:
        """Goes rule by rule: a rule counts as passed only if all subjects pass it."""
        for rule in rules:
            if not all(map(rule.passes, subjects)):
                self._break(rule.text)
            self.outcomes[rule.id] = "passed"

    def _break(self, text: RuleText) -> None:
        self.outcomes[text.id] = "broken"
        self.broken = text
        raise refusal(text)
