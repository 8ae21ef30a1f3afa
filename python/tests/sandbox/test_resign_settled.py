"""A refused payment that is decided before, or while, the second payment is presented."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, Callable

import pytest
from solders.keypair import Keypair

from exact_change import Event
from exact_change._kernel import steps
from exact_change._kernel.signals import Signal
from exact_change._kernel.task import Steps, Task
from exact_change._payments import prices

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox, Wallet
from ..payer import PRICE, Payer, failure_of, until
from ..proxy import Proxy
from ..seller import BOUGHT, Reply, Seen, Seller, offer, selling, settle, terms

HELD = 1_000_000
Second = Callable[[], "Reply | None"]


class Shop:
    """A seller that refuses its first payment, and a payer that may sign a second one."""

    def __init__(self, sandbox: Sandbox, make_seller: MakeSeller) -> None:
        self._sandbox = sandbox
        self.second: Second = lambda: BOUGHT
        self.seller: Seller = make_seller(self._answer)
        self.payer: Payer

    def _answer(self, seen: Seen) -> Reply | None:
        if seen.is_paid and len(self.seller.paid) > 1:
            return self.second()
        return terms(offer(self._sandbox))

    def settle_first(self) -> None:
        """Settles the first payment, and waits until the payer has heard of that."""
        first = self.seller.paid[0]
        assert settle(self._sandbox, first, first.payment["accepted"])["success"]
        self.payer.told("payment.settled")

    def buy(self) -> object:
        return self.payer.client.get(self.seller.url)

    def frees_the_second(self) -> None:
        """Checks that only the first payment counts when no other can land."""
        self._sandbox.call("node.warp")
        until("the budget of the second payment is free", lambda: self.payer.used == "0.01")
        assert self.payer.held() == HELD - PRICE


@pytest.fixture
def shop(sandbox: Sandbox, make_seller: MakeSeller) -> Shop:
    return Shop(sandbox, make_seller)


@pytest.mark.parametrize("is_approved", [True, False])
def test_signs_no_second_payment_once_the_first_has_settled(
    is_approved: bool, shop: Shop, make_payer: MakePayer
) -> None:
    asked: list[object] = []

    def approve(plan: object) -> bool:
        asked.append(plan)
        if len(asked) == 1:
            return True
        shop.settle_first()
        return is_approved

    shop.payer = make_payer(USDC="1", policy={"resign": 1, "approve": approve})
    error = failure_of(shop.buy, "payment_rejected")
    assert (error.funds, error.retry, len(error.moved)) == ("spent", "never", 1)
    assert (shop.payer.signed, len(shop.seller.paid)) == (["payment"], 1)
    shop.frees_the_second()


def test_sends_no_second_payment_if_the_first_settles_while_the_wallet_signs(
    sandbox: Sandbox, shop: Shop, make_payer: MakePayer
) -> None:
    class Slow:
        def __init__(self, wallet: Wallet) -> None:
            self.address = wallet.address
            self._pair = Keypair.from_base58_string(wallet.secret_key)

        def sign_message(self, message: bytes, intent: object) -> bytes:
            if shop.seller.paid:
                shop.settle_first()
            return bytes(self._pair.sign_message(message))

    wallet = sandbox.wallet(USDC="1")
    shop.payer = make_payer(
        wallet, wallet_secret_key=None, signer=Slow(wallet), policy={"resign": 1}
    )
    error = failure_of(shop.buy, "payment_rejected")
    assert (error.funds, error.retry, len(error.moved)) == ("spent", "never", 1)
    assert len(shop.seller.paid) == 1
    shop.frees_the_second()


def test_sends_no_second_payment_that_is_on_record_once_the_first_has_settled(
    shop: Shop, make_payer: MakePayer
) -> None:
    shop.payer = make_payer(USDC="1", policy={"resign": 1})

    def on_signed(_: Event) -> None:
        if shop.seller.paid:
            shop.settle_first()

    shop.payer.client.on("payment.signed", on_signed)
    error = failure_of(shop.buy, "payment_rejected")
    assert (error.funds, error.retry, len(error.moved)) == ("spent", "never", 1)
    failure_of(shop.buy, "already_spent")
    assert (shop.payer.signed, len(shop.seller.paid)) == (["payment", "payment"], 1)
    shop.frees_the_second()


def test_reports_the_first_payment_as_spent_if_it_settles_before_the_second_is_refused(
    sandbox: Sandbox, shop: Shop, make_payer: MakePayer
) -> None:
    def refuse() -> Reply:
        shop.settle_first()
        return terms(offer(sandbox))

    shop.payer, shop.second = make_payer(USDC="1", policy={"resign": 1}), refuse
    error = failure_of(shop.buy, "payment_rejected")
    assert (error.funds, error.retry, len(error.moved)) == ("spent", "never", 1)
    assert len(shop.seller.paid) == 2


def test_reports_the_first_payment_as_moved_if_the_answer_to_the_second_is_lost(
    shop: Shop, make_payer: MakePayer
) -> None:
    shop.payer, shop.second = make_payer(USDC="1", policy={"resign": 1}), shop.settle_first
    error = failure_of(shop.buy, "payment_uncertain")
    assert (error.funds, len(error.moved)) == ("uncertain", 1)


def test_signs_no_second_payment_if_no_node_says_what_became_of_the_first(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    def answer(seen: Seen) -> Reply:
        if seen.is_paid:
            fault = {"kind": "status", "status": 500}
            sandbox.call("node.fault", "getSignaturesForAddress", fault)
        return terms(offer(sandbox))

    seller, payer = make_seller(answer), make_payer(USDC="1", policy={"resign": 1})
    error = failure_of(lambda: payer.client.get(seller.url), "payment_rejected")
    assert (error.funds, error.moved) == ("uncertain", ())
    assert (payer.signed, len(seller.paid)) == (["payment"], 1)


def test_lets_another_call_find_its_price_when_the_first_settles_during_a_shared_search(
    sandbox: Sandbox,
    shop: Shop,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bonk = offer(sandbox, "BONK", "1000")
    other = make_seller(selling(sandbox, bonk))
    is_asked, is_shared, may_answer = (threading.Event() for _ in range(3))

    def hold_back(reply: Reply) -> Reply:
        is_asked.set()
        assert may_answer.wait(60)
        return reply

    def join(task: Task[Any], *signals: Signal | None) -> Steps[Any]:
        # Only a call that shares the search of another call gives its own signal.
        if signals:
            is_shared.set()
        return steps.join(task, *signals)

    monkeypatch.setattr(prices, "join", join)
    jupiter = Proxy(sandbox.jupiter_url)
    jupiter.instead = hold_back
    shop.seller.answer = lambda seen: terms(bonk if seen.is_paid else offer(sandbox))
    caps = {sandbox.mint("BONK"): "1000"}
    shop.payer = make_payer(
        USDC="1", BONK="100000", jupiter_url=jupiter.url, policy={"resign": 1, "max_amount": caps}
    )
    with closing(jupiter), ThreadPoolExecutor(2) as pool:
        first = pool.submit(shop.buy)
        assert is_asked.wait(60)
        joining = pool.submit(shop.payer.client.get, other.url)
        assert is_shared.wait(60)
        shop.settle_first()
        error = failure_of(first.result, "payment_rejected")
        may_answer.set()
        assert (error.funds, len(error.moved)) == ("spent", 1)
        assert joining.result().content == BOUGHT.body


def test_tells_of_a_swap_with_an_unknown_end_once_the_first_payment_has_expired(
    sandbox: Sandbox, make_payer: MakePayer, shop: Shop
) -> None:
    shop.payer = make_payer(SOL="0.5", USDT="5", USDC="0.01", auto_swap=True, policy={"resign": 1})

    def lose_swap(_: object) -> None:
        sandbox.call("node.fault", "getSignatureStatuses", {"kind": "status", "status": 503})
        sandbox.call("node.warp")

    shop.payer.client.on("swap.signed", lose_swap)
    shop.payer.client.on("payment.unsettled", lambda _: shop.payer.client.close())
    error = failure_of(shop.buy, "swap_uncertain")
    assert (error.funds, shop.payer.signed) == ("uncertain", ["payment", "swap"])
    assert (error.response.status_code, len(shop.seller.paid)) == (402, 1)
