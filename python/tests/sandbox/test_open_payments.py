"""Repeated calls while a payment is open."""

from __future__ import annotations

import contextlib
import time
import zlib
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

from exact_change import ExactChangeError
from exact_change._journal.types import Attempt

from ..buyer import journal_of
from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..opened import run
from ..payer import failure_of
from ..proxy import Proxy
from ..seller import BOUGHT, Reply, Seen, offer, settle, terms


@pytest.mark.parametrize("status", [429, 500, 502, 503, 302, 404])
def test_presents_the_same_payment_while_it_is_open(
    status: int, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    headers = {"location": "/elsewhere"} if status == 302 else {}

    def answer(seen: Seen) -> Reply:
        return terms(offer(sandbox)) if seen.payment is None else Reply(status, headers)

    seller = make_seller(answer)
    for _ in range(3):
        assert payer.client.get(seller.url).status_code == status
    assert len({request.headers["payment-signature"] for request in seller.paid}) == 1
    assert payer.signed == ["payment"]


def test_signs_no_second_payment_when_a_seller_raises_its_price(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    quotes = 0

    def answer(seen: Seen) -> Reply | None:
        nonlocal quotes
        if seen.payment is not None:
            return None
        quotes += 1
        payee = {"payTo": sandbox.fee_payer} if quotes > 2 else {}
        return terms(offer(sandbox, amount=str(1_000 + quotes), **payee))

    seller = make_seller(answer)
    first = failure_of(lambda: payer.client.get(seller.url), "payment_uncertain")
    for _ in range(3):
        again = failure_of(lambda: payer.client.get(seller.url), "payment_uncertain")
        assert again.details["payer_signature"] == first.details["payer_signature"]
    assert payer.signed == ["payment"]


def test_stays_uncertain_when_the_chain_does_not_answer_in_time(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1", timeouts={"payment": 300})
    seller = make_seller(lambda seen: None if seen.is_paid else terms(offer(sandbox)))
    first = failure_of(lambda: payer.client.get(seller.url), "payment_uncertain")
    sandbox.call("node.fault", "getSignaturesForAddress", {"kind": "hang"})
    again = failure_of(lambda: payer.client.get(seller.url), "payment_uncertain")
    assert again.details["payer_signature"] == first.details["payer_signature"]
    resumed = failure_of(payer.client.resume, "timeout")
    assert resumed.details == {"step": "chain", "timeout_ms": 300}
    assert (resumed.funds, resumed.retry) == ("uncertain", "same")
    assert payer.signed == ["payment"]


def test_pays_no_second_time_in_another_token_when_the_first_is_used_up(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="0.01", USDT="1")
    offers = [offer(sandbox, "USDC"), offer(sandbox, "USDT")]

    def answer(seen: Seen) -> Reply | None:
        if seen.payment is None:
            return terms(*offers)
        settle(sandbox, seen, offers[0])
        return None

    seller = make_seller(answer)
    first = failure_of(lambda: payer.client.get(seller.url), "payment_uncertain")
    again = failure_of(lambda: payer.client.get(seller.url), "already_spent")
    assert again.details["payer_signature"] == first.details["payer_signature"]
    assert payer.signed == ["payment"]


@pytest.fixture
def node_ahead(sandbox: Sandbox) -> Iterator[Proxy]:
    """A node that reports a slot and a block height far ahead."""
    proxy = Proxy(sandbox.rpc_url)

    def ahead(answer: Any, _: Seen) -> Any:
        result = answer.get("result")
        if isinstance(result, dict) and "blockHeight" in result:
            result["blockHeight"] += 1_000_000
            result["absoluteSlot"] += 1_000_000
        return answer

    proxy.lies["/"] = ahead
    yield proxy
    proxy.close()


@pytest.mark.parametrize("has_liar", [False, True])
def test_keeps_an_open_payment_when_the_clock_or_one_node_runs_ahead(
    has_liar: bool,
    sandbox: Sandbox,
    node_ahead: Proxy,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes = [sandbox.rpc_url, *([node_ahead.url] if has_liar else [])]
    payer = make_payer(USDC="1", rpc_url=nodes)
    seller = make_seller(lambda seen: None if seen.is_paid else terms(offer(sandbox)))
    first = failure_of(lambda: payer.client.post(seller.url), "payment_uncertain")
    days, now = 30 * 24 * 60 * 60 * 10**9, time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + days)
    again = failure_of(lambda: payer.client.post(seller.url), "payment_uncertain")
    assert again.details["payer_signature"] == first.details["payer_signature"]
    assert payer.signed == ["payment"]


@pytest.mark.parametrize("lost", [None, BOUGHT], ids=["no answer", "an unread answer"])
def test_keeps_what_another_process_wrote_of_a_payment_whose_answer_was_lost_here(
    lost: Reply | None,
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    tmp_path: Path,
) -> None:
    def answer(seen: Seen) -> Reply | None:
        if not seen.is_paid:
            return terms(offer(sandbox))
        settle(sandbox, seen, offer(sandbox))
        return lost

    def recorded() -> Attempt:
        (attempt,) = run(other.shared.attempts(owner))
        return attempt

    path = {"path": str(tmp_path / "journal")}
    with journal_of(path) as journal, journal_of(path) as other:
        payer = make_payer(USDC="1", journal=journal)
        owner = payer.client._payer.thread_engine().context.owner
        sandbox.call("node.fault", "getSignaturesForAddress", {"kind": "status", "status": 500})
        with contextlib.suppress(ExactChangeError), payer.client.stream(
            "GET", make_seller(answer).url
        ):
            assert lost
        run(other.shared.put({**recorded(), "delivered": True, "toldAt": 7}))
        sandbox.call("restore")
        payer.told("payment.settled")
        assert (recorded()["state"], recorded()["toldAt"]) == ("settled", 7)
        assert recorded()["delivered"]
        payer.client.close()


def _newer(_: bytes) -> bytes:
    head = b'{"format":"exact-change-journal","version":3}'
    return b"%08x %b\n" % (zlib.crc32(head), head)


def _damaged(whole: bytes) -> bytes:
    return whole[:-9] + b"!" + whole[-8:]


@pytest.mark.parametrize(
    ("change", "code", "end"),
    [
        # The journal that works next may be an empty one.
        (_damaged, "journal_damaged", "before you repeat the call."),
        (_newer, "invalid_option", "to find that payment."),
    ],
)
def test_says_that_funds_are_uncertain_if_the_journal_of_an_open_payment_is_unreadable(
    change: Callable[[bytes], bytes],
    code: str,
    end: str,
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
    tmp_path: Path,
) -> None:
    seller = make_seller(lambda seen: None if seen.is_paid else terms(offer(sandbox)))
    path = tmp_path / "journal"
    with journal_of({"path": str(path)}) as journal:
        payer = make_payer(USDC="1", journal=journal)
        failure_of(lambda: payer.client.get(seller.url), "payment_uncertain")
        payer.client.close()
    path.write_bytes(change(path.read_bytes()))
    with journal_of({"path": str(path)}) as journal:
        again = make_payer(payer.wallet, journal=journal)
        error = failure_of(lambda: again.client.get(seller.url), code)
        assert (error.funds, error.retry) == ("uncertain", "never")
        assert str(error).endswith(end)
        again.client.close()
