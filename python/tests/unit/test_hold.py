"""Holds of a payment, while the known balance ages or is forgotten between two reads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Callable

import pytest

from exact_change._base.network import SOLANA_MAINNET, TOKEN_PROGRAMS
from exact_change._journal.along import AlongMemory
from exact_change._journal.balances import Fresh
from exact_change._journal.coordination import MemoryCoordination
from exact_change._journal.ledger import Ledger, MemoryBalances
from exact_change._journal.locks import MemoryLocks
from exact_change._journal.memory import MemoryJournal
from exact_change._journal.registry import NeededByMint
from exact_change._kernel.hosts import threads
from exact_change._kernel.signals import Signal
from exact_change._payments.fund import FundTask, HeldFunds, fund_payment
from exact_change._payments.memory import KnownMint, Memory
from exact_change._payments.short import outdate_balance
from exact_change._solana.address import address_bytes
from exact_change._solana.rpc.types import Account
from exact_change._solana.tokens import associated_token_address
from exact_change.errors import ExactChangeError

from ..holder import attempt

WALLET = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"
USDC = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
PROGRAM = TOKEN_PROGRAMS[0]
SOURCE = associated_token_address(WALLET, USDC, PROGRAM)
BALANCE = 1_000
NOW = 10**12


def wallet_at(now: Callable[[], int]) -> Any:
    """Returns the parts of a context that a hold needs; the wallet has 1,000 base units."""
    data = bytearray(165)
    data[0:32] = address_bytes(USDC)
    data[32:64] = address_bytes(WALLET)
    data[64:72] = BALANCE.to_bytes(8, "little")
    data[108] = 1
    account = Account(PROGRAM, 2_039_280, bytes(data), False)

    def accounts(_page: Any, signal: Any = None) -> Any:
        del signal
        yield from ()
        return 1, [account]

    memory = Memory()
    memory.mints[USDC] = KnownMint(PROGRAM, 6)
    memory.payees.add(SOURCE)
    config = SimpleNamespace(network=SOLANA_MAINNET, wallet=WALLET, auto_swap=False)
    return SimpleNamespace(
        config=config,
        memory=memory,
        now=now,
        rpc=SimpleNamespace(accounts=accounts),
        journal=AlongMemory(MemoryJournal(), MemoryCoordination({})),
        ledger=Ledger(MemoryBalances()),
        locks=MemoryLocks(),
        closing=Signal(),
        wallet=SimpleNamespace(needed_by_mint=NeededByMint()),
        owner=SimpleNamespace(wallet=WALLET, network=SOLANA_MAINNET),
    )


def hold(context: Any, amount: int = BALANCE) -> HeldFunds:
    """Funds a payment that has no hold yet."""
    reserved = attempt("one")
    threads.run(context.journal.reserve(reserved, []))

    def emit(*_args: Any, **_fields: Any) -> Any:
        yield from ()

    offer = SimpleNamespace(
        mint=USDC, pay_to=WALLET, amount=amount, claimed_decimals=None, fee_payer=""
    )
    choice: Any = SimpleNamespace(
        offer=offer, facts=SimpleNamespace(source=SOURCE, available=0, decimals=6)
    )
    unused: Any = None
    reservation: Any = SimpleNamespace(attempt=reserved)
    task = FundTask("one", emit, None, unused, reservation, unused, lambda: None)
    return threads.run(fund_payment(context, choice, task))


@pytest.mark.parametrize("seconds", range(1, 13))
def test_holds_the_whole_balance_at_any_age_of_its_reading(seconds: int) -> None:
    """The ledger trusts a balance for 30 s."""
    for age in range(32):
        time = NOW

        def now() -> int:
            nonlocal time
            time += seconds * 1_000
            return time

        context = wallet_at(now)
        threads.run(context.ledger.see(SOURCE, BALANCE, NOW - age * 1_000, 1))
        held = hold(context)
        assert held.before is not None
        assert held.before.amount == BALANCE


def test_holds_the_whole_balance_when_another_call_forgets_the_account() -> None:
    reads = 0

    def now() -> int:
        nonlocal reads
        reads += 1
        if reads % 2 == 0 and reads < 6:
            # A ledger in memory never waits, so its steps yield nothing.
            assert list(context.ledger.forget(SOURCE)) == []
        return NOW

    context = wallet_at(now)
    assert hold(context).before is not None


def test_rejects_with_insufficient_funds_when_the_amount_exceeds_the_balance() -> None:
    with pytest.raises(ExactChangeError) as failed:
        hold(wallet_at(lambda: NOW), BALANCE + 1)
    assert failed.value.code == "insufficient_funds"


def test_counts_no_payment_as_unspent_that_left_while_a_dearer_price_was_refused() -> None:
    context = wallet_at(lambda: NOW)
    ledger, fresh = context.ledger, Fresh(NOW, NOW)
    threads.run(ledger.see(SOURCE, 100, NOW, 1))
    refused: Any = SimpleNamespace(source=SOURCE, available=100)
    threads.run(ledger.take(SOURCE, "landed", 10, fresh))
    threads.run(ledger.spend(SOURCE, "landed", 2))
    threads.run(ledger.take(SOURCE, "in flight", 15, fresh))
    threads.run(outdate_balance(context, refused))
    assert threads.run(ledger.available(SOURCE, fresh)) is None
    threads.run(ledger.see(SOURCE, 90, NOW, 3))
    assert threads.run(ledger.available(SOURCE, fresh)) == 75
