"""Calls with terms known from an earlier call, which are paid with their first request."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
import requests

from exact_change import AsyncClient, receipt_of

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE, Payer, failure_of, until
from ..seller import Answer, Reply, Seen, Seller, offer, selling, terms

TERMS_ONCE = [False, True, True]
TERMS_TWICE = [False, True, False, True]


def paid_flags(seller: Seller) -> list[bool]:
    """Returns, for each request that a seller received, whether it had a payment."""
    return [request.is_paid for request in seller.seen]


class Shop:
    """Sells for one price; answers payments by its list of sales, and repeats the last entry."""

    def __init__(self, sandbox: Sandbox, offered: Any = None) -> None:
        self.asks: Reply = terms(offered or offer(sandbox))
        self.sales: list[Answer] = [selling(sandbox, offered or offer(sandbox))]
        self._sold = 0

    def answer(self, seen: Seen) -> Reply | None:
        if not seen.is_paid:
            return self.asks
        self._sold += 1
        return self.sales[min(self._sold, len(self.sales)) - 1](seen)


def payer_with_terms(seller: Seller, make_payer: MakePayer, **options: Any) -> Payer:
    """Returns a payer that knows the terms of a seller from a first call without payment ahead."""
    payer = make_payer(**{"USDC": "1", "presign": [seller.url], **options})
    first = payer.client.get(seller.url)
    assert first.text == "bought"
    payer.told("payment.settled")
    return payer


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_pays_with_the_first_request_to_a_url_below_a_presign_entry(
    method: str, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(Shop(sandbox).answer)
    payer = make_payer(USDC="1", presign=[f"{seller.url}/v1"])
    for query in (1, 2, 3):
        response = payer.client.request(method, f"{seller.url}/v1/a?q={query}", content=b"same")
        receipt = receipt_of(response)
        assert response.text == "bought" and receipt is not None
        assert receipt.payment.amount == str(PRICE)
    assert paid_flags(seller) == [False, True, True, True]
    assert len({str(request.payment) for request in seller.paid}) == 3
    payer.told("payment.settled", 3)
    assert payer.held() == 1_000_000 - 3 * PRICE


async def test_pays_ahead_on_an_event_loop_and_through_requests(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(Shop(sandbox).answer)
    options = sandbox.options(sandbox.wallet(USDC="1"), presign=[seller.url])
    async with AsyncClient(**options) as client:
        for _ in range(2):
            assert (await client.get(seller.url)).text == "bought"
    assert paid_flags(seller) == TERMS_ONCE
    payer = make_payer(USDC="1", presign=[seller.url])
    session = requests.Session()
    session.mount("http://", payer.client.adapter())
    for _ in range(2):
        answer = session.get(seller.url, timeout=20)
        assert answer.text == "bought" and receipt_of(answer) is not None
        assert "payment-signature" not in answer.request.headers
    assert paid_flags(seller) == [*TERMS_ONCE, *TERMS_ONCE]


def test_pays_a_new_price_only_after_the_old_payment_expired(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    shop, dearer = Shop(sandbox), offer(sandbox, amount="12000")
    sells = shop.sales[0]
    shop.sales = [sells, lambda _: terms(dearer), selling(sandbox, dearer)]
    seller = make_seller(shop.answer)
    payer = payer_with_terms(seller, make_payer)

    def warp(_: object) -> None:
        stop()
        sandbox.call("node.warp")

    stop = payer.client.on("payment.uncertain", warp)
    assert payer.client.get(seller.url).text == "bought"
    assert paid_flags(seller) == [False, True, True, True]
    payer.told("payment.settled", 2)
    assert payer.held() == 1_000_000 - PRICE - 12_000
    until("the budget of the refused payment is free", lambda: payer.used == "0.022")


def test_keeps_the_later_terms_of_parallel_calls(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    """The first call gets its terms before the second call, and ends after it."""
    shop, cheaper = Shop(sandbox), offer(sandbox, amount="9000")
    sells = selling(sandbox, cheaper)
    shop.sales = [sells, *shop.sales, sells]
    seller, asked, ended = make_seller(shop.answer), Event(), Event()

    def approve(_: object) -> bool:
        if not asked.is_set():
            asked.set()
            ended.wait(20)
        return True

    payer = make_payer(USDC="1", presign=[seller.url], policy={"approve": approve})
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(payer.client.get, f"{seller.url}?q=1")
        assert asked.wait(20)
        shop.asks = terms(cheaper)
        assert payer.client.get(f"{seller.url}?q=2").text == "bought"
        ended.set()
        assert first.result().text == "bought"
    assert payer.client.get(f"{seller.url}?q=3").text == "bought"
    assert paid_flags(seller) == [False, False, True, True, True]
    payer.told("payment.settled", 3)
    assert payer.held() == 1_000_000 - PRICE - 2 * 9_000


def test_pays_once_when_a_seller_settles_and_then_raises_its_price(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    shop = Shop(sandbox)
    sells = shop.sales[0]

    def settle_and_refuse(seen: Seen) -> Reply | None:
        sells(seen)
        return terms(offer(sandbox, amount="12000"))

    shop.sales = [sells, settle_and_refuse, sells]
    payer = payer_with_terms(make_seller(shop.answer), make_payer)
    url = payer.client.receipts()[0].url
    for _ in range(2):
        error = failure_of(lambda: payer.client.get(url), "already_spent")
        assert (error.funds, [moved.kind for moved in error.moved]) == ("spent", ["payment"])
    assert payer.signed == ["payment"] * 2 and payer.held() == 1_000_000 - 2 * PRICE


def test_signs_no_further_payment_while_the_first_payment_may_land(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    shop = Shop(sandbox)
    shop.sales.append(lambda _: terms(offer(sandbox, amount="12000")))
    seller = make_seller(shop.answer)
    payer = payer_with_terms(seller, make_payer, timeouts={"payment": 1_000})
    error = failure_of(lambda: payer.client.get(seller.url), "payment_rejected")
    assert (error.funds, error.retry, len(payer.signed)) == ("uncertain", "same", 2)


def test_frees_the_budget_of_a_free_call_and_requests_terms_in_the_next_call(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    shop = Shop(sandbox)
    shop.sales = [shop.sales[0], lambda _: Reply(body=b"free"), shop.sales[0]]
    seller = make_seller(shop.answer)
    payer = payer_with_terms(seller, make_payer)
    assert payer.client.get(seller.url).text == "free"
    sandbox.call("node.warp")
    until("the budget is free", lambda: payer.used == "0.01")
    payer.client.get(seller.url)
    assert paid_flags(seller) == [False, True, True, False, True]


def test_presents_the_same_payment_again_after_a_lost_answer(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    shop = Shop(sandbox)
    shop.sales = [shop.sales[0], lambda _: None, shop.sales[0]]
    seller = make_seller(shop.answer)
    payer = payer_with_terms(seller, make_payer)
    failure_of(lambda: payer.client.get(seller.url), "payment_uncertain")
    assert payer.client.get(seller.url).text == "bought"
    payer.told("payment.settled", 2)
    assert payer.signed == ["payment"] * 2 and payer.held() == 1_000_000 - 2 * PRICE


def test_calls_approve_once_for_a_refused_call(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(Shop(sandbox).answer)
    plans: list[object] = []

    def approve(plan: object) -> bool:
        plans.append(plan)
        return len(plans) == 1

    payer = payer_with_terms(seller, make_payer, policy={"max_per_day": "1", "approve": approve})
    failure_of(lambda: payer.client.get(seller.url), "approval_refused")
    assert (len(plans), paid_flags(seller)) == (2, [False, True])


@pytest.mark.parametrize(
    "presign", [["http://127.0.0.1:1", "https://api.example.com"], [], False, True]
)
def test_requests_terms_first_unless_presign_names_the_url(
    presign: Any, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(Shop(sandbox).answer)
    payer = payer_with_terms(seller, make_payer, presign=presign)
    payer.client.get(seller.url)
    assert paid_flags(seller) == TERMS_TWICE


@pytest.mark.parametrize(
    ("stated", "method", "expected"),
    [
        ({"cache-control": "private, max-age=60"}, "GET", TERMS_ONCE),
        ({"cache-control": "max-age=60", "age": "10"}, "GET", TERMS_ONCE),
        ({"cache-control": "max-age=60", "age": "60"}, "GET", TERMS_TWICE),
        ({"cache-control": "max-age=0"}, "GET", TERMS_TWICE),
        ({"cache-control": "no-store, max-age=60"}, "GET", TERMS_TWICE),
        ({"cache-control": "max-age=60"}, "POST", TERMS_TWICE),
    ],
)
def test_keeps_terms_for_as_long_as_the_seller_allows(
    stated: dict[str, str],
    method: str,
    expected: list[bool],
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
) -> None:
    shop = Shop(sandbox)
    shop.asks = shop.asks._replace(headers={**shop.asks.headers, **stated})
    seller = make_seller(shop.answer)
    payer = make_payer(USDC="1", presign=True)
    for _ in range(2):
        assert payer.client.request(method, seller.url).text == "bought"
    assert paid_flags(seller) == expected


def test_requests_terms_again_when_they_were_made_for_a_single_call(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    extra = {"feePayer": sandbox.fee_payer, "memo": "invoice 7"}
    seller = make_seller(Shop(sandbox, offer(sandbox, extra=extra)).answer)
    payer_with_terms(seller, make_payer).client.get(seller.url)
    assert paid_flags(seller) == TERMS_TWICE


def test_refuses_with_fresh_terms_when_a_cap_is_full(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(Shop(sandbox).answer)
    payer = payer_with_terms(seller, make_payer, policy={"max_per_day": "0.015"})
    failure_of(lambda: payer.client.get(seller.url), "budget_exhausted")
    assert (paid_flags(seller), payer.signed) == ([False, True, False], ["payment"])


def test_requests_terms_first_for_a_body_that_can_be_read_only_once(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(Shop(sandbox).answer)
    payer = make_payer(USDC="1", presign=[seller.url])
    for _ in range(2):
        assert payer.client.post(seller.url, content=iter([b"a", b"b"])).text == "bought"
    assert paid_flags(seller) == TERMS_TWICE
    assert {request.body for request in seller.seen} == {b"ab"}


def test_requests_terms_again_before_a_swap(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(Shop(sandbox).answer)
    payer = make_payer(SOL="0.2", USDC="0.015", presign=[seller.url], auto_swap=True)
    for _ in range(2):
        assert payer.client.get(seller.url).text == "bought"
    assert paid_flags(seller) == TERMS_TWICE
    assert payer.signed == ["payment", "swap", "payment"]


def test_pays_once_for_a_repeated_call_with_a_key(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(Shop(sandbox).answer)
    payer = payer_with_terms(seller, make_payer)
    assert payer.client.get(seller.url, idempotency_key="one").text == "bought"
    failure_of(lambda: payer.client.get(seller.url, idempotency_key="one"), "already_spent")
    assert len(payer.signed) == 2


def test_shows_a_new_redirect_and_sends_its_target_only_a_payment_of_its_own(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    shop, target = Shop(sandbox), make_seller(Shop(sandbox).answer)
    seller = make_seller(shop.answer)
    payer = payer_with_terms(seller, make_payer)
    shop.asks = Reply(307, {"location": target.url})
    shop.sales = [lambda _: shop.asks]
    for _ in range(2):
        response = payer.client.get(seller.url, follow_redirects=True)
        receipt = receipt_of(response)
        assert (response.status_code, response.headers["location"]) == (307, target.url)
        assert receipt is not None and receipt.state == "uncertain"
    assert len(payer.signed) == 2 and paid_flags(target) == [False]
    sandbox.call("node.warp")
    assert payer.client.get(seller.url, follow_redirects=True).text == "bought"
    assert paid_flags(seller) == [False, True, True, False, True, False]
    assert paid_flags(target) == [False, False, True]
    _, ahead, again = [str(request.payment) for request in seller.paid]
    assert again == ahead != str(target.paid[0].payment)
    payer.told("payment.settled", 2)
    assert payer.held() == 1_000_000 - 2 * PRICE


def test_requests_terms_first_from_the_target_of_a_redirect(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    shop = Shop(sandbox)

    def answer(seen: Seen) -> Reply | None:
        return Reply(302, {"location": "/"}) if seen.path == "/door" else shop.answer(seen)

    seller = make_seller(answer)
    payer = payer_with_terms(seller, make_payer)
    response = payer.client.get(f"{seller.url}/door", follow_redirects=True)
    assert response.text == "bought"
    assert paid_flags(seller) == [*TERMS_ONCE[:2], False, *TERMS_TWICE[2:]]
