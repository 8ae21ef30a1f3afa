"""What a repeated call is told of the payment before, whatever a seller answers it with."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import httpx
import pytest

from exact_change import file_journal
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
    "terms that cannot be read": lambda: Reply(402, {"payment-required": "nothing"}),
    "terms of nothing": lambda: terms(),
    "a redirect of a body": lambda: Reply(307, {"location": "/led"}),
    "a redirect to a place that is not secure": lambda: Reply(
        302, {"location": "http://shop.test/"}
    ),
}


@pytest.mark.parametrize("refusal", list(REFUSALS))
def test_a_seller_that_took_a_payment_makes_no_caller_believe_that_nothing_was_paid(
    refusal: str, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    taken = False

    def answer(seen: Seen) -> Reply | None:
        nonlocal taken
        if seen.is_paid:
            taken = True
            settle(sandbox, seen, offer(sandbox))
            return None
        return REFUSALS[refusal]() if taken and seen.path == "/" else terms(offer(sandbox))

    seller, payer = make_seller(answer), make_payer(USDC="1")

    class Here(httpx.BaseTransport):
        """The place that is not secure is this seller, too."""

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.host == "shop.test":
                return httpx.Response(402, headers=terms(offer(sandbox)).headers)
            return below.handle_request(request)

        def close(self) -> None:
            below.close()

    below = httpx.HTTPTransport()
    transport = payer.client.transport(Here())
    with httpx.Client(transport=transport, follow_redirects=True) as http:
        lost = failure_of(lambda: http.post(seller.url), "payment_uncertain")
        again = failure_of(lambda: http.post(seller.url), "already_spent")
    assert again.funds == "spent"
    assert again.details["payer_signature"] == lost.details["payer_signature"]
    assert (payer.signed, payer.held()) == (["payment"], 1_000_000 - PRICE)


def test_terms_that_cannot_be_read_are_untouched_if_nothing_was_paid(
    make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    seller = make_seller(lambda _: REFUSALS["terms that cannot be read"]())
    error = failure_of(lambda: make_payer().client.post(seller.url), "malformed_payment_required")
    assert error.funds == "untouched"
    assert error.response is not None and error.response.status_code == 402


@pytest.mark.parametrize("read", ["similar", "attempts"])
@pytest.mark.parametrize("key", [None, "order"])
def test_a_journal_that_cannot_tell_of_an_earlier_payment_leaves_it_uncertain(
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

    def buy(one: Payer) -> httpx.Response:
        return one.client.post(seller.url, idempotency_key=key)

    failure_of(lambda: buy(payer), "payment_uncertain")

    def fails(*_: Any, **__: Any) -> Steps[Any]:
        raise failure("journal_unavailable", "It is broken.", {"step": read})
        yield

    monkeypatch.setattr(TimedJournal, read, fails)
    # What an earlier process left is read with the first call of a client.
    again = payer if read == "similar" else make_payer(payer.wallet, journal=journal)
    error = failure_of(lambda: buy(again), "journal_unavailable")
    assert (error.funds, error.retry, dict(error.details)) == (
        "uncertain",
        "same",
        {"step": read},
    )
    assert payer.signed == ["payment"] and again.signed in (payer.signed, [])
    for one in (payer, again):
        one.client.close()
    journal.close()


def test_a_payment_that_another_process_decides_while_it_is_taken_up_keeps_no_tokens(
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

        def late(self: Ledger, account: str, id_: str, amount: int) -> Steps[None]:
            (attempt,) = yield from journal.shared.attempts(
                Owner(first.wallet.address, MAINNET), state="signed"
            )
            receipt = {**attempt.get("receipt", {}), "state": "settled"}
            over: Any = {**attempt, "state": "settled", "leftAt": attempt["at"], "receipt": receipt}
            yield from journal.shared.put(over, Along(spend=(account, 1)))
            yield from hold(self, account, id_, amount)

        monkeypatch.setattr(Ledger, "hold", late)
        again = make_payer(first.wallet, journal=journal)
        again.client.resume()
        (attempt,) = threads.run(journal.shared.attempts(Owner(first.wallet.address, MAINNET)))
        assert threads.run(shared.ledger.held(attempt["payment"]["source"])) == 0
        again.client.close()


@pytest.mark.parametrize("kind", ["hosts", "payees", "mints"])
def test_a_signed_payment_is_not_presented_again_if_a_list_refuses_it_by_now(
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

    asked = offer(sandbox)
    denied = {"hosts": "127.0.0.1", "payees": asked["payTo"], "mints": asked["asset"]}[kind]
    seller, payer = make_seller(answer), make_payer(USDC="1")
    failure_of(lambda: payer.client.get(seller.url), "payment_uncertain")
    strict = make_payer(payer.wallet, policy={"deny": {kind: [denied]}})
    told = failure_of(lambda: strict.client.get(seller.url), "payment_uncertain")
    assert (told.funds, len(presented), payer.held()) == ("uncertain", 1, 1_000_000)
