"""Claims of calls after an event loop closed, and while a journal cannot record their end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Callable, Sequence

import httpx
import pytest

from exact_change import Client, file_journal
from exact_change._base.network import TOKEN_PROGRAMS
from exact_change._journal.registry import wallet_of
from exact_change._journal.released_claims import ClaimsWithReleases
from exact_change._kernel.hosts import loop_host, threads
from exact_change._kernel.signals import Signal
from exact_change._kernel.steps import all_of, background, quiet, sleep, until_aborted
from exact_change._kernel.task import Steps
from exact_change._payments.claims import (
    body_claim,
    claims_released,
    delay_next_call,
    delaying_equal_calls,
    drop_abandoned_claims,
    equal_calls_ended,
    take_claims,
)
from exact_change._payments.journal_timeouts import _TimedClaims
from exact_change._payments.task import Purpose
from exact_change._solana.tokens import associated_token_address

from ..buyer import journal_of
from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE, Payer, failure_of, until
from ..seller import MAINNET, Reply, Seen, offer, settle, terms


class _Claims:
    """Claims in memory; the first drop is slow."""

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


def test_keeps_a_claim_that_is_taken_anew_after_its_first_loop_closed(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    """Two calls look for orphaned claims at once, and one call goes on before the other ends."""
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
        yield from drop_abandoned_claims(context)
        yield from take_claims(context, names, claims.take(names))

    asyncio.run(take())
    threads.run(all_of([drop_abandoned_claims(context), take_anew()]))
    assert claims.claimed == set(names) == set(context.wallet.claims)
    client.close()


def test_forgets_what_calls_on_a_closed_loop_left_though_their_journal_is_closed(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    client = Client(**sandbox.options(sandbox.wallet()))
    context = client._payer.thread_engine().context
    claims = context.claims = _Failing()
    journal = journal_of({"path": str(tmp_path / "journal")})
    of_call = context.config._replace(journal=journal.shared)
    config, context.config = context.config, of_call
    equal, other = (Purpose("", "GET", "", name, None) for name in ("equal", "other"))

    left: list[asyncio.Future[None]] = []

    async def leave() -> None:
        given_up = Signal()

        def buy() -> Steps[None]:
            yield from take_claims(context, ["one"], claims.take(["one"]))
            yield from sleep(1)
            given_up.abort(OSError("The caller has given up."))
            yield from sleep(60_000)

        buying = delaying_equal_calls(context, equal, buy(), given_up)
        left.append(asyncio.ensure_future(loop_host().run(buying)))
        while not context.wallet.given_up:
            await asyncio.sleep(0.01)

    asyncio.run(leave())
    wallet = context.wallet
    assert list(wallet.claims) == ["one"] and wallet.given_up
    context.config = config
    threads.run(all_of([drop_abandoned_claims(context), equal_calls_ended(context, other, None)]))
    assert not wallet.claims and not wallet.given_up
    client.close()


def test_reports_no_shortage_for_an_attempt_that_another_process_ended(
    sandbox: Sandbox, make_payer: MakePayer, tmp_path: Path
) -> None:
    path = str(tmp_path / "journal")
    with journal_of({"path": path}) as journal, journal_of({"path": path}) as other:
        payer = make_payer(USDC="1", journal=journal)
        context = payer.client._payer.thread_engine().context
        mint, program = sandbox.mint("USDC"), TOKEN_PROGRAMS[0]
        source = associated_token_address(payer.wallet.address, mint, program)
        # The reservation can hold no tokens of an unknown balance.
        payer.client.on("payment.chosen", lambda _: threads.run(context.ledger.forget(source)))
        payer.client.on(
            "balance.checked", lambda event: threads.run(other.shared.release(event.id))
        )
        error = failure_of(
            lambda: payer.client.get(f"{sandbox.api_url}/usdc"), "journal_unavailable"
        )
        assert (error.funds, payer.signed) == ("untouched", [])


class Keeping:
    """State of the journals: they drop no claim while they are broken."""

    def __init__(self) -> None:
        self.is_broken = True
        self.dropped: list[str] = []


@pytest.fixture
def keeps(monkeypatch: pytest.MonkeyPatch) -> Keeping:
    """Makes each journal fail to drop claims until the test repairs it."""
    drop, keeping = _TimedClaims._drop, Keeping()

    def refuse(self: _TimedClaims, ids: Sequence[str]) -> Steps[None]:
        if keeping.is_broken:
            raise OSError("The disk is full.")
        yield from drop(self, ids)
        keeping.dropped.extend(ids)

    monkeypatch.setattr(_TimedClaims, "_drop", refuse)
    return keeping


@pytest.mark.parametrize("key", [None, "order"])
def test_ends_a_call_although_the_journal_cannot_drop_its_claim(
    key: str | None,
    keeps: Keeping,
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    tmp_path: Path,
) -> None:
    def answer(seen: Seen) -> Reply | None:
        if not seen.is_paid:
            return terms(offer(sandbox))
        settle(sandbox, seen, offer(sandbox))
        return None

    seller = make_seller(answer)
    with file_journal(tmp_path / "journal") as journal:
        payer = make_payer(USDC="1", journal=journal)
        again = make_payer(payer.wallet, journal=journal)

        def buy(buyer: Payer) -> httpx.Response:
            return buyer.client.post(seller.url, idempotency_key=key)

        failure_of(lambda: buy(payer), "payment_uncertain")
        failure_of(lambda: buy(payer), "already_spent")
        failure_of(lambda: buy(again), "already_spent")
        assert (payer.signed, again.signed) == (["payment"], [])
        # The process does not remember claims of calls that have ended.
        assert not wallet_of(payer.wallet.address, MAINNET).claims
        # The drop is repeated until the journal records it, for other processes.
        (receipt,) = payer.client.receipts()
        keeps.is_broken = False
        until("the claim is dropped", lambda: receipt.id in keeps.dropped)
        payer.client.close()
        again.client.close()
    assert payer.held() == 1_000_000 - PRICE


class _Failing(_Claims):
    """Claims with a failing first drop and a second drop that waits for a signal."""

    def __init__(self) -> None:
        super().__init__()
        self.drops = 0
        self.may_drop = Signal()

    def drop(self, ids: Sequence[str]) -> Steps[None]:
        self.drops += 1
        if self.drops != 2:
            raise OSError("The disk is full.")
        yield from quiet(until_aborted(sleep(60_000), self.may_drop))
        self.claimed.difference_update(ids)


def _call_after(ms: float, then: Callable[[], None]) -> Steps[None]:
    yield from sleep(ms)
    then()


def test_keeps_a_claim_that_is_taken_while_an_earlier_drop_is_repeated() -> None:
    below = _Failing()
    claims = ClaimsWithReleases(below, {})

    def steps() -> Steps[None]:
        yield from claims.take(["one"])
        yield from quiet(claims.drop(["one"]))
        while below.drops < 2:
            yield from sleep(20)
        yield from background(_call_after(50, lambda: below.may_drop.abort(OSError())))
        yield from claims.take(["one"])
        assert (yield from claims.live(["one"])) == {"one"}
        yield from quiet(claims.drop(["one"]))
        # Later, the last drop is repeated too.
        assert below.drops == 3
        assert (yield from claims.live(["one"])) == set()

    threads.run(steps())


def test_ends_the_wait_for_an_earlier_call_that_stands_still(sandbox: Sandbox) -> None:
    may_end = Signal()
    with Client(**sandbox.options(sandbox.wallet(), timeouts={"journal": 100})) as client:
        context = client._payer.thread_engine().context
        threads.run(delay_next_call(context, lambda: until_aborted(sleep(600_000), may_end)))
        error = failure_of(lambda: threads.run(claims_released(context, None)), "timeout")
        assert (error.funds, error.retry) == ("uncertain", "same")
        assert error.details == {"step": "earlier_call", "timeout_ms": 300}
    threads.run(_call_after(0, lambda: may_end.abort(OSError())))
