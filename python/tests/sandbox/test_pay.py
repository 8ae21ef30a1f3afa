from __future__ import annotations

from typing import Any

import httpx
import pytest
import requests

from exact_change import (
    AsyncClient,
    Client,
    Event,
    ExactChangeError,
    FundsError,
    PolicyError,
    format_receipt,
    receipt_of,
)

from ..conftest import MakeClient, MakePayer
from ..node import Sandbox
from ..payer import failure_of

CENT = 10_000


def test_settles_a_payment_and_returns_its_receipt(
    sandbox: Sandbox, make_client: MakeClient
) -> None:
    wallet = sandbox.wallet(USDC="1", SOL="0.01")
    client = make_client(wallet)
    events: list[Event] = []
    client.on("*", events.append)
    before = sandbox.balance(sandbox.merchant, "USDC")
    response = client.get(f"{sandbox.api_url}/usdc")
    assert response.json() == {"ok": True, "path": "/usdc", "method": "GET", "body": None}
    receipt = receipt_of(response)
    assert receipt is not None and receipt.payment.ui_amount == "0.01"
    assert receipt.settlement is not None and receipt.settlement.success
    settled = client.settled(response, timeout=60)
    assert settled is not None
    assert (settled.state, settled.payment.signature) == ("settled", receipt.settlement.transaction)
    assert receipt_of(response) == settled
    assert client.receipts() == [settled] and client.receipts(state="unsettled") == []
    assert sandbox.balance(sandbox.merchant, "USDC") - before == CENT
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - CENT
    assert "Paid 0.01 USDC" in format_receipt(settled)
    assert "fees 0)\nState" in format_receipt(settled)
    lost = format_receipt(settled._replace(state="uncertain"))
    never = format_receipt(settled._replace(state="unsettled"))
    assert lost.startswith("May have paid 0.01 USDC") and never.startswith("Paid nothing for")
    types = [event.type for event in events]
    assert types[:5] == [
        "payment.required",
        "payment.chosen",
        "balance.checked",
        "payment.signed",
        "payment.sent",
    ]
    assert sorted(types[5:]) == ["payment.answered", "payment.settled"]
    assert len({event.id for event in events}) == 1
    (day, lamports) = client.spent()
    assert (day.cap, day.used, lamports.used) == ("max_per_day", "0.01", "0")


def test_swaps_before_it_pays_from_a_wallet_with_sol_only(
    sandbox: Sandbox, make_client: MakeClient
) -> None:
    wallet = sandbox.wallet(SOL="0.5")
    client = make_client(wallet, auto_swap=True)
    url = f"{sandbox.api_url}/usdc"
    plan = client.plan(url)
    assert plan.payment is not None and plan.swap is not None and plan.cost is not None
    assert client.receipts() == []
    response = client.get(url)
    receipt = receipt_of(response)
    assert response.status_code == 200 and receipt is not None and receipt.swap is not None
    assert receipt.swap.input_mint == sandbox.mint("SOL")
    assert int(receipt.swap.out_amount) == sandbox.balance(wallet.address, "USDC") + CENT
    # The rest of the swap pays the next call without a swap.
    again = receipt_of(client.get(url))
    assert again is not None and again.swap is None
    taken = int(receipt.swap.in_amount) + int(receipt.cost.network_fee_lamports)
    rent = int(receipt.cost.rent_lamports)
    assert sandbox.balance(wallet.address, "SOL") == 500_000_000 - taken - rent


@pytest.mark.parametrize(
    "path", ["usdt", "pyusd", "bonk", "any", "memo", "blockhash", "identified"]
)
def test_pays_each_kind_of_terms(path: str, sandbox: Sandbox, make_client: MakeClient) -> None:
    wallet = sandbox.wallet(SOL="0.5", USDC="1", USDT="1", PYUSD="1", BONK="2000")
    policy = {"max_amount": {sandbox.mint("BONK"): "200000000"}}
    client = make_client(wallet, auto_swap=True, policy=policy)
    response = client.get(f"{sandbox.api_url}/{path}")
    assert response.status_code == 200
    settled = client.settled(response, timeout=60)
    assert settled is not None and settled.state == "settled"


def test_sends_the_body_again_with_the_payment(sandbox: Sandbox, make_client: MakeClient) -> None:
    client = make_client(sandbox.wallet(USDC="1"))
    response = client.post(f"{sandbox.api_url}/echo", json={"a": [1, "ü"]})
    assert response.json()["body"] == {"a": [1, "ü"]}

    def parts() -> object:
        yield b'{"a":'
        yield b"7}"

    headers = {"content-type": "application/json"}
    response = client.post(f"{sandbox.api_url}/echo", content=parts(), headers=headers)
    assert response.json()["body"] == {"a": 7}


def test_raises_an_error_with_the_reason_when_it_cannot_pay(
    sandbox: Sandbox, make_client: MakeClient
) -> None:
    wallet = sandbox.wallet(SOL="0.1")
    poor = make_client(wallet)
    with pytest.raises(FundsError) as short:
        poor.get(f"{sandbox.api_url}/usdc")
    assert (short.value.code, short.value.funds) == ("insufficient_funds", "untouched")
    assert short.value.details["required"] == "10000"
    link = f"solana:{wallet.address}?amount=0.01&spl-token={sandbox.mint('USDC')}"
    assert short.value.details["link"] == link and link in str(short.value)
    with pytest.raises(FundsError) as unlisted:
        make_client(wallet, auto_swap=True, swap_from=["USDT"]).get(f"{sandbox.api_url}/usdc")
    assert "no token of swap_from that it holds is worth" in str(unlisted.value)
    no_sol_wallet = sandbox.wallet(USDT="1")
    with pytest.raises(FundsError) as no_sol:
        make_client(no_sol_wallet, auto_swap=True).get(f"{sandbox.api_url}/usdc")
    needed = int(no_sol.value.details["required_lamports"])
    link = f"solana:{no_sol_wallet.address}?amount={needed / 1e9:.9f}".rstrip("0")
    assert (no_sol.value.code, no_sol.value.details["link"]) == ("insufficient_sol", link)
    assert "SOL for network fees and rent; the wallet" in str(no_sol.value)
    assert short.value.response.status_code == 402
    rich = make_client(sandbox.wallet(USDC="5"), policy={"max_per_payment": "0.005"})
    with pytest.raises(PolicyError) as over:
        rich.get(f"{sandbox.api_url}/usdc")
    assert over.value.code == "amount_over_limit" and over.value.details["cap"] == "max_per_payment"
    with pytest.raises(ExactChangeError) as missing:
        make_client(sandbox.wallet(USDC="5")).get(f"{sandbox.api_url}/no-account")
    assert missing.value.code == "payee_account_missing"
    assert rich.receipts() == [] and rich.spent()[0].used == "0"


@pytest.mark.parametrize("auto_swap", [True, False])
def test_pays_the_next_call_from_the_rest_after_a_price_was_too_high(
    auto_swap: bool, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    # The client learns nothing of the first payment's landing, so it holds the tokens.
    sandbox.call("node.fault", "getSignatureStatuses", {"kind": "hang"}, "client")
    rpc_url, policy = f"{sandbox.rpc_url}/?caller=client", {"max_per_payment": "5.00"}
    payer = make_payer(USDC="0.02", rpc_url=rpc_url, auto_swap=auto_swap, policy=policy)
    assert payer.client.get(f"{sandbox.api_url}/usdc").status_code == 200
    failure_of(lambda: payer.client.get(f"{sandbox.api_url}/expensive"), "insufficient_funds")
    assert payer.client.get(f"{sandbox.api_url}/usdc?again").status_code == 200


@pytest.mark.parametrize("auto_swap", [True, False])
def test_pays_at_once_when_the_wallet_is_funded_after_a_refusal(
    auto_swap: bool, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="0", auto_swap=auto_swap)
    failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), "insufficient_funds")
    sandbox.call("fundToken", payer.wallet.address, "USDC", "10000")
    assert payer.client.get(f"{sandbox.api_url}/usdc").status_code == 200


def test_calls_approve_with_a_plan(sandbox: Sandbox, make_client: MakeClient) -> None:
    plans: list[str] = []

    def approve(plan: object) -> bool:
        plans.append(plan.payment.ui_amount)  # type: ignore[attr-defined]
        return len(plans) > 1

    client = make_client(sandbox.wallet(USDC="1"), policy={"approve": approve})
    with pytest.raises(PolicyError) as refused:
        client.get(f"{sandbox.api_url}/usdc")
    assert refused.value.code == "approval_refused"
    assert client.get(f"{sandbox.api_url}/usdc").status_code == 200
    assert plans == ["0.01", "0.01"]


@pytest.mark.parametrize("answer", [False, None, 1, "yes", "no", [True]])
def test_refuses_a_payment_when_approve_returns_anything_but_true(
    answer: Any, sandbox: Sandbox, make_client: MakeClient
) -> None:
    def approve(_plan: object) -> Any:
        return answer

    client = make_client(sandbox.wallet(USDC="1"), policy={"approve": approve})
    with pytest.raises(PolicyError) as refused:
        client.get(f"{sandbox.api_url}/usdc")
    assert refused.value.code == "approval_refused"
    assert client.receipts() == []


@pytest.mark.parametrize("library", ["httpx", "requests"])
def test_makes_a_payment_header_for_a_caller_with_its_own_http(
    library: str, sandbox: Sandbox, make_client: MakeClient
) -> None:
    client = make_client(sandbox.wallet(USDC="1"))
    plain: Any = httpx.Client() if library == "httpx" else requests.Session()
    with plain:
        unpaid = plain.get(f"{sandbox.api_url}/usdc")
        terms = client.parse(unpaid)
        assert terms is not None and len(terms.accepts) == 1
        payment = client.pay(unpaid)
        paid = plain.get(unpaid.url, headers={payment.header.name: payment.header.value})
    assert paid.status_code == 200
    assert payment.header.value not in repr(payment)


def test_filters_receipts_by_each_field(sandbox: Sandbox, make_client: MakeClient) -> None:
    client = make_client(sandbox.wallet(USDC="1"))
    receipt = receipt_of(client.get(f"{sandbox.api_url}/usdc"))
    assert receipt is not None
    host = httpx.URL(receipt.url).netloc.decode()
    matching: Any = {"host": host, "pay_to": receipt.payment.pay_to, "mint": receipt.payment.mint}
    matching.update(since=receipt.at, until=receipt.at + 1)
    different: Any = {
        "host": "shop.example",
        "pay_to": sandbox.fee_payer,
        "mint": sandbox.mint("USDT"),
    }
    different.update(since=receipt.at + 1, until=receipt.at, state="unsettled")
    absent: Any = dict.fromkeys(different)
    assert len(client.receipts(**matching)) == len(client.receipts(**absent)) == 1
    for name, value in different.items():
        assert client.receipts(**{**matching, name: value}) == [], name


def test_makes_one_purchase_for_a_key(sandbox: Sandbox, make_client: MakeClient) -> None:
    client = make_client(sandbox.wallet(USDC="1"))
    url = f"{sandbox.api_url}/usdc"
    first = client.get(url, idempotency_key="order-1")
    assert first.status_code == 200
    client.settled(first, timeout=60)
    with pytest.raises(ExactChangeError) as spent:
        client.get(url, headers={"Idempotency-Key": "order-1"})
    assert spent.value.code == "already_spent" and len(spent.value.moved) == 1
    with pytest.raises(ExactChangeError) as other:
        client.get(f"{url}?x=1", idempotency_key="order-1")
    assert other.value.code == "idempotency_mismatch"
    assert client.get(url, idempotency_key="order-2").status_code == 200
    assert len(client.receipts()) == 2


def test_quotes_swaps_and_reads_balances_without_a_payment(
    sandbox: Sandbox, make_client: MakeClient
) -> None:
    wallet = sandbox.wallet(SOL="0.5")
    client = make_client(wallet)
    quote = client.quote(input_mint="SOL", output_mint="USDC", ui_amount="0.1")
    result = client.swap(input_mint="SOL", output_mint="USDC", ui_amount="0.1")
    assert result.in_amount == quote.in_amount == "100000000"
    sol, usdc = client.balance(["SOL", "USDC"])
    assert usdc.amount == result.out_amount and usdc.symbol == "USDC"
    assert sol.amount == str(sandbox.balance(wallet.address, "SOL"))
    assert [balance.mint for balance in client.balance()] == [sol.mint, usdc.mint]


async def test_pays_swaps_and_streams_on_an_event_loop(sandbox: Sandbox) -> None:
    wallet = sandbox.wallet(SOL="0.5", USDC="1")
    async with AsyncClient(**sandbox.options(wallet, auto_swap=True)) as client:
        await client.warm()
        response = await client.get(f"{sandbox.api_url}/usdc")
        assert response.json()["ok"] is True
        swapped = await client.post(f"{sandbox.api_url}/usdt", json={})
        settled = await client.settled(swapped, timeout=60)
        assert settled is not None and settled.state == "settled" and settled.swap is not None
        assert len(await client.receipts()) == 2
        (usdt,) = await client.balance("USDT")
        assert int(usdt.amount) > 0
        async with client.stream("GET", f"{sandbox.api_url}/usdc") as stream:
            assert b"".join([part async for part in stream.aiter_bytes()])
        plan = await client.plan(f"{sandbox.api_url}/usdc")
        assert plan.payment is not None and plan.swap is None


@pytest.mark.parametrize("calls", [0, 1])
def test_refuses_calls_of_a_closed_client(calls: int, sandbox: Sandbox) -> None:
    client = Client(**sandbox.options(sandbox.wallet(USDC="1")))
    for _ in range(calls):
        client.get(f"{sandbox.api_url}/usdc")
    client.close()
    failure_of(client.spent, "client_closed")
    failure_of(lambda: client.get(f"{sandbox.api_url}/usdc"), "client_closed")


async def test_refuses_calls_of_a_closed_async_client(sandbox: Sandbox) -> None:
    client = AsyncClient(**sandbox.options(sandbox.wallet(USDC="1")))
    await client.get(f"{sandbox.api_url}/usdc")
    await client.aclose()
    with pytest.raises(ExactChangeError) as closed:
        await client.get(f"{sandbox.api_url}/usdc")
    assert closed.value.code == "client_closed"
