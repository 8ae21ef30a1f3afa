from __future__ import annotations

from typing import Any, Mapping, Sequence

from exact_change._base.network import TOKEN_PROGRAMS
from exact_change._firewall.exposure import foreign_accounts
from exact_change._firewall.inner import INNER_RULES, InnerSubject
from exact_change._firewall.inspect import Inspection
from exact_change._firewall.instruction import swap_rules, swap_subject
from exact_change._firewall.rule import broken_by
from exact_change._kernel.hosts import threads
from exact_change._kernel.signals import Signal
from exact_change._kernel.steps import done
from exact_change._kernel.task import Steps
from exact_change._solana.address import Address
from exact_change._solana.rpc.fault import Fault
from exact_change._solana.rpc.inner import read_inner
from exact_change._solana.rpc.types import Account, Accounts, Simulation
from exact_change._solana.types import AccountMeta, Instruction
from exact_change._swap.types import SwapBounds
from exact_change.errors import ExactChangeError

from ..spec import data, of, piece, vectors
from .rows import DECODERS, expected_of, instruction_of


class Simulated(Exception):
    """Raised in place of a simulation, after the static rules have passed."""


class World:
    """A chain with fixed accounts."""

    def __init__(self, row: Mapping[str, Any], changed: Mapping[str, Any]) -> None:
        self._row = row
        self._accounts = {**row["accounts"], **changed}

    def accounts(
        self,
        addresses: Sequence[Address],
        *,
        min_slot: int | None = None,
        signal: Signal | None = None,
    ) -> Steps[Accounts]:
        found = (self._accounts.get(address) for address in addresses)
        accounts = [
            None if row is None else Account(row["owner"], int(row["lamports"]), data(row["data"]))
            for row in found
        ]
        return done(Accounts(int(self._row["slot"]), accounts))

    def rent(self, size: int, *, signal: Signal | None = None) -> Steps[int]:
        rent = self._row["rent"]
        return done((size + rent["over"]) * rent["per"])

    def simulate(
        self,
        transaction: bytes,
        watch: Sequence[Address],
        *,
        min_slot: int | None = None,
        signal: Signal | None = None,
    ) -> Steps[Simulation]:
        raise Simulated


def broken_rule(world: World, transaction: object, terms: Mapping[str, Any]) -> str | None:
    bounds = SwapBounds(
        terms["inputMint"],
        terms["outputMint"],
        int(terms["maxIn"]),
        int(terms["minOut"]),
        terms["slippageBps"],
    )
    inspection = Inspection(world, terms["wallet"], bounds, DECODERS, int(terms["maxPriorityFee"]))
    try:
        threads.run(inspection.run(transaction))
    except Simulated:
        return None
    except ExactChangeError as error:
        assert error.code == "account_unusable"
        reason: str = error.details["reason"]
        return reason
    assert inspection.broken is not None
    return inspection.broken.id


def test_names_the_rule_of_typescript_for_every_transaction_of_the_corpus() -> None:
    (world,) = of("firewall", "world")
    agreed = [row["terms"] for row in of("firewall", "agreed")]
    known: list[bytes] = []
    for row in of("firewall", "case"):
        transaction: object = row.get("text")
        if "bytes" in row:
            transaction = piece(row["bytes"], known)
        chain = World(world, row.get("changed", {}))
        assert broken_rule(chain, transaction, agreed[row["agreed"]]) == row["out"], row["id"]


def test_refuses_a_value_that_is_no_transaction() -> None:
    (world,) = of("firewall", "world")
    terms = next(of("firewall", "agreed"))["terms"]
    for value in (None, 7, "", b"", b"\0" * 5_000, "A" * 9_000, [1, 2]):
        assert broken_rule(World(world, {}), value, terms) == "transaction_encoding"


def test_judges_the_wallet_before_the_mints_as_typescript_does() -> None:
    (world,) = of("firewall", "world")
    agreed = [row["terms"] for row in of("firewall", "agreed")]
    row = next(row for row in of("firewall", "case") if row["out"] is None)
    terms = agreed[row["agreed"]]
    assigned = {**world["accounts"][terms["wallet"]], "owner": terms["outputMint"]}
    chain = World(world, {terms["wallet"]: assigned, terms["inputMint"]: None})
    transaction = piece(row["bytes"], [])
    assert broken_rule(chain, transaction, terms) == "it is not a plain wallet"


def test_names_the_rule_of_typescript_for_every_instruction_of_the_corpus() -> None:
    for row in of("firewall", "instruction"):
        expected = expected_of(row["expected"])
        subject = swap_subject(instruction_of(row["instruction"]), expected)
        broken = broken_by(swap_rules(DECODERS), subject)
        assert (broken and broken.id) == row["out"], row["id"]


def test_judges_inner_instructions_as_typescript_does() -> None:
    for row in vectors("inner"):
        try:
            inner = read_inner([{"index": 3, "instructions": row["in"]}])
        except Fault:
            assert "refused" in row, row
            continue
        assert "refused" not in row, row
        assert [
            (call.outer, call.program, call.name, list(call.addresses), call.creates)
            for call in inner
        ] == [
            (
                call["outer"],
                call["program"],
                call.get("name"),
                call["addresses"],
                call.get("creates"),
            )
            for call in row["inner"]
        ]
        broken = broken_by(INNER_RULES, InnerSubject(inner, 3, row["wallet"], row["own"]))
        assert (broken and broken.id) == row["out"], row


def test_leaves_out_programs_of_the_network_unless_they_could_be_written() -> None:
    """Else the node would send a tenth of a megabyte of code for each token program."""
    program = TOKEN_PROGRAMS[0]

    def found(*rights: bool) -> list[AccountMeta]:
        accounts = [AccountMeta(program, False, writable) for writable in rights]
        return foreign_accounts(Instruction(program, accounts, b""), [])

    assert found() == found(False) == []
    for named in ([True], [False, True], [True, False]):
        assert found(*named) == [AccountMeta(program, False, True)]
