from __future__ import annotations

from typing import Any, Mapping, Sequence

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
from exact_change._swap.types import SwapBounds
from exact_change.errors import ExactChangeError

from ..spec import data, of, piece, vectors
from .rows import DECODERS, expected_of, instruction_of


class Simulated(Exception):
    """The static stages are over: from here on the transaction would be run."""


class World:
    """A chain that stands still."""

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
        found = (self._accounts.get(one) for one in addresses)
        accounts = [
            None if one is None else Account(one["owner"], int(one["lamports"]), data(one["data"]))
            for one in found
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


def verdict_on(world: World, transaction: object, terms: Mapping[str, Any]) -> str | None:
    bounds = SwapBounds(
        terms["inputMint"],
        terms["outputMint"],
        int(terms["maxIn"]),
        int(terms["minOut"]),
        terms["slippageBps"],
    )
    judged = Inspection(world, terms["wallet"], bounds, DECODERS, int(terms["maxPriorityFee"]))
    try:
        threads.run(judged.run(transaction))
    except Simulated:
        return None
    except ExactChangeError as error:
        assert error.code == "account_unusable"
        reason: str = error.details["reason"]
        return reason
    assert judged.broken is not None
    return judged.broken.id


def test_every_transaction_of_the_corpus_meets_the_rule_that_typescript_names() -> None:
    (world,) = of("firewall", "world")
    agreed = [row["terms"] for row in of("firewall", "agreed")]
    known: list[bytes] = []
    for row in of("firewall", "case"):
        transaction: object = row.get("text")
        if "bytes" in row:
            transaction = piece(row["bytes"], known)
        chain = World(world, row.get("changed", {}))
        assert verdict_on(chain, transaction, agreed[row["agreed"]]) == row["out"], row["id"]


def test_what_is_no_transaction_is_refused() -> None:
    (world,) = of("firewall", "world")
    terms = next(of("firewall", "agreed"))["terms"]
    for nothing in (None, 7, "", b"", b"\0" * 5_000, "A" * 9_000, [1, 2]):
        assert verdict_on(World(world, {}), nothing, terms) == "transaction_encoding"


def test_every_instruction_of_the_corpus_meets_the_rule_that_typescript_names() -> None:
    for row in of("firewall", "instruction"):
        expected = expected_of(row["expected"])
        subject = swap_subject(instruction_of(row["instruction"]), expected)
        broken = broken_by(swap_rules(DECODERS), subject)
        assert (broken and broken.id) == row["out"], row["id"]


def test_what_programs_call_inside_is_judged_as_in_typescript() -> None:
    for row in vectors("inner"):
        try:
            inner = read_inner([{"index": 3, "instructions": row["in"]}])
        except Fault:
            assert "refused" in row, row
            continue
        assert "refused" not in row, row
        assert [
            (one.outer, one.program, one.name, list(one.addresses), one.creates) for one in inner
        ] == [
            (one["outer"], one["program"], one.get("name"), one["addresses"], one.get("creates"))
            for one in row["inner"]
        ]
        broken = broken_by(INNER_RULES, InnerSubject(inner, 3, row["wallet"], row["own"]))
        assert (broken and broken.id) == row["out"], row
