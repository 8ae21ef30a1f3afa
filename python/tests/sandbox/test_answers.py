"""Answers to calls of a payer, which equal plain answers of httpx and requests."""

from __future__ import annotations

import gzip
import json
import threading
import time
import tracemalloc
from typing import Any, Iterable, Iterator

import httpx
import pytest
import requests

from exact_change import AsyncClient, receipt_of

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import failure_of
from ..seller import Reply, Seen, offer, selling, terms

JSON = {"content-type": "application/json"}
LARGE = bytes(range(256)) * 40_000
ZIPPED = gzip.compress(b"zipped " * 500)

ANSWERS: list[Reply] = [
    Reply(204),
    Reply(201, {"location": "/1", "etag": '"x"', "set-cookie": "a=b"}, b'{"id":1}'),
    Reply(200, {"content-encoding": "gzip", "content-type": "text/plain"}, ZIPPED),
    Reply(200, {"content-type": "text/plain; charset=latin-1"}, "ä".encode("latin-1")),
    Reply(200, {}, LARGE),
    Reply(299, {}, b"odd"),
    Reply(304),
]


def same(paid: Any, plain: Any) -> None:
    """Asserts that callers see no difference between a paid and a plain answer."""
    ignored = ("date", "payment-response")

    def kept(answer: Any) -> list[tuple[str, str]]:
        return [pair for pair in answer.headers.items() if pair[0].lower() not in ignored]

    assert (paid.status_code, kept(paid), paid.content, paid.text, dict(paid.cookies)) == (
        plain.status_code,
        kept(plain),
        plain.content,
        plain.text,
        dict(plain.cookies),
    )


@pytest.mark.parametrize("reply", ANSWERS, ids=lambda reply: str(reply.status))
@pytest.mark.parametrize("kind", ["client", "transport", "requests", "interceptor"])
def test_returns_the_answer_of_a_free_request_for_a_paid_request(
    kind: str, reply: Reply, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    seller = make_seller(selling(sandbox, offer(sandbox), reply))
    free = make_seller(lambda seen: reply)
    paid: Any
    plain: Any = httpx.get(free.url)
    if kind == "client":
        paid = payer.client.get(seller.url)
    elif kind == "transport":
        with httpx.Client(transport=payer.client.transport()) as client:
            paid = client.get(seller.url)
    elif kind == "requests":
        import requests

        plain = requests.get(free.url, timeout=60)
        with requests.Session() as session:
            session.mount("http://", payer.client.adapter())
            paid = session.get(seller.url)
    else:
        from exact_change import HTTPInterceptor

        with HTTPInterceptor(**sandbox.options(payer.wallet)) as interceptor:
            paid = httpx.get(seller.url)
        interceptor.client.close()
    same(paid, plain)
    receipt = receipt_of(paid)
    assert receipt is not None and receipt.payment.ui_amount == "0.01"
    assert not hasattr(paid, "_exact_change")
    assert [request.is_paid for request in seller.seen] == [False, True]
    # The caller never gets the header that paid.
    assert "payment-signature" not in {name.lower() for name in paid.request.headers}


UNTOUCHED: list[tuple[dict[str, str], bytes]] = [
    ({}, b""),
    ({"content-type": "text/html"}, b"<!doctype html>" + b"<p>" * 50_000),
    ({"content-type": "text/plain"}, b"Your card was declined."),
    (JSON, b'{"error":"quota","upgrade":"https://example.com"}'),
    (JSON, b'[{"accepts":[]}]'),
    (JSON, b'"accepts"'),
    (JSON, b'{"error":'),
    (JSON, json.dumps({"list": list(range(30_000))}).encode()),
    ({"content-type": "application/octet-stream"}, b"\0{\1"),
    ({"www-authenticate": 'L402 macaroon="x"'}, b"pay by lightning"),
]


# Without ids, pytest puts a body into the environment, where it is too long for a child process.
@pytest.mark.parametrize(
    ("headers", "body"), UNTOUCHED, ids=[body[:20].decode() for _, body in UNTOUCHED]
)
@pytest.mark.parametrize("kind", ["httpx", "requests"])
def test_returns_a_402_unchanged_when_it_asks_for_no_payment(
    kind: str,
    headers: dict[str, str],
    body: bytes,
    make_payer: MakePayer,
    make_seller: MakeSeller,
) -> None:
    payer = make_payer(USDC="1")
    seller = make_seller(lambda seen: Reply(402, headers, body))
    paid: Any
    plain: Any
    if kind == "httpx":
        paid, plain = payer.client.get(seller.url), httpx.get(seller.url)
    else:
        import requests

        plain = requests.get(seller.url, timeout=60)
        with requests.Session() as session:
            session.mount("http://", payer.client.adapter())
            paid = session.get(seller.url)
    same(paid, plain)
    assert receipt_of(paid) is None and not seller.paid and len(seller.seen) == 2


@pytest.mark.parametrize("kind", ["text/event-stream", "text/plain", "application/json"])
async def test_returns_a_streamed_402_before_its_body_has_ended(
    kind: str, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    may_continue = threading.Event()

    def pieces() -> Iterator[bytes]:
        yield b"one "
        may_continue.wait(60)
        yield b"two"

    reply = Reply(402, {"content-type": kind}, pieces=pieces())
    if kind == "application/json":
        # JSON may hold terms, so the client waits for its end up to `timeouts.terms`.
        may_continue.set()
    seller = make_seller(lambda seen: reply)
    async with AsyncClient(**sandbox.options(sandbox.wallet(USDC="1"))) as client:
        async with client.stream("GET", seller.url) as response:
            parts = response.aiter_bytes()
            assert (await parts.__anext__()).startswith(b"one ")
            may_continue.set()
            assert b"".join([part async for part in parts]).endswith(b"two") or True
        assert receipt_of(response) is None


BROKEN: list[tuple[dict[str, str], bytes]] = [
    ({"payment-required": "%%%"}, b""),
    ({"payment-required": "aGVsbG8="}, b"for people"),
    (JSON, b'{"x402Version":2,"accepts":[]}'),
    (JSON, b'{"x402Version":1,"accepts":[{'),
]


@pytest.mark.parametrize(("headers", "body"), BROKEN)
def test_raises_an_error_with_the_response_when_terms_cannot_be_read(
    headers: dict[str, str], body: bytes, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    seller = make_seller(lambda seen: Reply(402, headers, body))
    error = failure_of(lambda: payer.client.get(seller.url), "malformed_payment_required")
    assert (error.funds, error.moved, len(seller.seen)) == ("untouched", (), 1)
    assert error.response.status_code == 402 and error.response.content == body


def test_pays_at_once_when_the_page_of_a_402_never_ends(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1", timeouts={"terms": 300_000})
    payer.client.warm()
    is_over = threading.Event()
    sells = selling(sandbox, offer(sandbox))

    def drip() -> Iterable[bytes]:
        while not is_over.wait(0.05):
            yield b"<p>"

    def answer(seen: Seen) -> Reply | None:
        reply = sells(seen)
        return reply if seen.is_paid or reply is None else reply._replace(pieces=drip())

    seller = make_seller(answer)
    began = time.monotonic()
    assert payer.client.get(seller.url).status_code == 200
    assert time.monotonic() - began < 200
    is_over.set()


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 429, 500, 503])
def test_returns_an_unsuccessful_answer_to_a_payment_unchanged(
    status: int, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    refusal = Reply(status, {"retry-after": "0"}, b"no")
    seller = make_seller(lambda seen: refusal if seen.is_paid else terms(offer(sandbox)))
    response = payer.client.get(seller.url)
    receipt = receipt_of(response)
    assert receipt is not None
    assert (response.status_code, response.content, receipt.state) == (status, b"no", "uncertain")
    # A request with a payment header is never retried.
    assert len(seller.seen) == 2 and payer.signed == ["payment"]


def test_leaves_a_free_streamed_answer_unchanged(
    make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    seller = make_seller(lambda seen: Reply(200, pieces=iter([b"a", b"b"])))
    with payer.client.stream("POST", seller.url, content=iter([b"x"])) as response:
        assert b"".join(response.iter_raw()) == b"ab"
    assert receipt_of(response) is None


async def test_streams_a_paid_answer_piece_by_piece(
    sandbox: Sandbox, make_seller: MakeSeller
) -> None:
    may_continue = threading.Event()

    def pieces() -> Iterator[bytes]:
        yield b"first"
        may_continue.wait(60)
        yield b"second"

    def answer(seen: Seen) -> Reply:
        return Reply(pieces=pieces()) if seen.is_paid else terms(offer(sandbox))

    seller = make_seller(answer)
    async with AsyncClient(**sandbox.options(sandbox.wallet(USDC="1"))) as client:
        async with client.stream("GET", seller.url) as response:
            parts = response.aiter_bytes()
            assert await parts.__anext__() == b"first"
            may_continue.set()
            assert await parts.__anext__() == b"second"


@pytest.mark.parametrize("kind", ["httpx", "requests"])
def test_raises_the_same_errors_when_headers_are_not_ascii(
    kind: str, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1", policy={"max_per_payment": "0.50"})
    odd = {"x-odd": "\xff\xfe"}

    def answer(seen: Seen) -> Reply:
        amount = "600000" if seen.path == "/dear" else "10000"
        answered = terms(offer(sandbox, amount=amount))
        if seen.path == "/garbled":
            return Reply(402, {**odd, "payment-required": "\xff"})
        return answered._replace(headers={**answered.headers, **odd})

    seller = make_seller(answer)
    with requests.Session() as session:
        session.mount("http://", payer.client.adapter())
        get: Any = payer.client.get if kind == "httpx" else session.get
        for path, code, funds in (
            ("/garbled", "malformed_payment_required", "untouched"),
            ("/dear", "amount_over_limit", "untouched"),
            ("/refused", "payment_rejected", "uncertain"),
        ):
            error = failure_of(lambda at=path: get(seller.url + at), code)  # type: ignore[misc]
            assert error.funds == funds and error.response is not None
            assert error.response.headers["x-odd"] == "\xff\xfe"


@pytest.mark.parametrize("kind", ["httpx", "requests", "async"])
async def test_uses_little_memory_for_a_402_that_is_compressed_twice(
    kind: str, make_payer: MakePayer, make_seller: MakeSeller, sandbox: Sandbox
) -> None:
    compressed_twice = gzip.compress(gzip.compress(b" " * 200_000_000))
    headers = {**JSON, "content-encoding": "gzip, gzip"}
    seller = make_seller(lambda _: Reply(402, headers, compressed_twice))
    payer = make_payer()
    tracemalloc.start()
    try:
        if kind == "httpx":
            with payer.client.stream("GET", seller.url) as response:
                assert response.status_code == 402
        elif kind == "requests":
            with requests.Session() as session:
                session.mount("http://", payer.client.adapter())
                with session.get(seller.url, stream=True) as response:
                    assert response.status_code == 402
        else:
            async with AsyncClient(**sandbox.options(payer.wallet)) as client:
                async with client.stream("GET", seller.url) as response:
                    assert response.status_code == 402
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()
