"""What a transport that pays does to requests that cost nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from exact_change import AsyncClient, Client
from exact_change._http.inner import loop_transport, thread_transport


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


@pytest.mark.parametrize("make", [thread_transport, loop_transport])
def test_certificates_are_read_once_for_all_that_ask_for_the_same(
    make: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read: list[Any] = []
    create = httpx.create_ssl_context

    def counted(**options: Any) -> Any:
        read.append(options)
        return create(**options)

    monkeypatch.setattr(httpx, "create_ssl_context", counted)
    own = tmp_path / "own.pem"
    own.write_bytes((Path(__file__).parents[1] / "one.pem").read_bytes())
    monkeypatch.setenv("SSL_CERT_FILE", str(own))
    for _ in range(3):
        make(True)
    # What an option asks for is of its transport alone.
    for option in ({"verify": False}, {"http2": False}):
        make(True, **option)
    assert read == [{"trust_env": True}]
