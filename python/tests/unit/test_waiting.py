"""What a swap waits for: the needs of the waiting payments, and calls that choose what to pay."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from exact_change._journal.registry import ChoosingCalls, NeededByMint
from exact_change._kernel.hosts import LoopHost, loop_host, threads
from exact_change._kernel.steps import park
from exact_change._kernel.task import Steps
from exact_change._payments import pay


def test_counts_no_need_of_a_payment_after_its_event_loop_closed() -> None:
    waiting = NeededByMint()

    async def wait() -> LoopHost:
        waiting.enter(loop_host(), "mint", 5)
        return loop_host()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(wait())
    leave = waiting.enter(threads, "mint", 3)
    waiting.enter(threads, "other", 7)
    assert waiting.needed("mint") == 8
    loop.close()
    assert waiting.needed("mint") == 3
    leave()
    assert (waiting.needed("mint"), waiting.needed("other")) == (0, 7)


def test_waits_for_no_choice_of_a_call_after_its_event_loop_closed() -> None:
    choosing = ChoosingCalls()

    async def choose() -> None:
        choosing.enter(loop_host())

    loop = asyncio.new_event_loop()
    loop.run_until_complete(choose())
    leave = choosing.enter(threads)
    assert not choosing.is_empty
    loop.close()
    leave()
    assert choosing.is_empty
    threads.run(choosing.all_chosen())


def test_a_finalizer_of_a_choosing_call_wakes_no_other_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def choose(*_: object) -> Steps[Any]:
        yield park(lambda _host, _wake: ())

    monkeypatch.setattr(pay, "_choose_once", choose)
    choosing = ChoosingCalls()
    context: Any = SimpleNamespace(wallet=SimpleNamespace(choosing_calls=choosing))
    unused: Any = None
    steps = pay._choose_and_sign(context, unused, unused, None)
    next(steps)
    steps.send(threads)
    steps.close()
    assert not choosing.is_empty
