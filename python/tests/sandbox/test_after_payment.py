"""The outcome of a payment after a lost, late or refusing answer."""

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
from ..seller import Reply, Seen, offer, selling, settle, terms

WAYS: list[tuple[str, str, dict[str, Any], str]] = [
    ("the facilitator cannot verify", "/verify", {"kind": "status", "status": 500}, "500"),
    (
        "the facilitator calls the payment invalid",
        "/verify",
        {"kind": "garbage", "body": '{"isValid":false,"invalidReason":"not today"}'},
        "not today",
    ),
    ("the facilitator cannot settle", "/settle", {"kind": "status", "status": 500}, "500"),
    (
        "the facilitator reports a failed settlement",
        "/settle",
        {
            "kind": "garbage",
            "body": '{"success":false,"errorReason":"no luck","transaction":"","network":"solana"}',
        },
        "no luck",
    ),
]


@pytest.mark.parametrize(("path", "fault", "reason"), [way[1:] for way in WAYS])
def test_reports_uncertain_funds_after_a_second_402_and_presents_the_payment_again(
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


def test_holds_the_budget_of_a_rejected_payment_until_the_chain_has_decided(
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


def test_repeats_a_post_only_with_a_new_payment_after_the_old_payment_expired(
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


def test_presents_the_payment_of_a_post_again_if_the_caller_marks_it_repeatable(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1")
    url = f"{sandbox.api_url}/echo"
    payer.on_paid("/echo", {"kind": "dropBefore"})
    failure_of(lambda: payer.client.post(url, json={}, repeatable=True), "payment_uncertain")
    assert payer.client.post(url, json={}, repeatable=True).status_code == 200
    assert (payer.signed, payer.held()) == (["payment"], 1_000_000 - PRICE)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_raises_already_spent_within_the_window_when_a_payment_landed_despite_a_402(
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
    assert [receipt.state for receipt in payer.client.receipts()] == ["settled"]
    bought = payer.client.request(method, url, idempotency_key="another")
    assert bought.status_code == 200 and payer.used == "0.02"


@pytest.mark.parametrize(
    ("fault", "options"),
    [({"kind": "dropBefore"}, {}), ({"kind": "hang"}, {"timeouts": {"payment": 300}})],
)
def test_presents_the_same_payment_when_the_paid_request_got_no_answer(
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
    # The limit may have come before the request reached the seller.
    sandbox.call("api.clearFaults")
    patient = make_payer(payer.wallet)
    response = patient.client.get(url)
    receipt = receipt_of(response)
    assert receipt is not None
    assert receipt.payment.payer_signature == error.details["payer_signature"]
    assert payer.signed + patient.signed == ["payment"]
    assert payer.held() == 1_000_000 - PRICE


def test_raises_already_spent_when_the_answer_is_cut_after_the_settlement(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1")
    url = f"{sandbox.api_url}/usdc"
    payer.on_paid("/usdc", {"kind": "dropAfter"})
    error = failure_of(lambda: payer.client.get(url), "payment_uncertain")
    spent = failure_of(lambda: payer.client.get(url), "already_spent")
    assert spent.details["payer_signature"] == error.details["payer_signature"]
    assert (payer.signed, payer.held()) == (["payment"], 1_000_000 - PRICE)


def test_raises_already_spent_when_a_payment_settles_after_the_payment_timeout(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    may_settle, sells = threading.Event(), selling(sandbox, offer(sandbox))

    def answer(seen: Seen) -> Reply | None:
        if seen.is_paid:
            may_settle.wait(60)
        return sells(seen)

    payer, url = make_payer(USDC="1", timeouts={"payment": 1_000}), make_seller(answer).url
    error = failure_of(lambda: payer.client.get(url), "payment_uncertain")
    may_settle.set()
    payer.told("payment.settled")
    spent = failure_of(lambda: payer.client.get(url), "already_spent")
    assert spent.details["payer_signature"] == error.details["payer_signature"]
    assert payer.held() == 1_000_000 - PRICE


def test_names_the_swap_as_moved_in_the_error_of_a_payment_after_a_swap(
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


def test_returns_an_answer_of_500_and_ends_as_unsettled_when_the_payment_expires(
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


def test_trusts_the_chain_when_a_seller_claims_a_settlement_that_never_comes(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    claim = {"success": True, "transaction": "5" * 88, "network": "solana"}
    encoded = base64.b64encode(json.dumps(claim).encode()).decode()

    def answer(seen: Seen) -> Reply:
        if seen.payment is None:
            return terms(offer(sandbox))
        return Reply(headers={"payment-response": encoded}, body=b"thanks")

    response = payer.client.get(make_seller(answer).url)
    receipt = receipt_of(response)
    assert receipt is not None and receipt.settlement is not None
    assert (receipt.state, receipt.settlement.success) == ("pending", True)
    assert receipt.payment.signature is None
    sandbox.call("node.warp")
    payer.told("payment.unsettled")
    receipt = receipt_of(response)
    assert receipt is not None and receipt.state == "unsettled"


def test_raises_the_read_error_to_the_caller_when_a_paid_body_is_cut(
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


def test_ends_all_threads_when_a_client_closes_with_an_open_payment(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    before = threading.active_count()
    payer = make_payer(USDC="1")
    payer.on_paid("/usdc", {"kind": "dropBefore"})
    failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), "payment_uncertain")
    payer.client.close()
    until("its threads ended", lambda: threading.active_count() <= before + 1)


def test_refuses_the_transaction_of_another_payment_as_proof_of_settlement(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    """The seller sells twice, settles once, and reports that settlement both times."""
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
    assert [receipt.state for receipt in payer.client.receipts()] == ["settled", "unsettled"]
    assert (payer.used, payer.held()) == ("0.01", 1_000_000 - PRICE)
