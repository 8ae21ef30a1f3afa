"""The recorded balance of an account after a swap into it and payments out of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from exact_change._base.network import TOKEN_PROGRAMS
from exact_change._journal.balances import Fresh
from exact_change._journal.ledger import Ledger, MemoryBalances
from exact_change._kernel.hosts import threads
from exact_change._payments.reconcile.swap_outcome import remember_after, remember_since
from exact_change._solana.rpc.types import (
    Account,
    Accounts,
    LandedTransaction,
    TokenBalanceChange,
)

SOURCE, OUTPUT = "source", "output"
PRICE = 10
SLOT = 7
FRESH = Fresh(0, 0)
PAYMENTS = ("one", "two", "three", "four")


def chain_with(amount: int | None) -> Any:
    """Returns a chain of one account with this amount at the end of each slot.

    Without an amount, the chain gives no answer.
    """
    if amount is None:
        return SimpleNamespace()
    data = bytearray(165)
    data[64:72] = amount.to_bytes(8, "little")
    data[108] = 1
    account = Account(TOKEN_PROGRAMS[0], 1, bytes(data))

    def accounts(_addresses: Any, min_slot: int) -> Any:
        assert min_slot == SLOT
        yield from ()
        return Accounts(SLOT, [account])

    return SimpleNamespace(accounts=accounts)


@pytest.mark.parametrize(("later", "held"), [(0, 90), (2, 90), (4, 90), (4, None)])
def test_records_no_more_than_the_balance_when_four_payments_landed_in_its_slot(
    later: int, held: int | None
) -> None:
    """``later`` payments land after the swap; all their ends are recorded before the swap's."""
    ledger = Ledger(MemoryBalances())
    threads.run(ledger.see(OUTPUT, len(PAYMENTS) * PRICE, 0, 1))
    for payment in PAYMENTS:
        threads.run(ledger.take(OUTPUT, payment, PRICE, FRESH))
    for payment in PAYMENTS:
        threads.run(ledger.spend(OUTPUT, payment, SLOT))
    context: Any = SimpleNamespace(ledger=ledger, rpc=chain_with(held), now=lambda: 0)
    before = later * PRICE
    changes = (
        TokenBalanceChange(SOURCE, "in", 500, 400),
        TokenBalanceChange(OUTPUT, "out", before, before + 90),
    )
    landed = LandedTransaction(SLOT, None, ["swap"], 0, changes, True, {})

    threads.run(remember_after(context, landed, (SOURCE, OUTPUT), frozenset({OUTPUT})))

    assert threads.run(ledger.available(OUTPUT, FRESH)) == held


def test_lets_no_late_reading_replace_the_balance_after_a_swap_that_no_node_gives() -> None:
    ledger = Ledger(MemoryBalances())
    context: Any = SimpleNamespace(ledger=ledger, rpc=chain_with(95), now=lambda: 0)
    threads.run(remember_since(context, OUTPUT, SLOT, 90))
    threads.run(ledger.see(OUTPUT, 5, 0, SLOT - 1))
    assert threads.run(ledger.available(OUTPUT, FRESH)) == 95


def test_knows_the_least_balance_after_a_swap_when_no_node_answers() -> None:
    ledger = Ledger(MemoryBalances())
    context: Any = SimpleNamespace(ledger=ledger, rpc=chain_with(None), now=lambda: 0)
    threads.run(remember_since(context, OUTPUT, SLOT, 90))
    assert threads.run(ledger.available(OUTPUT, FRESH)) == 90
