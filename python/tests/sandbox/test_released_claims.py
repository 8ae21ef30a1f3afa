"""Drops of claims on an event loop that was stopped, and drops that end late."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Sequence

from exact_change._journal.released_claims import ClaimsWithReleases
from exact_change._kernel.hosts import loop_host, threads
from exact_change._kernel.steps import background, call, quiet, sleep
from exact_change._kernel.task import Steps
from exact_change._payments.journal_timeouts import _TimedClaims, _Within
from exact_change._payments.late_takes import LateTakes


class _Slow:
    """Claims of a journal; the first drop waits until the test lets it land."""

    def __init__(self) -> None:
        self.claimed: set[str] = set()
        self.may_land = threading.Event()
        # The takes and drops that have landed.
        self.landed = 0
        self._is_first = True

    def take(self, ids: Sequence[str]) -> Steps[None]:
        self.claimed.update(ids)
        self.landed += 1
        return
        yield

    def drop(self, ids: Sequence[str]) -> Steps[None]:
        is_first, self._is_first = self._is_first, False
        if is_first:
            yield from call(self.may_land.wait)
        self.claimed.difference_update(ids)
        self.landed += 1

    def all_landed(self, count: int) -> Steps[None]:
        """Lets the first drop land, and waits until so many takes and drops have landed."""
        self.may_land.set()
        while self.landed < count:
            yield from sleep(5)

    def live(self, ids: Sequence[str]) -> Steps[set[str]]:
        return self.claimed & set(ids)
        yield


def _within(below: _Slow, timeout_ms: float) -> Any:
    return _TimedClaims(below, _Within(timeout_ms), LateTakes())


def test_takes_a_claim_without_waiting_for_a_stopped_event_loop() -> None:
    below = _Slow()
    claims, loop = ClaimsWithReleases(_within(below, 500), {}), asyncio.new_event_loop()
    threads.run(claims.take(["one"]))

    async def begin_drop() -> None:
        async def drop() -> None:
            await loop_host().run(claims.drop(["one"]))

        dropping.append(asyncio.ensure_future(drop()))
        await asyncio.sleep(0.1)

    dropping: list[Any] = []
    loop.run_until_complete(begin_drop())
    # From here on the loop is stopped but not closed.
    taking = threading.Thread(target=lambda: threads.run(quiet(claims.take(["one"]))), daemon=True)
    taking.start()
    taking.join(60)
    is_over = not taking.is_alive()
    below.may_land.set()
    loop.run_until_complete(asyncio.gather(*dropping, return_exceptions=True))
    taking.join(60)
    loop.close()
    assert is_over


def test_keeps_a_claim_taken_anew_when_an_earlier_drop_lands_after_its_timeout() -> None:
    below = _Slow()
    claims = ClaimsWithReleases(_within(below, 50), {})

    def steps() -> Steps[set[str]]:
        yield from claims.take(["one"])
        yield from quiet(claims.drop(["one"]))
        yield from background(quiet(claims.take(["one"])))
        yield from sleep(100)
        yield from below.all_landed(3)
        return (yield from claims.live(["one"]))

    assert threads.run(steps()) == {"one"}


def test_ends_a_claim_that_timed_out_behind_a_slow_drop_when_it_is_released() -> None:
    """The caller of the claim has given up by then, so a lasting claim would never end."""
    below = _Slow()
    claims = ClaimsWithReleases(_within(below, 50), {})

    def steps() -> Steps[set[str]]:
        yield from claims.take(["one"])
        yield from quiet(claims.drop(["one"]))
        yield from quiet(claims.take(["one"]))
        yield from background(quiet(claims.drop(["one"])))
        yield from sleep(20)
        yield from below.all_landed(4)
        return (yield from below.live(["one"]))

    assert threads.run(steps()) == set()


class _Full(_Slow):
    """Claims of a journal on a full disk, whose drops fail until there is room."""

    def __init__(self) -> None:
        super().__init__()
        self.has_room = False
        self.is_told = threading.Event()

    def drop(self, ids: Sequence[str]) -> Steps[None]:
        if not self.has_room:
            raise OSError("The disk is full.")
        self.claimed.difference_update(ids)
        self.is_told.set()
        return
        yield


def test_tells_the_journal_of_a_released_claim_after_its_event_loop_has_ended() -> None:
    below = _Full()
    claims = ClaimsWithReleases(below, {})

    async def release() -> None:
        await loop_host().run(claims.take(["one"]))
        await loop_host().run(quiet(claims.drop(["one"])))

    asyncio.run(release())
    assert below.claimed == {"one"}
    below.has_room = True
    assert below.is_told.wait(60)
    assert below.claimed == set()
