"""State that threads make and read at the same time, outside of turns."""

from __future__ import annotations

import threading
import weakref
from typing import Any, Iterator

import pytest

from exact_change._journal import locks, registry
from exact_change._journal.registry import Wallet, wallet_of


def test_gives_two_threads_that_ask_at_once_the_same_wallet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    others: list[Wallet] = []

    def make(counts: dict[str, int]) -> Wallet:
        monkeypatch.setattr(registry, "Wallet", Wallet)
        # The other thread asks while this one makes the wallet.
        asking = threading.Thread(target=lambda: others.append(wallet_of("address", "network")))
        asking.start()
        asking.join(60)
        return Wallet(counts)

    monkeypatch.setattr(registry, "Wallet", make)
    assert [wallet_of("address", "network")] == others


def test_lists_all_locks_while_another_thread_makes_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    class Set(weakref.WeakSet[Any]):
        def __iter__(self) -> Iterator[Any]:
            for one in super().__iter__():
                yield one
                if len(made) == 1:
                    # It ends only after the list if it has to wait for the list.
                    making.start()
                    making.join(1)

    every = Set()
    monkeypatch.setattr(locks, "_all", every)
    making = threading.Thread(target=lambda: made.append(locks.MemoryLocks()))
    made.append(locks.MemoryLocks())
    locks.free_abandoned_locks()
    making.join(60)
    assert len(every) == 2
