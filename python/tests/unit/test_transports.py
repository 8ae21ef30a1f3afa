"""What a transport that pays does to requests that cost nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from exact_change import AsyncClient, Client


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_extensions_that_requests_share_stay_as_they_are(kind: Any) -> None:
    shared: dict[str, Any] = {}
    seen: list[dict[str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append({**shared})
        return httpx.Response(302, headers={"location": "/there"})

    transport = kind(wallet_seed=bytes(32)).transport(httpx.MockTransport(answer))
    request = httpx.Request("GET", "http://127.0.0.1:9/")
    request.extensions = shared
    if kind is Client:
        transport.handle_request(request)
    else:
        asyncio.run(transport.handle_async_request(request))
    assert (seen, shared) == ([{}], {})
