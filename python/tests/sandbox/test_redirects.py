"""Redirects: before a payment, the client follows them; after a payment, it returns them."""

from __future__ import annotations

import io
from typing import Any

import httpx
import pytest

from exact_change import AsyncClient, receipt_of

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE, failure_of
from ..seller import Reply, Seen, offer, selling, settle, terms

STATUSES = [301, 302, 303, 307, 308]


@pytest.mark.parametrize("status", STATUSES)
def test_pays_the_target_of_a_redirect(
    status: int, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    sells = selling(sandbox, offer(sandbox))

    def answer(seen: Seen) -> Reply | None:
        return Reply(status, {"location": "/there?q=1#part"}) if seen.path == "/" else sells(seen)

    seller = make_seller(answer)
    headers = {"authorization": "Bearer x"}
    response = payer.client.get(f"{seller.url}/", headers=headers, follow_redirects=True)
    receipt = receipt_of(response)
    assert receipt is not None and receipt.url == f"{seller.url}/there?q=1"
    assert [answer.status_code for answer in response.history] == [status]
    # Only the URL that asked for a payment gets a payment.
    assert [(request.path, request.is_paid) for request in seller.seen] == [
        ("/", False),
        ("/there?q=1", False),
        ("/there?q=1", True),
    ]
    assert all(request.headers["authorization"] == "Bearer x" for request in seller.seen)


async def test_pays_the_target_of_a_redirect_on_an_event_loop(
    sandbox: Sandbox, make_seller: MakeSeller
) -> None:
    sells = selling(sandbox, offer(sandbox))

    def answer(seen: Seen) -> Reply | None:
        return Reply(307, {"location": "/there"}) if seen.path == "/" else sells(seen)

    seller = make_seller(answer)
    async with AsyncClient(**sandbox.options(sandbox.wallet(USDC="1"))) as client:
        response = await client.get(f"{seller.url}/", follow_redirects=True)
        receipt = receipt_of(response)
        assert receipt is not None and receipt.url == f"{seller.url}/there"
        unfollowed = await client.get(f"{seller.url}/")
        assert unfollowed.status_code == 307 and receipt_of(unfollowed) is None


@pytest.mark.parametrize("status", STATUSES)
def test_sends_no_credentials_to_the_other_origin_of_a_redirect(
    status: int, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    seller = make_seller(selling(sandbox, offer(sandbox)))
    door = make_seller(lambda seen: Reply(status, {"location": f"{seller.url}/there"}))
    headers = {"authorization": "Bearer x", "x-kept": "1"}
    response = payer.client.get(door.url, headers=headers, follow_redirects=True)
    assert response.status_code == 200 and not any(request.is_paid for request in door.seen)
    assert [request.headers.get("authorization") for request in seller.seen] == [None, None]
    assert [request.headers.get("x-kept") for request in seller.seen] == ["1", "1"]


@pytest.mark.parametrize("status", STATUSES)
def test_refuses_the_terms_that_a_redirected_post_leads_to(
    status: int, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")

    def answer(seen: Seen) -> Reply:
        return Reply(status, {"location": "/there"}) if seen.path == "/" else terms(offer(sandbox))

    seller = make_seller(answer)
    error = failure_of(
        lambda: payer.client.post(f"{seller.url}/", content=b"x", follow_redirects=True),
        "unsupported_offer",
    )
    assert (error.funds, error.moved, payer.signed) == ("untouched", (), [])
    assert not seller.paid
    planned = failure_of(
        lambda: payer.client.plan(f"{seller.url}/", method="POST", follow_redirects=True),
        "unsupported_offer",
    )
    assert planned.details == error.details


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("kind", ["httpx", "requests"])
def test_returns_a_redirect_of_the_paid_request_and_does_not_follow_it(
    status: int, kind: str, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    stranger = make_seller(lambda seen: Reply(body=b"stolen"))
    redirect = Reply(status, {"location": f"{stranger.url}/there"})
    seller = make_seller(selling(sandbox, offer(sandbox), redirect))
    response: Any
    if kind == "httpx":
        response = payer.client.post(seller.url, content=b"secret", follow_redirects=True)
    else:
        requests = pytest.importorskip("requests")
        with requests.Session() as session:
            session.mount("http://", payer.client.adapter())
            response = session.post(seller.url, data=b"secret")
    assert response.status_code == status and not response.history
    assert response.headers["location"] == f"{stranger.url}/there"
    receipt = receipt_of(response)
    assert receipt is not None and receipt.method == "POST"
    payer.told("payment.settled")
    assert len(seller.seen) == 2 and not stranger.seen
    assert payer.held() == 1_000_000 - PRICE


@pytest.mark.parametrize("kind", ["httpx", "requests", "interceptor"])
@pytest.mark.parametrize("name", ["PAYMENT-SIGNATURE", "X-PAYMENT"])
def test_sends_a_payment_header_of_the_caller_to_no_other_origin(
    kind: str, name: str, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    from exact_change import HTTPInterceptor

    payer = make_payer(USDC="1")
    stranger = make_seller(lambda seen: Reply(body=b"stolen"))
    seller = make_seller(lambda seen: Reply(307, {"location": stranger.url}))
    headers = {name: "e30="}
    response: Any
    if kind == "httpx":
        response = payer.client.get(seller.url, headers=headers, follow_redirects=True)
    elif kind == "requests":
        requests = pytest.importorskip("requests")
        with requests.Session() as session:
            session.mount("http://", payer.client.adapter())
            response = session.get(seller.url, headers=headers)
    else:
        with HTTPInterceptor(**sandbox.options(payer.wallet)) as interceptor:
            response = httpx.get(seller.url, headers=headers, follow_redirects=True)
        interceptor.client.close()
    assert response.status_code == 307
    assert [request.is_paid for request in seller.seen] == [True] and not stranger.seen


@pytest.mark.parametrize("paid", [False, True])
def test_sends_a_whole_file_again_to_the_target_of_a_redirect(
    paid: bool, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    requests = pytest.importorskip("requests")
    payer = make_payer(USDC="1")

    def answer(seen: Seen) -> Reply:
        if seen.path == "/":
            return Reply(307, {"location": "/there"})
        return terms(offer(sandbox)) if paid else Reply(body=seen.body)

    seller = make_seller(answer)
    with requests.Session() as session:
        session.mount("http://", payer.client.adapter())

        def call() -> Any:
            return session.post(f"{seller.url}/", data=io.BytesIO(b"file"))

        if paid:
            failure_of(call, "unsupported_offer")
        else:
            assert call().content == b"file"
    assert [request.body for request in seller.seen] == [b"file", b"file"] and not seller.paid


@pytest.mark.parametrize(
    ("kind", "location"),
    [
        ("httpx", "/y?sid={visit}"),
        # HTTP clients read an incomplete URL in different ways.
        ("httpx", "http://:{port}/y?sid={visit}"),
        ("requests", "/y?sid={visit}"),
        ("requests", "/y?sid=%41{visit}"),
        ("requests", "/y?sid=\xc3\xa9{visit}"),
        ("requests", "/y?sid=%41{visit}#%zz"),
        ("requests", "//127.0.0.1:{port}/y?sid={visit}"),
    ],
)
def test_presents_an_open_payment_only_to_its_first_redirect_target(
    kind: str, location: str, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    visits = 0

    def answer(seen: Seen) -> Reply | None:
        nonlocal visits
        if seen.path == "/x":
            visits += 1
            port = seller.url.rpartition(":")[2]
            return Reply(302, {"location": location.format(visit=visits, port=port)})
        return None if seen.is_paid else terms(offer(sandbox))

    seller = make_seller(answer)

    def call() -> Any:
        if kind == "httpx":
            return payer.client.get(f"{seller.url}/x", follow_redirects=True)
        requests = pytest.importorskip("requests")
        with requests.Session() as session:
            session.mount("http://", payer.client.adapter())
            return session.get(f"{seller.url}/x")

    for _ in range(3):
        failure_of(call, "payment_uncertain")
    assert payer.signed == ["payment"]
    # Only the first target gets the payment.
    assert len({request.path for request in seller.paid}) == 1


@pytest.mark.parametrize("redirected", ["the first call", "the repeat"])
@pytest.mark.parametrize("kind", ["httpx", "requests"])
def test_finds_the_payment_for_a_body_that_a_redirect_drops(
    kind: str,
    redirected: str,
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
) -> None:
    """A client that follows a 302 sends a POST, and requests any method, without its body."""
    payer = make_payer(USDC="1")
    is_first = True

    def answer(seen: Seen) -> Reply | None:
        if seen.path == "/" and is_first == (redirected == "the first call"):
            return Reply(302, {"location": "/there"})
        if not seen.is_paid:
            return terms(offer(sandbox))
        settle(sandbox, seen, offer(sandbox))
        return None

    seller = make_seller(answer)
    # The client refuses to pay for a redirected POST.
    method = "GET" if redirected == "the first call" else "POST"

    def call() -> Any:
        if kind == "httpx":
            return payer.client.request(method, seller.url, content=b"x", follow_redirects=True)
        requests = pytest.importorskip("requests")
        with requests.Session() as session:
            session.mount("http://", payer.client.adapter())
            return session.request(method, seller.url, data=b"x")

    failure_of(call, "payment_uncertain")
    payer.told("payment.settled")
    is_first = False
    failure_of(call, "already_spent")
    assert payer.signed == ["payment"]


def test_counts_a_304_as_the_delivery_of_a_paid_answer(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    seller = make_seller(selling(sandbox, offer(sandbox), Reply(304)))
    for _ in range(2):
        response = payer.client.get(seller.url, headers={"if-none-match": '"x"'})
        receipt = receipt_of(response)
        assert receipt is not None
        assert (response.status_code, receipt.state) == (304, "pending")
    assert payer.signed == ["payment", "payment"]
