"""Repeated calls after a payment, for each answer of the seller."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, Callable

import httpx
import pytest

from exact_change import ExactChangeError, file_journal
from exact_change._journal.coordination import MemoryClaims
from exact_change._journal.ledger import Ledger
from exact_change._journal.types import Along, Owner
from exact_change._kernel.hosts import threads
from exact_change._kernel.task import Steps
from exact_change._payments.journal_timeouts import TimedJournal
from exact_change.errors import failure

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE, Payer, failure_of
from ..seller import MAINNET, Reply, Seen, offer, settle, terms

REFUSALS: dict[str, Callable[[], Reply]] = {
    "unreadable terms": lambda: Reply(402, {"payment-required": "nothing"}),
    "terms without offers": lambda: terms(),
    "a redirect with the body": lambda: Reply(307, {"location": "/led"}),
    "a redirect to an insecure origin": lambda: Reply(302, {"location": "http://shop.test/"}),
}


def failing(step: str) -> Callable[..., Steps[Any]]:
    """Returns a step of a broken journal."""

    def fails(*_: Any, **__: Any) -> Steps[Any]:
        raise failure("journal_unavailable", "It is broken.", {"step": step})
        yield

    return fails


@pytest.mark.parametrize("refusal", list(REFUSALS))
def test_raises_already_spent_whatever_the_seller_answers_after_it_took_a_payment(
    refusal: str, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    has_paid = False

    def answer(seen: Seen) -> Reply | None:
        nonlocal has_paid
        if seen.is_paid:
            has_paid = True
            settle(sandbox, seen, offer(sandbox))
            return None
        return REFUSALS[refusal]() if has_paid and seen.path == "/" else terms(offer(sandbox))

    seller, payer = make_seller(answer), make_payer(USDC="1")

    class InsecureOrigin(httpx.BaseTransport):
        """Answers for the insecure origin with the terms of this seller."""

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.host == "shop.test":
                return httpx.Response(402, headers=terms(offer(sandbox)).headers)
            return below.handle_request(request)

        def close(self) -> None:
            below.close()

    below = httpx.HTTPTransport()
    transport = payer.client.transport(InsecureOrigin())
    with httpx.Client(transport=transport, follow_redirects=True) as http:
        lost = failure_of(lambda: http.post(seller.url), "payment_uncertain")
        again = failure_of(lambda: http.post(seller.url), "already_spent")
    assert again.funds == "spent"
    assert again.details["payer_signature"] == lost.details["payer_signature"]
    assert (payer.signed, payer.held()) == (["payment"], 1_000_000 - PRICE)


def test_reports_untouched_funds_for_unreadable_terms_if_nothing_was_paid(
    make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(lambda _: REFUSALS["unreadable terms"]())
    error = failure_of(lambda: make_payer().client.post(seller.url), "malformed_payment_required")
    assert error.funds == "untouched"
    assert error.response is not None and error.response.status_code == 402


@pytest.mark.parametrize("read", ["similar", "attempts"])
@pytest.mark.parametrize("key", [None, "order"])
def test_reports_uncertain_funds_when_the_journal_cannot_read_an_earlier_payment(
    key: str | None,
    read: str,
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    seller = make_seller(lambda seen: None if seen.is_paid else terms(offer(sandbox)))
    journal = file_journal(tmp_path / "journal")
    payer = make_payer(USDC="1", journal=journal)

    def buy(buyer: Payer) -> httpx.Response:
        return buyer.client.post(seller.url, idempotency_key=key)

    failure_of(lambda: buy(payer), "payment_uncertain")
    monkeypatch.setattr(TimedJournal, read, failing(read))
    # A new client reads the attempts of earlier processes in its first call.
    again = payer if read == "similar" else make_payer(payer.wallet, journal=journal)
    error = failure_of(lambda: buy(again), "journal_unavailable")
    assert (error.funds, error.retry, dict(error.details)) == (
        "uncertain",
        "same",
        {"step": read},
    )
    assert payer.signed == ["payment"] and again.signed in (payer.signed, [])
    if read == "attempts":
        resumed = failure_of(again.client.resume, "journal_unavailable")
        assert (resumed.funds, resumed.retry) == ("uncertain", "same")
    for buyer in (payer, again):
        buyer.client.close()
    journal.close()


def test_frees_the_tokens_of_a_payment_that_settles_elsewhere_while_it_is_resumed(
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    seller = make_seller(lambda seen: None if seen.is_paid else terms(offer(sandbox)))
    hold = Ledger.hold

    with file_journal(tmp_path / "journal") as journal:
        first = make_payer(USDC="1", journal=journal)
        failure_of(lambda: first.client.post(seller.url), "payment_uncertain")
        first.client.close()
        settle(sandbox, seller.paid[0], offer(sandbox))
        shared = journal.shared.coordination(Owner(first.wallet.address, MAINNET))

        def settle_and_hold(self: Ledger, account: str, id_: str, amount: int) -> Steps[None]:
            (attempt,) = yield from journal.shared.attempts(
                Owner(first.wallet.address, MAINNET), state="signed"
            )
            receipt = {**attempt.get("receipt", {}), "state": "settled"}
            settled: Any = {
                **attempt,
                "state": "settled",
                "leftAt": attempt["at"],
                "receipt": receipt,
            }
            yield from journal.shared.put(settled, Along(spend=(account, 1)))
            yield from hold(self, account, id_, amount)

        monkeypatch.setattr(Ledger, "hold", settle_and_hold)
        again = make_payer(first.wallet, journal=journal)
        again.client.resume()
        (attempt,) = threads.run(journal.shared.attempts(Owner(first.wallet.address, MAINNET)))
        assert threads.run(shared.ledger.held(attempt["payment"]["source"])) == 0
        again.client.close()


@pytest.mark.parametrize("kind", ["hosts", "payees", "mints", "schemes"])
def test_presents_no_signed_payment_again_that_a_deny_list_refuses_now(
    kind: str, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    presented: list[Seen] = []

    def answer(seen: Seen) -> Reply | None:
        if not seen.is_paid:
            return terms(offer(sandbox))
        presented.append(seen)
        if len(presented) > 1:
            settle(sandbox, seen, offer(sandbox))
        return None

    wanted = offer(sandbox)
    named = {"hosts": "127.0.0.1", "payees": wanted["payTo"], "mints": wanted["asset"]}
    denied = named.get(kind, "exact")
    seller, payer = make_seller(answer), make_payer(USDC="1")
    failure_of(lambda: payer.client.get(seller.url), "payment_uncertain")
    strict = make_payer(payer.wallet, policy={"deny": {kind: [denied]}})
    error = failure_of(lambda: strict.client.get(seller.url), "payment_uncertain")
    assert (error.funds, len(presented), payer.held()) == ("uncertain", 1, 1_000_000)


def test_calls_no_payment_uncertain_by_an_event_after_it_settled_though_its_answer_is_lost(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    word = {"success": False, "errorReason": "settlement_pending", "transaction": ""}
    pending = {"PAYMENT-RESPONSE": base64.b64encode(json.dumps(word).encode()).decode()}

    def answer(seen: Seen) -> Reply | None:
        if not seen.is_paid:
            return terms(offer(sandbox))
        if len(seller.paid) > 1:
            return None
        settle(sandbox, seen, offer(sandbox))
        return Reply(402, pending)

    seller = make_seller(answer)
    error = failure_of(lambda: payer.client.get(seller.url), "payment_uncertain")
    assert (payer.seen("payment.settled"), payer.seen("payment.uncertain")) == (1, 0)
    names_the_payment_as_spent(payer, error)


def names_the_payment_as_spent(payer: Payer, error: ExactChangeError) -> None:
    (receipt,) = payer.client.receipts()
    (moved,) = error.moved
    assert (error.funds, error.retry) == ("spent", "same")
    assert (moved.kind, moved.signature) == ("payment", receipt.payment.signature)
    assert (payer.signed, payer.held()) == (["payment"], 1_000_000 - PRICE)


@pytest.mark.parametrize("fault", ["the answer is lost", "the journal fails"])
def test_names_a_settled_payment_as_spent_when_it_cannot_be_presented_again(
    fault: str,
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    payer = make_payer(USDC="1")

    def answer(seen: Seen) -> Reply | None:
        if not seen.is_paid:
            return terms(offer(sandbox))
        if len(seller.paid) == 1:
            settle(sandbox, seen, offer(sandbox))
        return None

    def buy() -> None:
        payer.client.post(seller.url, repeatable=True)

    seller = make_seller(answer)
    assert failure_of(buy, "payment_uncertain").funds == "uncertain"
    payer.told("payment.settled")
    if fault == "the journal fails":
        monkeypatch.setattr(MemoryClaims, "take", failing("claim"))
    names_the_payment_as_spent(payer, failure_of(buy, "payment_uncertain"))
    assert len(seller.paid) == (2 if fault == "the answer is lost" else 1)
