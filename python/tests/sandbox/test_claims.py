"""What is claimed while an event loop of the same wallet was closed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Sequence

from exact_change import Client
from exact_change._kernel.hosts import loop_host, threads
from exact_change._kernel.steps import all_of, sleep
from exact_change._kernel.task import Steps
from exact_change._payments.claims import body_claim, drop_gone, take_claims

from ..buyer import journal_of
from ..node import Sandbox


class _Claims:
    """Claims in memory; the first that are dropped take a while."""

    def __init__(self) -> None:
        self.claimed: set[str] = set()
        self._is_slow = True

    def take(self, ids: Sequence[str]) -> Steps[None]:
        self.claimed.update(ids)
        yield from ()

    def drop(self, ids: Sequence[str]) -> Steps[None]:
        self.claimed.difference_update(ids)
        if self._is_slow:
            self._is_slow = False
            yield from sleep(50)

    def live(self, ids: Sequence[str]) -> Steps[set[str]]:
        yield from ()
        return self.claimed.intersection(ids)


def test_what_is_claimed_anew_after_a_closed_loop_stays_claimed(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    """Two calls look at once, and one of them goes on before the other is done."""
    client = Client(**sandbox.options(sandbox.wallet()))
    context = client._payer.thread_engine().context
    claims = context.claims = _Claims()
    journal = journal_of({"path": str(tmp_path / "journal")})
    context.config = context.config._replace(journal=journal.shared)
    names = ["one", body_claim("one")]

    async def take() -> None:
        for name in names:
            await loop_host().run(take_claims(context, [name], claims.take([name])))

    def take_anew() -> Steps[None]:
        yield from drop_gone(context)
        yield from take_claims(context, names, claims.take(names))

    asyncio.run(take())
    threads.run(all_of([drop_gone(context), take_anew()]))
    assert claims.claimed == set(names) == set(context.wallet.claims)
    client.close()
