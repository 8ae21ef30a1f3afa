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
from ..payer import PRICE, Payer, failure_of, hurry, until
from ..seller import Answer, Reply, Seen, offer, selling, terms

TERMS_ONCE = [False, True, True]
TERMS_TWICE = [False, True, False, True]


class Shop:
    """Sells for one price; answers payments by its list of sales, and repeats the last entry."""

    def __init__(self, sandbox: Sandbox, make_seller: MakeSeller, make_payer: MakePayer) -> None:
        self.seller = make_seller(self._answer)
        self.url = self.seller.url
        self.asks: Reply = terms(offer(sandbox))
        self.sales: list[Answer] = [selling(sandbox, offer(sandbox))]
        self._sold = 0
        self._make_payer = make_payer

    def _answer(self, seen: Seen) -> Reply | None:
        if not seen.is_paid:
            return self.asks
        self._sold += 1
        return self.sales[min(self._sold, len(self.sales)) - 1](seen)

    @property
    def paid_flags(self) -> list[bool]:
        """Whether each received request had a payment."""
        return [request.is_paid for request in self.seller.seen]

    def new_payer(self, **options: Any) -> Payer:
        """Returns a payer that pays this shop ahead once it knows the terms."""
        return self._make_payer(**{"USDC": "1", "presign": [self.url], **options})

    def payer(self, **options: Any) -> Payer:
        """Returns a payer that knows the terms from a first call."""
        payer = self.new_payer(**options)
        assert payer.client.get(self.url).text == "bought"
        payer.told("payment.settled")
        return payer


@pytest.fixture
def shop(sandbox: Sandbox, make_seller: MakeSeller, make_payer: MakePayer) -> Shop:
    return Shop(sandbox, make_seller, make_payer)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_pays_with_the_first_request_to_a_url_below_a_presign_entry(
    method: str, shop: Shop
) -> None:
    payer = shop.new_payer(presign=[f"{shop.url}/v1"])
    for query in (1, 2, 3):
        response = payer.client.request(method, f"{shop.url}/v1/a?q={query}", content=b"same")
        receipt = receipt_of(response)
        assert response.text == "bought" and receipt is not None
        assert receipt.payment.amount == str(PRICE)
    assert shop.paid_flags == [False, True, True, True]
    assert len({str(request.payment) for request in shop.seller.paid}) == 3
    payer.told("payment.settled", 3)
    assert payer.held() == 1_000_000 - 3 * PRICE


async def test_pays_ahead_on_an_event_loop_and_through_requests(
    shop: Shop, sandbox: Sandbox
) -> None:
    options = sandbox.options(sandbox.wallet(USDC="1"), presign=[shop.url])
    async with AsyncClient(**options) as client:
        for _ in range(2):
            assert (await client.get(shop.url)).text == "bought"
    assert shop.paid_flags == TERMS_ONCE
    with requests.Session() as session:
        session.mount("http://", shop.new_payer().client.adapter())
        for _ in range(2):
            answer = session.get(shop.url, timeout=60)
            assert answer.text == "bought" and receipt_of(answer) is not None
            assert "payment-signature" not in answer.request.headers
    assert shop.paid_flags == [*TERMS_ONCE, *TERMS_ONCE]


def test_pays_a_new_price_only_after_the_old_payment_expired(shop: Shop, sandbox: Sandbox) -> None:
    dearer = offer(sandbox, amount="12000")
    shop.sales = [*shop.sales, lambda _: terms(dearer), selling(sandbox, dearer)]
    payer = shop.payer()

    def warp(_: object) -> None:
        stop()
        sandbox.call("node.warp")

    stop = payer.client.on("payment.uncertain", warp)
    assert payer.client.get(shop.url).text == "bought"
    assert shop.paid_flags == [False, True, True, True]
    payer.told("payment.settled", 2)
    assert payer.held() == 1_000_000 - PRICE - 12_000
    until("the budget of the refused payment is free", lambda: payer.used == "0.022")


def test_keeps_the_later_terms_of_parallel_calls(shop: Shop, sandbox: Sandbox) -> None:
    """The first call gets its terms before the second call, and ends after it."""
    cheaper, asked, ended = offer(sandbox, amount="9000"), Event(), Event()
    sells = selling(sandbox, cheaper)
    shop.sales = [sells, *shop.sales, sells]

    def approve(_: object) -> bool:
        if not asked.is_set():
            asked.set()
            ended.wait(60)
        return True

    payer = shop.new_payer(policy={"approve": approve})
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(payer.client.get, f"{shop.url}?q=1")
        assert asked.wait(60)
        shop.asks = terms(cheaper)
        assert payer.client.get(f"{shop.url}?q=2").text == "bought"
        ended.set()
        assert first.result().text == "bought"
    assert payer.client.get(f"{shop.url}?q=3").text == "bought"
    assert shop.paid_flags == [False, False, True, True, True]
    payer.told("payment.settled", 3)
    assert payer.held() == 1_000_000 - PRICE - 2 * 9_000


def test_pays_once_when_a_seller_settles_and_then_raises_its_price(
    shop: Shop, sandbox: Sandbox
) -> None:
    sells = shop.sales[0]

    def settle_and_refuse(seen: Seen) -> Reply | None:
        sells(seen)
        return terms(offer(sandbox, amount="12000"))

    shop.sales = [sells, settle_and_refuse, sells]
    payer = shop.payer()
    for _ in range(2):
        error = failure_of(lambda: payer.client.get(shop.url), "already_spent")
        assert (error.funds, [moved.kind for moved in error.moved]) == ("spent", ["payment"])
    assert payer.signed == ["payment"] * 2 and payer.held() == 1_000_000 - 2 * PRICE


def test_signs_no_further_payment_while_the_first_payment_may_land(
    shop: Shop, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch)
    shop.sales.append(lambda _: terms(offer(sandbox, amount="12000")))
    payer = shop.payer()
    error = failure_of(lambda: payer.client.get(shop.url), "payment_rejected")
    assert (error.funds, error.retry, len(payer.signed)) == ("uncertain", "same", 2)


def test_frees_the_budget_of_a_free_call_and_requests_terms_in_the_next_call(
    shop: Shop, sandbox: Sandbox
) -> None:
    shop.sales = [*shop.sales, lambda _: Reply(body=b"free"), *shop.sales]
    payer = shop.payer()
    assert payer.client.get(shop.url).text == "free"
    sandbox.call("node.warp")
    until("the budget is free", lambda: payer.used == "0.01")
    payer.client.get(shop.url)
    assert shop.paid_flags == [False, True, True, False, True]


def test_presents_the_same_payment_again_after_a_lost_answer(shop: Shop) -> None:
    shop.sales = [*shop.sales, lambda _: None, *shop.sales]
    payer = shop.payer()
    failure_of(lambda: payer.client.get(shop.url), "payment_uncertain")
    assert payer.client.get(shop.url).text == "bought"
    payer.told("payment.settled", 2)
    assert payer.signed == ["payment"] * 2 and payer.held() == 1_000_000 - 2 * PRICE


def test_calls_approve_once_for_a_refused_call(shop: Shop) -> None:
    plans: list[object] = []

    def approve(plan: object) -> bool:
        plans.append(plan)
        return len(plans) == 1

    payer = shop.payer(policy={"max_per_day": "1", "approve": approve})
    failure_of(lambda: payer.client.get(shop.url), "approval_refused")
    assert (len(plans), shop.paid_flags) == (2, [False, True])


@pytest.mark.parametrize(
    "presign", [["http://127.0.0.1:1", "https://api.example.com"], [], False, True]
)
def test_requests_terms_first_unless_presign_names_the_url(presign: Any, shop: Shop) -> None:
    payer = shop.payer(presign=presign)
    payer.client.get(shop.url)
    assert shop.paid_flags == TERMS_TWICE


@pytest.mark.parametrize(
    ("stated", "method", "expected"),
    [
        ({"cache-control": "private, max-age=60"}, "GET", TERMS_ONCE),
        ({"cache-control": "max-age=60", "age": "10"}, "GET", TERMS_ONCE),
        ({"cache-control": "max-age=60", "age": "60"}, "GET", TERMS_TWICE),
        ({"cache-control": "max-age=60", "age": "9" * 5_000}, "GET", TERMS_TWICE),
        ({"cache-control": "max-age=0"}, "GET", TERMS_TWICE),
        ({"cache-control": "no-store, max-age=60"}, "GET", TERMS_TWICE),
        ({"cache-control": "max-age=60"}, "POST", TERMS_TWICE),
    ],
)
def test_keeps_terms_for_as_long_as_the_seller_allows(
    stated: dict[str, str], method: str, expected: list[bool], shop: Shop
) -> None:
    shop.asks = shop.asks._replace(headers={**shop.asks.headers, **stated})
    payer = shop.new_payer(presign=True)
    for _ in range(2):
        assert payer.client.request(method, shop.url).text == "bought"
    assert shop.paid_flags == expected


def test_requests_terms_again_when_they_were_made_for_a_single_call(
    shop: Shop, sandbox: Sandbox
) -> None:
    extra = {"feePayer": sandbox.fee_payer, "memo": "invoice 7"}
    invoice = offer(sandbox, extra=extra)
    shop.asks, shop.sales = terms(invoice), [selling(sandbox, invoice)]
    shop.payer().client.get(shop.url)
    assert shop.paid_flags == TERMS_TWICE


def test_refuses_with_fresh_terms_when_a_cap_is_full(shop: Shop) -> None:
    payer = shop.payer(policy={"max_per_day": "0.015"})
    failure_of(lambda: payer.client.get(shop.url), "budget_exhausted")
    assert (shop.paid_flags, payer.signed) == ([False, True, False], ["payment"])


def test_requests_terms_first_for_a_body_that_can_be_read_only_once(shop: Shop) -> None:
    payer = shop.new_payer()
    for _ in range(2):
        assert payer.client.post(shop.url, content=iter([b"a", b"b"])).text == "bought"
    assert shop.paid_flags == TERMS_TWICE
    assert {request.body for request in shop.seller.seen} == {b"ab"}


def test_requests_terms_again_before_a_swap(shop: Shop) -> None:
    payer = shop.new_payer(SOL="0.2", USDC="0.015", auto_swap=True)
    for _ in range(2):
        assert payer.client.get(shop.url).text == "bought"
    assert shop.paid_flags == TERMS_TWICE
    assert payer.signed == ["payment", "swap", "payment"]


def test_pays_once_for_a_repeated_call_with_a_key(shop: Shop) -> None:
    payer = shop.payer()
    assert payer.client.get(shop.url, idempotency_key="one").text == "bought"
    failure_of(lambda: payer.client.get(shop.url, idempotency_key="one"), "already_spent")
    assert len(payer.signed) == 2


def test_shows_a_new_redirect_and_sends_its_target_only_a_payment_of_its_own(
    shop: Shop, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    target, payer = Shop(sandbox, make_seller, make_payer), shop.payer()
    shop.asks = Reply(307, {"location": target.url})
    shop.sales = [lambda _: shop.asks]
    for _ in range(2):
        response = payer.client.get(shop.url, follow_redirects=True)
        receipt = receipt_of(response)
        assert (response.status_code, response.headers["location"]) == (307, target.url)
        assert receipt is not None and receipt.state == "uncertain"
    assert len(payer.signed) == 2 and target.paid_flags == [False]
    sandbox.call("node.warp")
    assert payer.client.get(shop.url, follow_redirects=True).text == "bought"
    assert shop.paid_flags == [False, True, True, False, True, False]
    assert target.paid_flags == [False, False, True]
    _, ahead, again = [str(request.payment) for request in shop.seller.paid]
    assert again == ahead != str(target.seller.paid[0].payment)
    payer.told("payment.settled", 2)
    assert payer.held() == 1_000_000 - 2 * PRICE


def test_requests_terms_first_from_the_target_of_a_redirect(shop: Shop) -> None:
    sells = shop.seller.answer

    def answer(seen: Seen) -> Reply | None:
        return Reply(302, {"location": "/"}) if seen.path == "/door" else sells(seen)

    shop.seller.answer = answer
    payer = shop.payer()
    response = payer.client.get(f"{shop.url}/door", follow_redirects=True)
    assert response.text == "bought"
    assert shop.paid_flags == [*TERMS_ONCE[:2], False, *TERMS_TWICE[2:]]
