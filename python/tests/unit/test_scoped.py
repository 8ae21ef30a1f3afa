"""Requests of asyncio that are given up."""

from __future__ import annotations

import asyncio
import gc
import warnings
from typing import Any

import httpx
import pytest

from exact_change._http.inner import loop_transport
from exact_change._http.own import LoopHttp, Request
from exact_change._kernel.hosts import loop_host
from exact_change._kernel.signals import Aborted, Signal
from exact_change._kernel.steps import await_
from exact_change._kernel.turns import run_turn

from ..conftest import MakeSeller
from ..seller import Reply

COUNT = 6


@pytest.mark.parametrize("rounds", range(24))
async def test_leaves_no_connection_open_when_a_request_is_given_up_at_any_moment(
    rounds: int, make_seller: MakeSeller
) -> None:
    """Before it goes out, a request closes the connections that have been idle for too long."""
    seller = make_seller(lambda _: Reply())
    transport = loop_transport(False, limits=httpx.Limits(keepalive_expiry=0.01))

    async def ask() -> None:
        request = httpx.Request("GET", seller.url)
        response = await transport.handle_async_request(request)
        await response.aread()

    # All at once, so that each opens a connection.
    await asyncio.gather(*(ask() for _ in range(COUNT)))
    assert len({seen.port for seen in seller.seen}) == COUNT
    await asyncio.sleep(0.02)
    signal = Signal()
    asking = asyncio.ensure_future(loop_host().run(await_(ask, signal)))
    for _ in range(rounds):
        await asyncio.sleep(0)
    run_turn(lambda: signal.abort(Aborted()))
    await asyncio.wait([asking])
    await transport.aclose()
    assert await _unclosed_after(asking) == []


@pytest.mark.parametrize("rounds", range(24))
async def test_leaves_no_connection_open_when_its_port_closes_at_any_moment(
    rounds: int, make_seller: MakeSeller
) -> None:
    """A pool that closes forgets a connection that a request is still opening."""
    http = LoopHttp(None, trust_env=False)
    request = Request("GET", make_seller(lambda _: Reply()).url)
    asking = asyncio.ensure_future(loop_host().run(http.send(request, None)))
    for _ in range(rounds):
        await asyncio.sleep(0)
    await loop_host().run(http.close())
    await asyncio.wait([asking])
    assert await _unclosed_after(asking) == []


async def _unclosed_after(asking: asyncio.Future[Any]) -> list[str]:
    """Returns the warnings of connections that a request has left open."""
    asking.exception()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            await asyncio.sleep(0)
            gc.collect()
    return [str(warning.message) for warning in caught]
