"""A paying transport with requests that cost nothing."""

from __future__ import annotations

import asyncio
import errno
import gc
import socket
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
import requests

from exact_change import AsyncClient, AsyncService, Client, ExactChangeError, Service
from exact_change._http.inner import loop_transport, thread_transport
from exact_change._http.own import Request, ThreadHttp
from exact_change._kernel.hosts import threads

from ..conftest import MakeSeller
from ..payer import until
from ..seller import Reply

# A tracer patches the methods of the classes before this library is imported.
TRACED = """
import functools, httpx, requests.adapters

def trace(kind, name):
    original = getattr(kind, name)
    setattr(kind, name, functools.wraps(original)(lambda *_: None))
    return original

of_threads = trace(httpx.HTTPTransport, "handle_request")
of_loops = trace(httpx.AsyncHTTPTransport, "handle_async_request")
of_requests = trace(requests.adapters.HTTPAdapter, "send")

from exact_change._http.adapter import OwnAdapter
from exact_change._http.inner import AsyncOwnTransport, OwnTransport

assert OwnTransport.handle_request is of_threads
assert AsyncOwnTransport.handle_async_request is of_loops
assert OwnAdapter.send is of_requests
"""


def test_hides_its_requests_from_a_tracer_that_was_there_before() -> None:
    subprocess.run([sys.executable, "-c", TRACED], check=True, timeout=300)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_leaves_extensions_unchanged_that_requests_share(kind: Any) -> None:
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


class _Foreign:
    """A request of a package that is like httpx."""

    extensions: ClassVar[dict[str, Any]] = {}
    method = "GET"
    url = httpx.URL("http://127.0.0.1:9/")
    headers = httpx.Headers()
    stream = httpx.ByteStream(b"")


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_refuses_a_request_of_another_package_before_it_is_sent(kind: Any) -> None:
    sent: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200)

    transport = kind(wallet_seed=bytes(32)).transport(httpx.MockTransport(answer))
    request: Any = _Foreign()
    with pytest.raises(ExactChangeError, match="alias_httpx") as caught:
        if kind is Client:
            transport.handle_request(request)
        else:
            asyncio.run(transport.handle_async_request(request))
    assert (caught.value.code, caught.value.funds, sent) == ("invalid_option", "untouched", [])


def test_says_what_to_use_when_no_loop_of_asyncio_runs() -> None:
    client = AsyncClient(wallet_seed=bytes(32))
    for coroutine in (client.get("http://127.0.0.1:9/"), client.aclose()):
        with pytest.raises(RuntimeError, match="Use a Client, in a thread"):
            coroutine.send(None)


@pytest.mark.parametrize("make", [thread_transport, loop_transport])
def test_reads_certificates_once_for_all_transports_with_default_options(
    make: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read: list[Any] = []
    create = httpx.create_ssl_context

    def counted(**options: Any) -> Any:
        read.append(options)
        return create(**options)

    monkeypatch.setattr(httpx, "create_ssl_context", counted)
    certificate = tmp_path / "own.pem"
    certificate.write_bytes((Path(__file__).parents[1] / "one.pem").read_bytes())
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    for _ in range(3):
        make(True)
    # Options of a transport give it a TLS context of its own.
    for option in ({"verify": False}, {"http2": False}):
        make(True, **option)
    assert read == [{"trust_env": True}]


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_says_that_the_node_is_unavailable_when_no_file_can_be_opened(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> Any:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(httpx, "create_ssl_context", refuse)
    # A path of its own, because contexts are kept by path.
    monkeypatch.setenv("SSL_CERT_FILE", f"of-{kind.__name__}.pem")
    client = kind(wallet_seed=bytes(32), rpc_url="http://127.0.0.1:9")
    with pytest.raises(ExactChangeError) as caught:
        balance = client.balance("SOL")
        if kind is AsyncClient:
            asyncio.run(balance)
    assert (caught.value.code, caught.value.funds) == ("rpc_unavailable", "untouched")
    assert "Too many open files" in str(caught.value.__cause__)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_uses_a_proxy_of_the_environment_only_if_trust_env_is_set(
    kind: Any, make_seller: MakeSeller, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = make_seller(lambda _: Reply(body=b"by the proxy"))
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.delenv("no_proxy", raising=False)
    address = "http://127.0.0.1:9/thing"

    def text_for(trust_env: bool) -> str:
        client = kind(wallet_seed=bytes(32), trust_env=trust_env, retries=0)
        if kind is Client:
            with client:
                return str(client.get(address).text)

        async def get() -> str:
            async with client:
                return str((await client.get(address)).text)

        return asyncio.run(get())

    assert text_for(True) == "by the proxy"
    assert [request.path for request in proxy.seen] == [address]
    with pytest.raises(httpx.ConnectError):
        text_for(False)
    assert len(proxy.seen) == 1


def test_reads_an_answer_of_quotes_without_an_end_at_once(make_seller: MakeSeller) -> None:
    body = b"[]" * 40 + b'"' + b'\\"' * 20_000
    service = make_seller(lambda _: Reply(200, {"content-type": "application/json"}, body))
    # The time of the processor, because other processes may have it meanwhile.
    began = time.process_time()
    with Service(service.url) as calls:
        with pytest.raises(ExactChangeError, match="it is not JSON"):
            calls.balance("9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin")
    assert time.process_time() - began < 4


@pytest.mark.usefixtures("garbage")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", ["client", "service"])
def test_keeps_no_connection_of_closed_loops(kind: str, make_seller: MakeSeller) -> None:
    json = {"content-type": "application/json"}
    seller = make_seller(lambda _: Reply(200, json, b"[]"))
    client, service = AsyncClient(wallet_seed=bytes(32)), AsyncService(seller.url)
    loops: list[weakref.ref[Any]] = []

    async def use() -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        if kind == "service":
            await service.balance(client.address)
            return
        await client.get(seller.url)
        await client.spent()

    for _ in range(3):
        asyncio.run(use())

    def are_gone() -> bool:
        # A thread may hold its last answer for a moment.
        gc.collect()
        return all(loop() is None for loop in loops[:2])

    until("the earlier loops are collected", are_gone)


def test_closes_a_connection_that_a_request_opens_while_the_client_closes(
    make_seller: MakeSeller, monkeypatch: pytest.MonkeyPatch
) -> None:
    seller, connect = make_seller(lambda _: Reply()), socket.create_connection
    opened: list[socket.socket] = []
    is_opening, is_closed = threading.Event(), threading.Event()

    def slowly(*args: Any, **options: Any) -> socket.socket:
        opened.append(connect(*args, **options))
        is_opening.set()
        assert is_closed.wait(60)
        return opened[0]

    monkeypatch.setattr(socket, "create_connection", slowly)
    http = ThreadHttp(None, trust_env=False)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(threads.run, http.send(Request("GET", seller.url), None))
        assert is_opening.wait(60)
        threads.run(http.close())
        is_closed.set()
        assert asked.result(60).status == 200
    assert opened[0].fileno() == -1


def test_sends_a_body_that_can_be_read_only_once_not_again(make_seller: MakeSeller) -> None:
    seller = make_seller(lambda _: Reply(503, {"retry-after": "0"}))
    with Client(wallet_seed=bytes(32)) as client, requests.Session() as session:
        session.mount("http://", client.adapter())
        body: Any = iter([b"query"])
        assert session.get(seller.url, data=body, timeout=60).status_code == 503
        with httpx.Client(transport=client.transport()) as http:
            request = http.build_request("GET", seller.url, content=iter([b"query"]))
            assert http.send(request).status_code == 503
    assert [seen.body for seen in seller.seen] == [b"query", b"query"]
