"""The total that the waiting payments of a wallet need from a swap."""

from __future__ import annotations

import asyncio

from exact_change._journal.registry import NeededByMint
from exact_change._kernel.hosts import LoopHost, loop_host, threads


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
