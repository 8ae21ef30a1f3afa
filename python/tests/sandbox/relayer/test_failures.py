"""A relayer that fails or is useless, and invalid relayer options."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from exact_change import ExactChangeError

from ...conftest import MakePayer, MakeSeller
from ...node import Sandbox
from ...payer import failure_of
from ...proxy import Proxy
from ...seller import BOUGHT, offer, terms
from .conftest import Broke, MakeProxy, lie, untouched


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"kind": "status", "status": 503}, "service_unavailable"),
        ({"kind": "status", "status": 302, "headers": {"location": "/"}}, "service_unavailable"),
        ({"kind": "dropBefore"}, "service_unavailable"),
        ({"kind": "garbage"}, "invalid_response"),
        ({"kind": "status", "status": 429}, "rate_limited"),
    ],
    ids=str,
)
def test_raises_insufficient_sol_with_the_relayer_error_as_its_cause(
    fault: Any, code: str, broke: Broke
) -> None:
    broke.sandbox.call("relayer.fault", "*", fault)
    payer = broke()
    cause = broke.refused(payer).__cause__
    assert isinstance(cause, ExactChangeError) and cause.code == code
    untouched(payer)


def test_names_a_timeout_as_the_cause_when_the_relayer_never_answers(broke: Broke) -> None:
    broke.sandbox.call("relayer.fault", "*", {"kind": "hang"})
    payer = broke(timeouts={"service": 300})
    cause = broke.refused(payer).__cause__
    assert isinstance(cause, ExactChangeError)
    assert (cause.code, cause.details["step"]) == ("timeout", "relayer")
    untouched(payer)


def test_keeps_the_error_of_a_client_that_closes_in_a_relayed_top_up_without_a_cause(
    lying: Broke, liar: Proxy, make_seller: MakeSeller
) -> None:
    is_asked, is_over = threading.Event(), threading.Event()

    def answer_late(fee: Any) -> Any:
        is_asked.set()
        is_over.wait(60)
        return fee

    lie(liar, "estimateTransactionFee", answer_late)
    asks = terms(offer(lying.sandbox))
    seller = make_seller(lambda seen: BOUGHT if seen.is_paid else asks)
    top_up = {"token": "USDC", "below": "1", "to": "2"}
    client = lying(USDC="0.01", USDT="5", policy={"top_up": top_up}).client
    response = client.get(seller.url)
    assert is_asked.wait(60)
    client.close()
    assert failure_of(lambda: client.settled(response), "client_closed").__cause__ is None
    is_over.set()


def test_names_the_unsupported_mint_when_the_relayer_accepts_no_token_of_the_swap(
    broke: Broke,
) -> None:
    broke.sandbox.call("relayer.accept", [broke.sandbox.mint("PYUSD")])
    payer = broke()
    error = broke.refused(payer)
    cause = error.__cause__
    assert isinstance(cause, ExactChangeError) and cause.code == "mint_not_supported"
    assert f"solana:{payer.wallet.address}" in error.details["link"]
    untouched(payer)


def test_sends_the_api_key_to_the_relayer_only(
    sandbox: Sandbox, make_proxy: MakeProxy, make_payer: MakePayer, liar: Proxy
) -> None:
    node, jupiter = make_proxy(sandbox.rpc_url), make_proxy(sandbox.jupiter_url)
    payer = make_payer(
        USDT="5",
        auto_swap=True,
        relayer={"url": liar.url, "api_key": "hush-kora-hush"},
        rpc_url=node.url,
        jupiter_url=jupiter.url,
    )
    assert payer.client.get(f"{sandbox.api_url}/usdc").status_code == 200
    assert {request.headers.get("x-api-key") for request in liar.seen} == {"hush-kora-hush"}
    assert not any("hush" in str(request) for request in [*node.seen, *jupiter.seen])


@pytest.mark.parametrize(
    "relayer",
    [
        {},
        {"url": "http://kora.example.com"},
        {"url": "https://kora.example.com", "max_fee": 1},
        {"url": "https://kora.example.com", "maxFee": "1"},
        {"url": "https://kora.example.com", "api_key": "two words"},
        "https://kora.example.com",
    ],
    ids=str,
)
def test_refuses_invalid_relayer_options(relayer: Any, make_payer: MakePayer) -> None:
    failure_of(lambda: make_payer(relayer=relayer), "invalid_option")
