"""What becomes of a payment whose answer is lost, late or no."""

from __future__ import annotations

import base64
import json
import threading
from typing import Any

import httpx
import pytest

from exact_change import receipt_of

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE, failure_of, until
from ..seller import Reply, Seen, offer, settle, terms

WAYS: list[tuple[str, str, dict[str, Any], str]] = [
    ("it cannot verify", "/verify", {"kind": "status", "status": 500}, "500"),
    (
        "it says that the payment is invalid",
        "/verify",
        {"kind": "garbage", "body": '{"isValid":false,"invalidReason":"not today"}'},
        "not today",
    ),
    ("it cannot settle", "/settle", {"kind": "status", "status": 500}, "500"),
    (
        "it says that settling failed",
        "/settle",
        {
            "kind": "garbage",
            "body": '{"success":false,"errorReason":"no luck","transaction":"","network":"solana"}',
        },
        "no luck",
    ),
]


@pytest.mark.parametrize(("path", "fault", "reason"), [one[1:] for one in WAYS])
def test_402_again_is_uncertain_and_the_same_call_presents_the_same_payment(
    path: str, fault: dict[str, Any], reason: str, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1")
    url = f"{sandbox.api_url}/usdc"
    sandbox.call("facilitator.fault", path, fault)
    error = failure_of(lambda: payer.client.get(url), "payment_rejected")
    assert (type(error).__name__, error.funds, error.moved, error.retry) == (
        "SettlementError",
        "uncertain",
        (),
        "same",
    )
    assert set(error.details) == {"payer_signature", "last_valid_block_height", "status"}
    assert str(error.details["last_valid_block_height"]) in str(error)
    assert error.untrusted is not None and reason in str(error.untrusted["reason"])
    assert str(error.untrusted["reason"]) not in str(error)
    assert error.response is not None and error.response.status_code == 402
    (receipt,) = payer.client.receipts()
    assert receipt.state == "uncertain"
    assert receipt.payment.payer_signature == error.details["payer_signature"]
    assert payer.used == "0.01"
    sandbox.call("facilitator.clearFaults")
    response = payer.client.get(url)
    paid = receipt_of(response)
    assert paid is not None and paid.payment.payer_signature == error.details["payer_signature"]
    assert (payer.signed, payer.held(), payer.used) == (["payment"], 1_000_000 - PRICE, "0.01")


def test_the_budget_is_held_until_the_chain_has_decided(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1", policy={"max_per_day": "0.01"})
    sandbox.call("facilitator.fault", "/verify", {"kind": "status", "status": 500})
    failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), "payment_rejected")
    refused = failure_of(lambda: payer.client.get(f"{sandbox.api_url}/memo"), "budget_exhausted")
    assert (refused.details["used"], refused.details["limit"]) == ("0.01", "0.01")
    sandbox.call("facilitator.clearFaults")
    sandbox.call("node.warp")
    payer.told("payment.unsettled")
    assert payer.used == "0"
    later = make_payer(payer.wallet, policy={"max_per_day": "0.01"})
    assert later.client.get(f"{sandbox.api_url}/memo").status_code == 200
    assert payer.held() == 1_000_000 - PRICE


def test_a_post_is_not_presented_again_and_is_bought_anew_once_it_expired(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1")
    url = f"{sandbox.api_url}/echo"
    sandbox.call("facilitator.fault", "/verify", {"kind": "status", "status": 500})
    error = failure_of(lambda: payer.client.post(url, json={}), "payment_rejected")
    sandbox.call("facilitator.clearFaults")
    again = failure_of(lambda: payer.client.post(url, json={}), "payment_uncertain")
    assert again.details["payer_signature"] == error.details["payer_signature"]
    assert (again.funds, again.retry) == ("uncertain", "same")
    sandbox.call("node.warp")
    later = make_payer(payer.wallet)
    assert later.client.post(url, json={}).status_code == 200
    assert payer.held() == 1_000_000 - PRICE


def test_a_post_is_presented_again_if_its_caller_says_so(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1")
    url = f"{sandbox.api_url}/echo"
    payer.on_paid("/echo", {"kind": "dropBefore"})
    failure_of(lambda: payer.client.post(url, json={}, repeatable=True), "payment_uncertain")
    assert payer.client.post(url, json={}, repeatable=True).status_code == 200
    assert (payer.signed, payer.held()) == (["payment"], 1_000_000 - PRICE)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_402_again_though_it_has_landed_is_spent_for_as_long_as_the_window(
    method: str, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1")
    url = f"{sandbox.api_url}/usdc"
    sandbox.call("facilitator.fault", "/settle", {"kind": "dropAfter", "times": 1})
    rejected = failure_of(lambda: payer.client.request(method, url), "payment_rejected")
    assert (rejected.funds, rejected.moved) == ("uncertain", ())
    for _ in range(2):
        spent = failure_of(lambda: payer.client.request(method, url), "already_spent")
        assert (spent.funds, spent.retry) == ("spent", "never")
        assert spent.details["payer_signature"] == rejected.details["payer_signature"]
        (moved,) = spent.moved
        assert (moved.kind, moved.signature, moved.in_amount) == (
            "payment",
            spent.details["signature"],
            str(PRICE),
        )
    assert (payer.signed, payer.held()) == (["payment"], 1_000_000 - PRICE)
    assert [one.state for one in payer.client.receipts()] == ["settled"]
    bought = payer.client.request(method, url, idempotency_key="another")
    assert bought.status_code == 200 and payer.used == "0.02"


@pytest.mark.parametrize(
    ("fault", "options"),
    [({"kind": "dropBefore"}, {}), ({"kind": "hang"}, {"timeouts": {"payment": 300}})],
)
def test_no_answer_to_the_paid_request_and_the_same_call_presents_the_same(
    fault: dict[str, Any], options: dict[str, Any], sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1", **options)
    url = f"{sandbox.api_url}/usdc"
    payer.on_paid("/usdc", fault)
    error = failure_of(lambda: payer.client.get(url), "payment_uncertain")
    assert (error.funds, error.moved, error.retry) == ("uncertain", (), "same")
    assert error.__cause__ is not None
    if fault["kind"] == "hang":
        assert isinstance(error.__cause__, (TimeoutError, httpx.TimeoutException))
    assert payer.seen("payment.uncertain") == 1
    patient = make_payer(payer.wallet)
    response = patient.client.get(url)
    receipt = receipt_of(response)
    assert receipt is not None
    assert receipt.payment.payer_signature == error.details["payer_signature"]
    assert payer.signed + patient.signed == ["payment"]
    assert payer.held() == 1_000_000 - PRICE


def test_an_answer_that_is_cut_after_the_settlement_is_spent(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1")
    url = f"{sandbox.api_url}/usdc"
    payer.on_paid("/usdc", {"kind": "dropAfter"})
    error = failure_of(lambda: payer.client.get(url), "payment_uncertain")
    spent = failure_of(lambda: payer.client.get(url), "already_spent")
    assert spent.details["payer_signature"] == error.details["payer_signature"]
    assert (payer.signed, payer.held()) == (["payment"], 1_000_000 - PRICE)


def test_settled_after_its_caller_stopped_waiting_is_spent(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    sandbox.call("api.setSlowness", 700)
    payer = make_payer(USDC="1", timeouts={"payment": 250})
    url = f"{sandbox.api_url}/slow"
    error = failure_of(lambda: payer.client.get(url), "payment_uncertain")
    payer.told("payment.settled")
    spent = failure_of(lambda: payer.client.get(url), "already_spent")
    assert spent.details["payer_signature"] == error.details["payer_signature"]
    assert payer.held() == 1_000_000 - PRICE


def test_after_a_swap_the_error_says_that_the_swap_has_moved(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(SOL="0.1", BONK="5000000", auto_swap=True)
    url = f"{sandbox.api_url}/usdc"
    payer.on_paid("/usdc", {"kind": "dropBefore"})
    error = failure_of(lambda: payer.client.get(url), "payment_uncertain")
    (moved,) = error.moved
    assert (moved.kind, moved.output_mint) == ("swap", sandbox.mint("USDC"))
    assert payer.client.get(url).status_code == 200
    assert payer.signed == ["swap", "payment"]


def test_an_answer_of_500_is_returned_and_unsettled_in_the_end(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1")
    response = payer.client.get(f"{sandbox.api_url}/fails")
    receipt = receipt_of(response)
    assert receipt is not None and (response.status_code, receipt.state) == (500, "uncertain")
    assert response.json() == {"error": "out of order"}
    sandbox.call("node.warp")
    payer.told("payment.unsettled")
    receipt = receipt_of(response)
    assert receipt is not None and receipt.state == "unsettled"
    assert (payer.used, payer.held()) == ("0", 1_000_000)


def test_200_of_a_seller_that_never_settles_is_the_chains_word(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    claim = {"success": True, "transaction": "5" * 88, "network": "solana"}
    said = base64.b64encode(json.dumps(claim).encode()).decode()

    def answer(seen: Seen) -> Reply:
        if seen.payment is None:
            return terms(offer(sandbox))
        return Reply(headers={"payment-response": said}, body=b"thanks")

    response = payer.client.get(make_seller(answer).url)
    receipt = receipt_of(response)
    assert receipt is not None and receipt.settlement is not None
    assert (receipt.state, receipt.settlement.success) == ("pending", True)
    assert receipt.payment.signature is None
    sandbox.call("node.warp")
    payer.told("payment.unsettled")
    receipt = receipt_of(response)
    assert receipt is not None and receipt.state == "unsettled"


def test_a_body_cut_half_way_is_its_callers_error_and_paid(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")

    def answer(seen: Seen) -> Reply:
        if seen.payment is None:
            return terms(offer(sandbox))
        settle(sandbox, seen, offer(sandbox))
        return Reply(body=b"x" * 1000, cut_at=500)

    seller = make_seller(answer)
    with pytest.raises(httpx.RemoteProtocolError):
        payer.client.get(seller.url)
    payer.told("payment.settled")
    assert payer.held() == 1_000_000 - PRICE


def test_closing_while_a_payment_is_open_ends_no_thread_late(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    before = threading.active_count()
    payer = make_payer(USDC="1")
    payer.on_paid("/usdc", {"kind": "dropBefore"})
    failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), "payment_uncertain")
    payer.client.close()
    until("its threads ended", lambda: threading.active_count() <= before + 1)


def test_the_transaction_of_another_payment_is_no_proof(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    """A seller that sells twice, settles once, and shows what it settled both times."""
    settled: list[Any] = []

    def answer(seen: Seen) -> Reply:
        if not seen.is_paid:
            return terms(offer(sandbox))
        if not settled:
            settled.append(settle(sandbox, seen, offer(sandbox)))
        shown = base64.b64encode(json.dumps(settled[0]).encode()).decode()
        return Reply(200, {"PAYMENT-RESPONSE": shown}, b"bought")

    payer, url = make_payer(USDC="1"), make_seller(answer).url
    assert payer.client.get(url).text == "bought"
    payer.told("payment.settled")
    assert payer.client.get(url).text == "bought"
    sandbox.call("node.warp")
    payer.told("payment.unsettled")
    assert [one.state for one in payer.client.receipts()] == ["settled", "unsettled"]
    assert (payer.used, payer.held()) == ("0.01", 1_000_000 - PRICE)
