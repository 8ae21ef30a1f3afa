"""Redirects before a payment are followed as httpx does; those behind it are their caller's."""

from __future__ import annotations

import io
from typing import Any

import httpx
import pytest

from exact_change import AsyncClient, receipt_of

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE, failure_of
from ..seller import Reply, Seen, offer, selling, terms

STATUSES = [301, 302, 303, 307, 308]


@pytest.mark.parametrize("status", STATUSES)
def test_a_redirect_leads_to_what_is_paid(
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
    assert [one.status_code for one in response.history] == [status]
    # Only the place that asked for a payment gets one.
    assert [(one.path, one.is_paid) for one in seller.seen] == [
        ("/", False),
        ("/there?q=1", False),
        ("/there?q=1", True),
    ]
    assert all(one.headers["authorization"] == "Bearer x" for one in seller.seen)


async def test_a_redirect_leads_to_what_is_paid_on_a_loop_too(
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
def test_credentials_do_not_follow_to_another_origin(
    status: int, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    seller = make_seller(selling(sandbox, offer(sandbox)))
    door = make_seller(lambda seen: Reply(status, {"location": f"{seller.url}/there"}))
    headers = {"authorization": "Bearer x", "x-kept": "1"}
    response = payer.client.get(door.url, headers=headers, follow_redirects=True)
    assert response.status_code == 200 and not any(one.is_paid for one in door.seen)
    assert [one.headers.get("authorization") for one in seller.seen] == [None, None]
    assert [one.headers.get("x-kept") for one in seller.seen] == ["1", "1"]


@pytest.mark.parametrize("status", STATUSES)
def test_a_redirected_post_is_refused_where_it_ends(
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


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("kind", ["httpx", "requests"])
def test_a_redirect_behind_the_payment_is_returned_and_not_followed(
    status: int, kind: str, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    stranger = make_seller(lambda seen: Reply(body=b"stolen"))
    moved = Reply(status, {"location": f"{stranger.url}/there"})
    seller = make_seller(selling(sandbox, offer(sandbox), moved))
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
def test_a_header_of_the_callers_own_goes_to_no_other_origin(
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
    assert [one.is_paid for one in seller.seen] == [True] and not stranger.seen


@pytest.mark.parametrize("paid", [False, True])
def test_a_file_is_sent_whole_to_where_it_is_redirected(
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
    assert [one.body for one in seller.seen] == [b"file", b"file"] and not seller.paid


@pytest.mark.parametrize(
    ("kind", "location"),
    [
        ("httpx", "/y?sid={visit}"),
        # Clients read what is no whole address each in a way of its own.
        ("httpx", "http://:{port}/y?sid={visit}"),
        ("requests", "/y?sid={visit}"),
        ("requests", "/y?sid=%41{visit}"),
        ("requests", "/y?sid=\xc3\xa9{visit}"),
        ("requests", "/y?sid=%41{visit}#%zz"),
        ("requests", "//127.0.0.1:{port}/y?sid={visit}"),
    ],
)
def test_where_redirects_lead_may_change_and_its_payment_goes_nowhere_else(
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
    # And no place but the first gets it.
    assert len({one.path for one in seller.paid}) == 1
