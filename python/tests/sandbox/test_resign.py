"""A second payment after a 402 that proves no settlement, if the policy allows it."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping

import pytest

from exact_change import AsyncClient, ExactChangeError, file_journal, receipt_of
from exact_change._payments import reading
from exact_change._payments.reservation import Reservation

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE, Payer, failure_of, until
from ..seller import BOUGHT, Reply, Seen, Seller, offer, settle, terms

HELD = 1_000_000
RESIGN = {"resign": 1}
Refuse = Callable[[Sandbox], "Reply | None"]


def again(**change: Any) -> Refuse:
    """Returns a refusal with fresh terms, which may be changed."""

    def refuse(sandbox: Sandbox) -> Reply:
        return terms(offer(sandbox, **change))

    return refuse


def another_payee(sandbox: Sandbox) -> Reply:
    # The new payee has a token account, so its offer could be paid.
    return terms(offer(sandbox, payTo=sandbox.wallet(USDC="1").address))


def failing(sandbox: Sandbox) -> Reply:
    settlement = {"success": False, "transaction": "", "errorReason": "settle_failed"}
    encoded = base64.b64encode(json.dumps(settlement).encode()).decode()
    reply = terms(offer(sandbox))
    return reply._replace(headers={**reply.headers, "PAYMENT-RESPONSE": encoded})


def selling(sandbox: Sandbox, make_seller: MakeSeller, *refusals: Refuse) -> Seller:
    """Returns a seller that refuses the first payments in turn, and settles every later payment."""

    def answer(seen: Seen) -> Reply | None:
        if not seen.is_paid:
            return terms(offer(sandbox))
        shown = len(seller.paid)
        if shown <= len(refusals):
            return refusals[shown - 1](sandbox)
        settled = settle(sandbox, seen, seen.payment["accepted"])
        return BOUGHT if settled["success"] else terms(offer(sandbox))

    seller = make_seller(answer)
    return seller


def amounts(payer: Payer) -> list[str]:
    """Returns the amounts of the signed payments, in order."""
    chosen: list[Mapping[str, Any]] = []
    signed: list[str] = []
    for event in payer.events:
        if event.type == "payment.chosen":
            chosen.append(event.details)
        elif event.type == "payment.signed":
            signed.append(str(chosen[-1]["amount"]))
    return signed


def test_counts_both_payments_until_the_chain_has_decided(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1", policy=RESIGN)
    seller = selling(sandbox, make_seller, again())
    response = payer.client.get(seller.url)
    assert (response.status_code, response.content) == (200, b"bought")
    assert amounts(payer) == [str(PRICE), str(PRICE)]
    sent = [request.payment["payload"]["transaction"] for request in seller.paid]
    assert len(set(sent)) == 2
    receipt = payer.client.settled(response)
    assert receipt is not None and receipt.state == "settled"
    assert payer.used == "0.02"
    sandbox.call("node.warp")
    until("the budget of the first payment is free", lambda: payer.used == "0.01")
    assert payer.held() == HELD - PRICE


def test_pays_less_when_the_fresh_terms_ask_for_less(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1", policy=RESIGN)
    seller = selling(sandbox, make_seller, again(amount="9000"))
    assert payer.client.get(seller.url).status_code == 200
    assert amounts(payer) == [str(PRICE), "9000"]


REFUSED: list[tuple[str, Refuse, dict[str, Any], str]] = [
    ("the policy allows no second payment", again(), {}, "payment_rejected"),
    (
        "the budget has room for one payment",
        again(),
        {**RESIGN, "max_per_day": "0.015"},
        "payment_rejected",
    ),
    ("the price has risen", again(amount="10001"), RESIGN, "payment_rejected"),
    ("the payee has changed", another_payee, RESIGN, "payment_rejected"),
    ("another token costs more", again(mint="USDT", amount="10001"), RESIGN, "payment_rejected"),
    ("the seller reports a failed settlement", failing, RESIGN, "payment_rejected"),
    ("the 402 has no terms", lambda _: Reply(402), RESIGN, "payment_rejected"),
    (
        "the terms of the 402 are unreadable",
        lambda _: Reply(402, {"PAYMENT-REQUIRED": "{{"}),
        RESIGN,
        "payment_rejected",
    ),
    ("the answer was lost", lambda _: None, RESIGN, "payment_uncertain"),
]


@pytest.mark.parametrize(
    ("refuse", "policy", "code"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_signs_no_second_payment_if(
    refuse: Refuse,
    policy: dict[str, Any],
    code: str,
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
) -> None:
    payer = make_payer(USDC="1", USDT="1", policy=policy)
    seller = selling(sandbox, make_seller, refuse)
    error = failure_of(lambda: payer.client.get(seller.url), code)
    assert error.funds == "uncertain"
    assert (amounts(payer), len(seller.paid), payer.used) == ([str(PRICE)], 1, "0.01")


def test_signs_no_third_payment(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1", policy=RESIGN)
    seller = selling(sandbox, make_seller, again(), again(), again())
    error = failure_of(lambda: payer.client.get(seller.url), "payment_rejected")
    assert (error.funds, error.moved) == ("uncertain", ())
    assert (len(amounts(payer)), len(seller.paid), payer.used) == (2, 2, "0.02")


def test_signs_no_second_payment_when_the_first_payment_has_landed(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1", policy=RESIGN)

    def landing(_: Sandbox) -> Reply:
        seen = seller.paid[0]
        assert settle(sandbox, seen, seen.payment["accepted"])["success"]
        return terms(offer(sandbox))

    seller = selling(sandbox, make_seller, landing)
    error = failure_of(lambda: payer.client.get(seller.url), "payment_rejected")
    assert (error.funds, len(amounts(payer))) == ("spent", 1)
    assert (payer.held(), payer.used) == (HELD - PRICE, "0.01")


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_signs_no_third_payment_for_a_repeat_with_a_key(
    method: str, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1", policy=RESIGN)
    seller = selling(sandbox, make_seller, again(), again())

    def buy() -> None:
        payer.client.request(method, seller.url, idempotency_key="order")

    failure_of(buy, "payment_rejected")
    for _ in range(2):
        try:
            buy()
        except ExactChangeError:
            continue
    assert len(amounts(payer)) == 2
    assert payer.held() == HELD - (PRICE if method == "GET" else 0)


def test_never_pays_again_for_a_key_whose_purchase_was_signed_twice(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1", policy=RESIGN)
    seller = selling(sandbox, make_seller, again())
    assert payer.client.get(seller.url, idempotency_key="order").status_code == 200
    failure_of(lambda: payer.client.get(seller.url, idempotency_key="order"), "already_spent")
    assert (len(amounts(payer)), payer.held()) == (2, HELD - PRICE)
    response = payer.client.get(seller.url)
    receipt = receipt_of(response)
    assert response.status_code == 200 and receipt is not None
    assert (len(amounts(payer)), payer.held()) == (3, HELD - 2 * PRICE)


async def test_signs_no_third_payment_after_the_caller_gave_up_while_the_second_was_recorded(
    sandbox: Sandbox, make_seller: MakeSeller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed: list[object] = []
    sign = Reservation.sign

    def sign_and_cancel(self: Reservation, *args: Any) -> Any:
        signed.append(self)
        if len(signed) == 2:
            asyncio.get_running_loop().call_soon(buying.cancel)
        return sign(self, *args)

    monkeypatch.setattr(Reservation, "sign", sign_and_cancel)
    seller, wallet = selling(sandbox, make_seller, again()), sandbox.wallet(USDC="1")
    async with file_journal(tmp_path / "journal") as journal:
        options = sandbox.options(wallet, policy=RESIGN, journal=journal)
        async with AsyncClient(**options) as client:
            buying = asyncio.ensure_future(client.get(seller.url))
            with pytest.raises(asyncio.CancelledError):
                await buying
            assert (await client.get(seller.url)).content == b"bought"
            assert (len(signed), len(seller.paid)) == (2, 2)


def test_presents_no_second_payment_again_after_the_first_payment_landed(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    """Otherwise the seller could settle both payments."""
    payer = make_payer(USDC="1", policy=RESIGN)
    seller = selling(sandbox, make_seller, again(), lambda _: None)
    failure_of(lambda: payer.client.get(seller.url), "payment_uncertain")
    first = seller.paid[0]
    assert settle(sandbox, first, first.payment["accepted"])["success"]
    failure_of(lambda: payer.client.get(seller.url), "already_spent")
    assert (len(seller.paid), payer.held()) == (2, HELD - PRICE)


def test_signs_no_second_payment_when_the_402_breaks_off(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    """The missing part may report a pending settlement."""
    required = json.loads(base64.b64decode(terms(offer(sandbox)).headers["PAYMENT-REQUIRED"]))
    del required["error"]
    header = base64.b64encode(json.dumps(required).encode()).decode()
    asks = Reply(402, {"PAYMENT-REQUIRED": header, "content-type": "application/json"})
    body = json.dumps({"error": "settlement_pending"}).encode()

    def answer(seen: Seen) -> Reply:
        return asks._replace(body=body, cut_at=12) if seen.is_paid else asks

    seller, payer = make_seller(answer), make_payer(USDC="1", policy=RESIGN)
    error = failure_of(lambda: payer.client.get(seller.url), "payment_rejected")
    assert (error.funds, payer.signed, len(seller.paid)) == ("uncertain", ["payment"], 1)


def test_waits_only_once_for_a_402_that_falls_silent(
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_over, asks, peek = threading.Event(), terms(offer(sandbox)), reading._peek
    ends: list[str] = []

    def noted(*args: Any) -> Any:
        body = yield from peek(*args)
        ends.append(body.end)
        return body

    def half() -> Iterator[bytes]:
        yield b'{"error":'
        is_over.wait(60)

    def answer(seen: Seen) -> Reply:
        return Reply(402, {}, pieces=half()) if seen.is_paid else asks

    seller = make_seller(answer)
    payer = make_payer(USDC="1", policy=RESIGN, timeouts={"terms": 500})
    monkeypatch.setattr(reading, "_peek", noted)
    failure_of(lambda: payer.client.get(seller.url), "payment_rejected")
    is_over.set()
    assert ends == ["late"]
