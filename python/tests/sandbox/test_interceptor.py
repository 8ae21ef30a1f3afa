"""Calls of httpx and requests in a process with an interceptor, which pays for them."""

from __future__ import annotations

import functools
import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Iterator

import httpx
import pytest
import requests

from exact_change import ConfigError, HTTPInterceptor, receipt_of

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox, Wallet
from ..payer import PRICE, failure_of
from ..seller import Reply, Seen, offer, selling

PLAIN = httpx.HTTPTransport.handle_request
Intercept = Callable[..., HTTPInterceptor]


@pytest.fixture
def intercept(sandbox: Sandbox) -> Iterator[Intercept]:
    """Makes interceptors, and restores the libraries after the test."""
    made: list[HTTPInterceptor] = []

    def make(wallet: Wallet | None = None, **options: Any) -> HTTPInterceptor:
        merged = sandbox.options(wallet or sandbox.wallet(USDC="1"), **options)
        made.append(HTTPInterceptor(**merged))
        return made[-1]

    yield make
    for interceptor in made:
        interceptor.restore()
        interceptor.client.close()


def paid(url: str) -> bool:
    """Returns whether a call of httpx was paid."""
    response = httpx.get(url)
    assert response.status_code == (402 if receipt_of(response) is None else 200)
    return receipt_of(response) is not None


def test_pays_for_plain_httpx_and_requests(sandbox: Sandbox, intercept: Intercept) -> None:
    with requests.Session() as before:
        interceptor = intercept(sandbox.wallet(SOL="0.5", BONK="1000000"), auto_swap=True)
        response = httpx.get(f"{sandbox.api_url}/pyusd")
        assert response.json()["path"] == "/pyusd" and receipt_of(response) is not None
        settled = interceptor.client.settled(response, timeout=60)
        assert settled is not None and settled.state == "settled"
        # A session from before the interceptor pays too.
        earlier = before.get(f"{sandbox.api_url}/usdc", timeout=60)
        assert earlier.status_code == 200 and receipt_of(earlier) is not None
    streamed = requests.get(f"{sandbox.api_url}/usdc", stream=True, timeout=60)
    assert b"ok" in b"".join(streamed.iter_content(3))
    assert len(interceptor.client.receipts()) == 3


async def test_pays_for_plain_async_httpx(sandbox: Sandbox, intercept: Intercept) -> None:
    interceptor = intercept()
    async with httpx.AsyncClient() as client:
        response = await client.get(f"{sandbox.api_url}/usdc")
        assert response.status_code == 200 and receipt_of(response) is not None
    assert len(await interceptor.async_client.receipts()) == 1
    await interceptor.async_client.aclose()


def test_patches_httpx_only_between_install_and_restore(
    sandbox: Sandbox, intercept: Intercept
) -> None:
    url = f"{sandbox.api_url}/usdc"
    interceptor = intercept(install=False)
    assert httpx.HTTPTransport.handle_request is PLAIN and not paid(url)
    assert interceptor.client.get(url).status_code == 200
    interceptor.install()
    interceptor.install()
    assert paid(url)
    interceptor.restore()
    assert httpx.HTTPTransport.handle_request is PLAIN and not paid(url)
    with interceptor:
        assert not paid(url)
        interceptor.install()
        assert paid(url)
    assert httpx.HTTPTransport.handle_request is PLAIN


def test_pays_once_when_several_interceptors_are_installed(
    sandbox: Sandbox, intercept: Intercept
) -> None:
    first, second = sandbox.wallet(USDC="1"), sandbox.wallet(USDC="1")
    for wallet in (first, first, second):
        intercept(wallet)
    assert paid(f"{sandbox.api_url}/usdc")
    held = sandbox.balance(first.address, "USDC") + sandbox.balance(second.address, "USDC")
    assert held == 2_000_000 - PRICE


def test_pays_once_when_an_interceptor_sees_the_calls_of_its_own_client(
    sandbox: Sandbox, intercept: Intercept, make_seller: MakeSeller
) -> None:
    interceptor = intercept()
    # Two layers that pay would take this paid answer for an unpaid 503, and send the call again.
    seller = make_seller(selling(sandbox, offer(sandbox), Reply(503, body=b"")))
    with httpx.Client(transport=interceptor.client.transport(httpx.HTTPTransport())) as http:
        assert http.get(seller.url).status_code == 503
    assert len(seller.paid) == len(interceptor.client.receipts()) == 1


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_restores_several_interceptors_in_any_order(
    order: tuple[int, ...], sandbox: Sandbox, intercept: Intercept
) -> None:
    wallet = sandbox.wallet(USDC="1")
    three = [intercept(wallet) for _ in range(3)]
    for index in order:
        assert paid(f"{sandbox.api_url}/usdc")
        three[index].restore()
    assert not paid(f"{sandbox.api_url}/usdc")
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - 3 * PRICE


def test_keeps_the_patch_of_a_library_that_patches_after_the_interceptor(
    sandbox: Sandbox, intercept: Intercept
) -> None:
    url = f"{sandbox.api_url}/usdc"
    first = intercept()
    below = httpx.HTTPTransport.handle_request
    calls: list[str] = []

    @functools.wraps(below)
    def traced(transport: Any, request: httpx.Request) -> httpx.Response:
        calls.append(str(request.url))
        return below(transport, request)

    httpx.HTTPTransport.handle_request = traced  # type: ignore[method-assign, assignment]
    try:
        assert paid(url)
        # The patch sees the call, but neither the payment nor calls of nodes.
        assert calls == [url]
        second = intercept()
        assert paid(url)
        first.restore()
        assert paid(url)
        second.restore()
        assert httpx.HTTPTransport.handle_request is traced and not paid(url)
        first.install()
        assert paid(url)
        first.restore()
    finally:
        httpx.HTTPTransport.handle_request = below  # type: ignore[method-assign]
    # The old patch of the interceptor is back, and passes calls on.
    assert not paid(url)
    httpx.HTTPTransport.handle_request = PLAIN  # type: ignore[method-assign]


def test_makes_one_payment_for_each_parallel_call(sandbox: Sandbox, intercept: Intercept) -> None:
    wallet = sandbox.wallet(USDC="1")
    intercept(wallet)
    with ThreadPoolExecutor(5) as pool:
        assert all(pool.map(lambda _: paid(f"{sandbox.api_url}/usdc"), range(5)))
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - 5 * PRICE


@pytest.mark.parametrize("way", ["interceptor", "adapter"])
@pytest.mark.parametrize("ends", [Reply(500, body=b"broken"), None])
def test_presents_a_payment_once_when_a_session_retries_failed_requests(
    ends: Reply | None,
    way: str,
    sandbox: Sandbox,
    intercept: Intercept,
    make_payer: MakePayer,
    make_seller: MakeSeller,
) -> None:
    from requests.adapters import HTTPAdapter
    from urllib3.util.retry import Retry

    wallet = sandbox.wallet(USDC="1")
    sells = selling(sandbox, offer(sandbox), ends or Reply())

    def answer(seen: Seen) -> Reply | None:
        reply = sells(seen)
        return None if seen.is_paid and ends is None else reply

    seller = make_seller(answer)
    retry = Retry(
        3, status_forcelist=[500], allowed_methods=None, backoff_factor=0, raise_on_status=False
    )
    adapter: Any
    if way == "interceptor":
        intercept(wallet)
        adapter = HTTPAdapter(max_retries=retry)
    else:
        adapter = make_payer(wallet).client.adapter(max_retries=retry)
    with requests.Session() as session:
        session.mount("http://", adapter)
        if ends is None:
            failure_of(lambda: session.post(seller.url, timeout=60), "payment_uncertain")
        else:
            bought = session.post(seller.url, timeout=60)
            receipt = receipt_of(bought)
            assert (bought.status_code, bought.content) == (500, b"broken")
            assert receipt is not None and receipt.settlement is not None
        assert len(seller.paid) == 1
        error = failure_of(lambda: session.post(seller.url, timeout=60), "already_spent")
        assert error.funds == "spent"
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - PRICE


def test_ignores_transports_of_the_caller(intercept: Intercept) -> None:
    intercept()
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(402, json={"x402Version": 2, "accepts": []})

    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        assert client.get("http://127.0.0.1:9/").status_code == 402
    assert len(seen) == 1


def test_pays_through_an_adapter_that_passes_options_by_position(
    sandbox: Sandbox, intercept: Intercept
) -> None:
    """Caching adapters call their base class this way."""

    class Own(requests.adapters.HTTPAdapter):
        def send(self, request: Any, *args: Any, **options: Any) -> requests.Response:
            names = ("stream", "timeout", "verify", "cert", "proxies")
            return super().send(request, *(options[name] for name in names))

    interceptor = intercept()
    for adapter in (Own(), interceptor.client.adapter()):
        with requests.Session() as session:
            session.mount("http://", adapter)
            assert session.get(f"{sandbox.api_url}/usdc", timeout=60).status_code == 200
    prepared = requests.Request("GET", f"{sandbox.api_url}/usdc").prepare()
    assert interceptor.client.adapter().send(prepared, True, 30).status_code == 200
    interceptor.restore()
    with requests.Session() as session:
        session.mount("http://", Own())
        assert session.get(f"{sandbox.api_url}/usdc", timeout=60).status_code == 402


def test_ignores_calls_outside_an_event_loop_of_asyncio(
    monkeypatch: pytest.MonkeyPatch, intercept: Intercept
) -> None:
    """Trio runs calls this way."""

    async def answer(_transport: Any, _request: httpx.Request) -> httpx.Response:
        return httpx.Response(402, json={"x402Version": 2, "accepts": []})

    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", answer)
    intercept()
    request = httpx.Request("GET", "http://127.0.0.1:9/")
    with pytest.raises(StopIteration) as ended:
        httpx.AsyncHTTPTransport().handle_async_request(request).send(None)
    assert ended.value.value.status_code == 402


def test_refuses_the_http_transport_option(sandbox: Sandbox) -> None:
    with_transport = sandbox.options(sandbox.wallet(USDC="1"), http_transport=httpx.HTTPTransport())
    with pytest.raises(ConfigError) as refused:
        HTTPInterceptor(**with_transport)
    assert refused.value.code == "invalid_option"
