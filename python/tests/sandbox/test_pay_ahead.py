"""Calls whose terms are known from one before are paid with their first request."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from exact_change import AsyncClient, receipt_of

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE, Payer, failure_of, until
from ..seller import Answer, Reply, Seen, Seller, offer, selling, terms

ASKED_ONCE = [False, True, True]
ASKED_TWICE = [False, True, False, True]


def shown(seller: Seller) -> list[bool]:
    """Of each request that a seller saw, whether it came with a payment."""
    return [one.is_paid for one in seller.seen]


class Shop:
    """Sells for one price, and answers each payment as its test says, the last for ever."""

    def __init__(self, sandbox: Sandbox, offered: Any = None) -> None:
        self.asks: Reply = terms(offered or offer(sandbox))
        self.sales: list[Answer] = [selling(sandbox, offered or offer(sandbox))]
        self._sold = 0

    def answer(self, seen: Seen) -> Reply | None:
        if not seen.is_paid:
            return self.asks
        self._sold += 1
        return self.sales[min(self._sold, len(self.sales)) - 1](seen)


def known_to(seller: Seller, make_payer: MakePayer, **options: Any) -> Payer:
    """A payer that pays ahead at a seller, after a first call that was asked for."""
    payer = make_payer(**{"USDC": "1", "presign": [seller.url], **options})
    first = payer.client.get(seller.url)
    assert first.text == "bought"
    payer.told("payment.settled")
    return payer


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_call_below_a_named_address_is_paid_with_its_first_request(
    method: str, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(Shop(sandbox).answer)
    payer = make_payer(USDC="1", presign=[f"{seller.url}/v1"])
    for query in (1, 2, 3):
        response = payer.client.request(method, f"{seller.url}/v1/a?q={query}", content=b"same")
        receipt = receipt_of(response)
        assert response.text == "bought" and receipt is not None
        assert receipt.payment.amount == str(PRICE)
    assert shown(seller) == [False, True, True, True]
    assert len({str(one.payment) for one in seller.paid}) == 3
    payer.told("payment.settled", 3)
    assert payer.held() == 1_000_000 - 3 * PRICE


async def test_it_is_on_a_loop_and_by_requests_too(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(Shop(sandbox).answer)
    options = sandbox.options(sandbox.wallet(USDC="1"), presign=[seller.url])
    async with AsyncClient(**options) as client:
        for _ in range(2):
            assert (await client.get(seller.url)).text == "bought"
    assert shown(seller) == ASKED_ONCE
    payer = make_payer(USDC="1", presign=[seller.url])
    session = requests.Session()
    session.mount("http://", payer.client.adapter())
    for _ in range(2):
        answer = session.get(seller.url, timeout=20)
        assert answer.text == "bought" and receipt_of(answer) is not None
        assert "payment-signature" not in answer.request.headers
    assert shown(seller) == [*ASKED_ONCE, *ASKED_ONCE]


def test_a_new_price_is_paid_once_the_old_one_can_never_land(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    shop, dearer = Shop(sandbox), offer(sandbox, amount="12000")
    sells = shop.sales[0]
    shop.sales = [sells, lambda _: terms(dearer), selling(sandbox, dearer)]
    seller = make_seller(shop.answer)
    payer = known_to(seller, make_payer)

    def warp(_: object) -> None:
        stop()
        sandbox.call("node.warp")

    stop = payer.client.on("payment.uncertain", warp)
    assert payer.client.get(seller.url).text == "bought"
    assert shown(seller) == [False, True, True, True]
    payer.told("payment.settled", 2)
    assert payer.held() == 1_000_000 - PRICE - 12_000
    until("the refused one is given back", lambda: payer.used == "0.022")


def test_a_seller_that_settles_and_asks_for_more_is_paid_once(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    shop = Shop(sandbox)
    sells = shop.sales[0]

    def lies(seen: Seen) -> Reply | None:
        sells(seen)
        return terms(offer(sandbox, amount="12000"))

    shop.sales = [sells, lies, sells]
    payer = known_to(make_seller(shop.answer), make_payer)
    url = payer.client.receipts()[0].url
    for _ in range(2):
        error = failure_of(lambda: payer.client.get(url), "already_spent")
        assert (error.funds, [one.kind for one in error.moved]) == ("spent", ["payment"])
    assert payer.signed == ["payment"] * 2 and payer.held() == 1_000_000 - 2 * PRICE


def test_nothing_more_is_signed_while_the_first_payment_may_land(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    shop = Shop(sandbox)
    shop.sales.append(lambda _: terms(offer(sandbox, amount="12000")))
    seller = make_seller(shop.answer)
    payer = known_to(seller, make_payer, timeouts={"payment": 1_000})
    error = failure_of(lambda: payer.client.get(seller.url), "payment_rejected")
    assert (error.funds, error.retry, len(payer.signed)) == ("uncertain", "same", 2)


def test_a_call_that_is_free_by_now_costs_nothing_and_the_next_asks(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    shop = Shop(sandbox)
    shop.sales = [shop.sales[0], lambda _: Reply(body=b"free"), shop.sales[0]]
    seller = make_seller(shop.answer)
    payer = known_to(seller, make_payer)
    assert payer.client.get(seller.url).text == "free"
    sandbox.call("node.warp")
    until("it is given back", lambda: payer.used == "0.01")
    payer.client.get(seller.url)
    assert shown(seller) == [False, True, True, False, True]


def test_a_lost_answer_is_not_paid_anew_by_the_next_call(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    shop = Shop(sandbox)
    shop.sales = [shop.sales[0], lambda _: None, shop.sales[0]]
    seller = make_seller(shop.answer)
    payer = known_to(seller, make_payer)
    failure_of(lambda: payer.client.get(seller.url), "payment_uncertain")
    assert payer.client.get(seller.url).text == "bought"
    payer.told("payment.settled", 2)
    assert payer.signed == ["payment"] * 2 and payer.held() == 1_000_000 - 2 * PRICE


def test_a_no_is_asked_for_once_a_call(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(Shop(sandbox).answer)
    asked: list[object] = []

    def approve(plan: object) -> bool:
        asked.append(plan)
        return len(asked) == 1

    payer = known_to(seller, make_payer, policy={"max_per_day": "1", "approve": approve})
    failure_of(lambda: payer.client.get(seller.url), "approval_refused")
    assert (len(asked), shown(seller)) == (2, [False, True])


@pytest.mark.parametrize(
    "presign", [["http://127.0.0.1:1", "https://api.example.com"], [], False, True]
)
def test_a_call_is_asked_for_first_unless_its_address_is_named(
    presign: Any, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(Shop(sandbox).answer)
    payer = known_to(seller, make_payer, presign=presign)
    payer.client.get(seller.url)
    assert shown(seller) == ASKED_TWICE


@pytest.mark.parametrize(
    ("stated", "method", "expected"),
    [
        ("private, max-age=60", "GET", ASKED_ONCE),
        ("max-age=0", "GET", ASKED_TWICE),
        ("no-store, max-age=60", "GET", ASKED_TWICE),
        ("max-age=60", "POST", ASKED_TWICE),
    ],
)
def test_a_seller_may_say_how_long_its_terms_hold(
    stated: str,
    method: str,
    expected: list[bool],
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
) -> None:
    shop = Shop(sandbox)
    shop.asks = shop.asks._replace(headers={**shop.asks.headers, "cache-control": stated})
    seller = make_seller(shop.answer)
    payer = make_payer(USDC="1", presign=True)
    for _ in range(2):
        assert payer.client.request(method, seller.url).text == "bought"
    assert shown(seller) == expected


def test_terms_that_were_made_for_one_call_are_asked_for(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    extra = {"feePayer": sandbox.fee_payer, "memo": "invoice 7"}
    seller = make_seller(Shop(sandbox, offer(sandbox, extra=extra)).answer)
    known_to(seller, make_payer).client.get(seller.url)
    assert shown(seller) == ASKED_TWICE


def test_a_full_cap_refuses_after_asking(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(Shop(sandbox).answer)
    payer = known_to(seller, make_payer, policy={"max_per_day": "0.015"})
    failure_of(lambda: payer.client.get(seller.url), "budget_exhausted")
    assert (shown(seller), payer.signed) == ([False, True, False], ["payment"])


def test_a_body_that_is_read_once_alone_is_asked_for_first(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(Shop(sandbox).answer)
    payer = make_payer(USDC="1", presign=[seller.url])
    for _ in range(2):
        assert payer.client.post(seller.url, content=iter([b"a", b"b"])).text == "bought"
    assert shown(seller) == ASKED_TWICE
    assert {one.body for one in seller.seen} == {b"ab"}


def test_no_swap_is_made_for_terms_that_may_have_changed(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(Shop(sandbox).answer)
    payer = make_payer(SOL="0.2", USDC="0.015", presign=[seller.url], auto_swap=True)
    for _ in range(2):
        assert payer.client.get(seller.url).text == "bought"
    assert shown(seller) == ASKED_TWICE
    assert payer.signed == ["payment", "swap", "payment"]


def test_a_call_that_is_repeated_under_its_key_is_paid_once(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(Shop(sandbox).answer)
    payer = known_to(seller, make_payer)
    assert payer.client.get(seller.url, idempotency_key="one").text == "bought"
    failure_of(lambda: payer.client.get(seller.url, idempotency_key="one"), "already_spent")
    assert len(payer.signed) == 2


def test_what_a_redirect_leads_to_is_asked_first(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    shop = Shop(sandbox)

    def answer(seen: Seen) -> Reply | None:
        return Reply(302, {"location": "/"}) if seen.path == "/door" else shop.answer(seen)

    seller = make_seller(answer)
    payer = known_to(seller, make_payer)
    response = payer.client.get(f"{seller.url}/door", follow_redirects=True)
    assert response.text == "bought"
    assert shown(seller) == [*ASKED_ONCE[:2], False, *ASKED_TWICE[2:]]
