"""Requests without a payment and their repeats with a payment."""

from __future__ import annotations

import array
import gzip
import io
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, Callable, Iterator

import httpx
import pytest
import requests
from requests.auth import HTTPDigestAuth

from exact_change import receipt_of
from exact_change._http import inner

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE, Payer, failure_of
from ..seller import Reply, Seen, offer, selling, terms


def test_sends_calls_in_a_row_on_one_connection(
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # On a busy machine, the next call may come after the few seconds for which one is kept.
    monkeypatch.setattr(inner, "_LIMITS", httpx.Limits(keepalive_expiry=60))
    payer = make_payer(USDC="1")
    seller = make_seller(selling(sandbox, offer(sandbox), Reply(body=b"x" * 100_000)))
    for _ in range(5):
        assert len(payer.client.get(seller.url).content) == 100_000
    assert len(seller.paid) == 5 and len({request.port for request in seller.seen}) == 1


@pytest.mark.parametrize("kind", ["httpx", "requests"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_retries_a_safe_method_when_the_seller_is_busy_before_its_terms(
    method: str, kind: str, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    sells = selling(sandbox, offer(sandbox))
    calls = 0

    def answer(seen: Seen) -> Reply | None:
        nonlocal calls
        calls += 1
        if calls == 1:
            return Reply(503, {"retry-after": "0"}, b"busy")
        return None if calls == 2 else sells(seen)

    seller = make_seller(answer)
    response: Any
    if kind == "httpx":
        response = payer.client.request(method, seller.url)
    else:
        with requests.Session() as session:
            session.mount("http://", payer.client.adapter())
            response = session.request(method, seller.url)
    if method == "POST":
        assert response.status_code == 503 and len(seller.seen) == 1
    else:
        assert response.status_code == 200
        assert [request.is_paid for request in seller.seen] == [False, False, False, True]
        payer.told("payment.settled")
        assert payer.held() == 1_000_000 - PRICE


@pytest.mark.parametrize(
    "method", ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "put"]
)
def test_pays_for_each_method_with_unchanged_headers(
    method: str, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    seller = make_seller(selling(sandbox, offer(sandbox)))
    response = payer.client.request(method, seller.url, headers={"cookie": "a=b", "x-one": "1"})
    receipt = receipt_of(response)
    assert receipt is not None and receipt.method == method.upper()
    first, second = seller.seen
    assert (first.method, second.method) == (method.upper(), method.upper())
    assert {**first.headers} == {
        name: value for name, value in second.headers.items() if name != "payment-signature"
    }


def test_sends_each_kind_of_body_again_with_the_payment(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    seller = make_seller(selling(sandbox, offer(sandbox)))
    client = payer.client
    client.post(seller.url, data={"a": "ü"})
    client.post(seller.url, files={"file": ("a.txt", b"\0\1")}, data={"b": "c"})
    client.post(seller.url, content=iter([b"one", b"two"]))
    client.post(seller.url, json={"a": 1})
    client.post(seller.url, content=b"x" * (1024 * 1024))
    for first, second in zip(seller.seen[::2], seller.seen[1::2]):
        assert first.body == second.body and second.is_paid and first.body
        assert first.headers.get("content-type") == second.headers.get("content-type")
    large = b"x" * (1024 * 1024 + 1)
    error = failure_of(lambda: client.post(seller.url, content=large), "body_not_replayable")
    assert error.funds == "untouched" and len(payer.signed) == 5


def test_pays_for_requests_with_each_type_of_header_and_body(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    seller = make_seller(selling(sandbox, offer(sandbox)))
    calls: list[tuple[Any, dict[str, str | bytes]]] = [
        (b"a", {"content-type": b"text/plain"}),
        (b"b", {"x-name": "Zo\xeb", "authorization": b"Bearer x"}),
        (bytearray(b"c"), {}),
        (memoryview(b"d"), {}),
        (array.array("B", b"e"), {}),
    ]
    with requests.Session() as session:
        session.mount("http://", payer.client.adapter())
        for body, headers in calls:
            assert session.post(seller.url, body, headers=headers, timeout=60).status_code == 200
        # Bytes and text of a header are the same key.
        session.post(seller.url, b"f", headers={"idempotency-key": b"order"}, timeout=60)
        again = {"idempotency-key": "order"}
        failure_of(lambda: session.post(seller.url, b"f", headers=again), "already_spent")
    assert [request.body for request in seller.paid] == [b"a", b"b", b"c", b"d", b"e", b"f"]


class Parts:
    """A body of parts that can be read again and again."""

    def __iter__(self) -> Iterator[bytes]:
        return iter((b"one", b"two"))


def test_pays_for_a_body_that_can_be_read_again_with_each_use_of_a_prepared_request(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    seller = make_seller(selling(sandbox, offer(sandbox)))
    parts: Any = Parts()
    with requests.Session() as session:
        session.mount("http://", payer.client.adapter())
        request = session.prepare_request(requests.Request("POST", seller.url, data=parts))
        for _ in range(2):
            assert session.send(request, timeout=60).content == b"bought"
    assert [request.body for request in seller.seen] == 4 * [b"onetwo"]


def sending_again(kind: str, payer: Payer, url: str, stack: ExitStack) -> Callable[[], Any]:
    """Returns a function that sends the same request, whose body can be read only once."""
    parts: Any = iter((b"one", b"two"))
    if kind == "httpx":
        client = stack.enter_context(httpx.Client(transport=payer.client.transport()))
        request = client.build_request("POST", url, content=parts)
        return lambda: client.send(request)
    if kind == "pipe":
        parts = SimpleNamespace(read=io.BytesIO(b"onetwo").read)
    session = stack.enter_context(requests.Session())
    session.mount("http://", payer.client.adapter())
    prepared = session.prepare_request(requests.Request("POST", url, data=parts))
    return lambda: session.send(prepared, timeout=60)


@pytest.mark.parametrize("kind", ["httpx", "requests", "pipe"])
def test_pays_for_no_rest_of_a_body_that_is_sent_again(
    kind: str, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    seller = make_seller(selling(sandbox, offer(sandbox)))
    with ExitStack() as stack:
        send = sending_again(kind, payer, seller.url, stack)
        assert send().content == b"bought"
        assert failure_of(send, "body_not_replayable").funds == "untouched"
    assert [request.body for request in seller.paid] == [b"onetwo"]


RAW: dict[str, Callable[[Any], bytes]] = {
    "read": lambda raw: raw.read(),
    "read by 10": lambda raw: b"".join(iter(lambda: raw.read(10), b"")),
    "the first 10, then the rest": lambda raw: raw.read(10)[:10] + raw.read(),
    "stream": lambda raw: raw.read(10)[:10] + b"".join(raw.stream()),
    "lines": lambda raw: b"".join(raw),
    "readline": lambda raw: b"".join(iter(raw.readline, b"")),
    "readinto": lambda raw: b"".join(iter(lambda: next_bytes(raw), b"")),
    "stream without a size": lambda raw: b"".join(raw.stream(None)),
    "chunks": lambda raw: b"".join(raw.read_chunked()),
    "read1": lambda raw: b"".join(iter(lambda: raw.read1(100), b"")),
    "data": lambda raw: raw.data,
    "text": lambda raw: io.TextIOWrapper(raw, newline="").read().encode(),
}


def next_bytes(raw: Any) -> bytes:
    """Reads the next bytes through a buffer of the reader."""
    buffer = bytearray(100)
    return bytes(buffer[: raw.readinto(buffer)])


@pytest.mark.parametrize("way", list(RAW))
def test_returns_the_whole_body_of_a_402_without_terms_to_each_reader_of_requests(
    way: str, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    body = b'{"error":"no credit",\n' + b'"pad":"' + b"x" * 3_000 + b'"}'
    seller = make_seller(lambda _: Reply(402, {"content-type": "application/json"}, body))
    with requests.Session() as session:
        session.mount("http://", make_payer().client.adapter())
        assert RAW[way](session.get(seller.url, stream=True).raw) == body


def test_returns_a_compressed_402_without_terms_as_requests_does(
    make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    body = b'{"error":"no credit"}' * 1_000
    # Two gzip members, which urllib3 reads as one body.
    packed = gzip.compress(body[:5_000]) + gzip.compress(body[5_000:])
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    seller = make_seller(lambda _: Reply(402, headers, packed))
    with requests.Session() as session:
        session.mount("http://", make_payer().client.adapter())
        url = seller.url
        assert session.get(url).content == body
        assert b"".join(session.get(url, stream=True).iter_content(100)) == body
        assert session.get(url, stream=True).raw.read() == packed
        assert session.get(url, stream=True).raw.read(decode_content=True) == body
        garbled = Reply(402, headers, b"this is not packed")
        seller.answer = lambda _: garbled
        with pytest.raises(requests.exceptions.ContentDecodingError):
            session.get(url)


@pytest.mark.parametrize("host", ["seller.test", "127.0.0.1.seller.test", "localhost.seller.test"])
def test_refuses_to_pay_over_http_outside_the_own_machine(
    host: str, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    client = make_payer(USDC="1").client
    paid: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if "payment-signature" in request.headers:
            paid.append(request)
        return httpx.Response(402, headers=terms(offer(sandbox)).headers)

    transport = client.transport(httpx.MockTransport(answer))
    with httpx.Client(transport=transport) as http:
        error = failure_of(lambda: http.get(f"http://{host}:8080/a"), "insecure_origin")
    assert (error.funds, error.details["origin"]) == ("untouched", f"http://{host}:8080")
    assert not paid


def test_keeps_the_cookies_of_a_402_without_terms_in_the_session(
    make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    headers = {"content-type": "application/json", "set-cookie": "visit=1; path=/"}
    seller = make_seller(lambda _: Reply(402, headers, b'{"error":"log in"}'))

    def cookies_after_calls(session: requests.Session) -> list[Any]:
        response = session.get(seller.url, timeout=60)
        session.get(seller.url, timeout=60)
        raw = response.raw
        return [dict(session.cookies), seller.seen[-1].headers.get("cookie"), raw.version]

    with requests.Session() as session:
        plain = cookies_after_calls(session)
    with requests.Session() as session:
        session.mount("http://", make_payer().client.adapter())
        assert cookies_after_calls(session) == plain


def test_pays_for_a_request_that_authentication_sends_again(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    """Digest authentication answers a 401 by the adapter that the 401 names."""
    payer = make_payer(USDC="1")
    sells = selling(sandbox, offer(sandbox))
    challenge = Reply(401, {"www-authenticate": 'Digest realm="shop", nonce="1", qop="auth"'})
    seller = make_seller(lambda seen: sells(seen) if "authorization" in seen.headers else challenge)
    with requests.Session() as session:
        session.mount("http://", payer.client.adapter())
        session.auth = HTTPDigestAuth("name", "word")
        response = session.get(seller.url)
        assert receipt_of(response) is not None and response.content == b"bought"
        # The terms of a redirected POST are refused, also after the redirect's target asks for
        # authentication.
        leading = make_seller(lambda _: Reply(307, {"location": f"{seller.url}/other"}))
        failure_of(lambda: session.post(leading.url), "unsupported_offer")
    assert payer.signed == ["payment"]
