"""Offers that contradict the chain."""

from __future__ import annotations

import base64
from typing import Any, Callable, Sequence

import httpx
import pytest
from solders.transaction import VersionedTransaction

from exact_change import AsyncClient
from exact_change._solana.tokens import associated_token_address

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import Payer, failure_of
from ..seller import Seller, offer, selling, terms


def refusal(payer: Payer, seller: Seller) -> object:
    """Returns why the offer of a seller is refused, after a check that nothing was signed."""
    error = failure_of(lambda: payer.client.get(seller.url), "unsupported_offer")
    assert payer.signed == []
    return error.details["reason"]


def test_refuses_a_payee_that_is_a_token_account(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    """The payee has a token account, but tokens in that account could never leave."""
    payer, usdc = make_payer(USDC="1"), sandbox.mints["USDC"]
    account = associated_token_address(sandbox.merchant, usdc["address"], usdc["tokenProgram"])
    sandbox.call("fundToken", account, "USDC", "1")
    seller = make_seller(lambda _: terms(offer(sandbox, payTo=account)))
    assert refusal(payer, seller) == "payee is a token account"


@pytest.mark.parametrize("of", ["payee", "wallet"])
def test_refuses_a_fee_payer_that_is_a_token_account(
    of: str, sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer, usdc = make_payer(USDC="1"), sandbox.mints["USDC"]
    owner = sandbox.merchant if of == "payee" else payer.client.address
    account = associated_token_address(owner, usdc["address"], usdc["tokenProgram"])
    seller = make_seller(lambda _: terms(offer(sandbox, extra={"feePayer": account})))
    assert refusal(payer, seller) == "fee payer is a token account"


@pytest.mark.parametrize(
    ("extension", "reason"),
    [
        # Token-2022's extension 8, of one byte.
        ([8, 0, 1, 0, 1], "payee requires a memo before each transfer"),
        # Extension 5, of 295 bytes: byte 262 says whether it takes plain transfers.
        ([5, 0, 39, 1, *[1] * 262, 0, *[0] * 32], "payee takes confidential transfers alone"),
    ],
)
def test_refuses_a_payee_that_takes_no_plain_transfer(
    extension: Sequence[int],
    reason: str,
    sandbox: Sandbox,
    make_payer: MakePayer,
    make_seller: MakeSeller,
) -> None:
    """A swap would cost money, and the payment could not land."""
    payer, pyusd = make_payer(USDC="5", SOL="1"), sandbox.mints["PYUSD"]
    payee = sandbox.wallet(PYUSD="1").address
    account = associated_token_address(payee, pyusd["address"], pyusd["tokenProgram"])
    sandbox.call("appendData", account, extension)
    asked = offer(sandbox, payTo=payee, asset=pyusd["address"])
    seller = make_seller(lambda _: terms(asked))
    assert refusal(payer, seller) == reason


def test_reads_the_payee_again_after_the_seller_has_refused_a_payment(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer, pyusd = make_payer(PYUSD="1"), sandbox.mints["PYUSD"]
    payee = sandbox.wallet(PYUSD="1").address
    account = associated_token_address(payee, pyusd["address"], pyusd["tokenProgram"])
    asked = offer(sandbox, payTo=payee, asset=pyusd["address"])
    seller = make_seller(lambda _: terms(asked))
    failure_of(lambda: payer.client.get(seller.url), "payment_rejected")
    sandbox.call("appendData", account, [8, 0, 1, 0, 1])
    error = failure_of(lambda: payer.client.plan(seller.url), "unsupported_offer")
    assert error.details["reason"] == "payee requires a memo before each transfer"


class Meanwhile(httpx.HTTPTransport):
    """Does something once as it reads accounts."""

    work: Callable[[], object] | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        work = self.work
        if work is not None and b"getMultipleAccounts" in request.read():
            self.work = None
            work()
        return super().handle_request(request)


def test_keeps_a_known_offer_while_the_seller_of_a_parallel_call_refuses_a_payment(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    transport = Meanwhile()
    payer, usdc = make_payer(USDC="1", http_transport=transport), offer(sandbox)
    refusing = make_seller(lambda _: terms(usdc))
    known = make_seller(lambda _: terms(usdc, offer(sandbox, asset=sandbox.mint("PYUSD"))))
    payer.client.plan(refusing.url)
    transport.work = lambda: failure_of(lambda: payer.client.get(refusing.url), "payment_rejected")
    plan = payer.client.plan(known.url)
    assert (plan.payment is not None and plan.payment.mint) == usdc["asset"]


def test_refuses_an_offer_with_other_decimals_than_its_mint(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1")
    extra = {"feePayer": sandbox.fee_payer, "decimals": 9}
    seller = make_seller(lambda _: terms(offer(sandbox, extra=extra)))
    assert refusal(payer, seller) == "claims other decimals than its mint has"


def test_signs_no_blockhash_that_a_seller_made_up(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    """No node could tell when a payment with that blockhash has expired."""
    payer, made_up = make_payer(USDC="1"), sandbox.fee_payer
    extra = {"feePayer": sandbox.fee_payer, "recentBlockhash": made_up}
    seller = make_seller(selling(sandbox, offer(sandbox, extra=extra)))
    assert payer.client.get(seller.url).status_code == 200
    sent = base64.b64decode(seller.paid[0].payment["payload"]["transaction"])
    assert str(VersionedTransaction.from_bytes(sent).message.recent_blockhash) != made_up


def test_pays_an_offer_in_another_token_if_the_own_account_cannot_take_a_swap(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer, mints = make_payer(auto_swap=True, PYUSD="0.0001", SOL="1"), sandbox.mints
    pyusd, usdt = mints["PYUSD"], mints["USDT"]
    own = associated_token_address(payer.client.address, pyusd["address"], pyusd["tokenProgram"])
    sandbox.call("appendData", own, [8, 0, 1, 0, 1])
    asked = [offer(sandbox, asset=mint["address"]) for mint in (pyusd, usdt)]
    seller = make_seller(lambda _: terms(*asked))
    plan = payer.client.plan(seller.url)
    assert plan.payment is not None
    assert plan.payment.mint == usdt["address"]
    assert [refused.code for refused in plan.refused] == ["account_unusable"]
    alone = make_seller(lambda _: terms(asked[0]))
    error = failure_of(lambda: payer.client.get(alone.url), "account_unusable")
    assert error.details["account"] == own
    assert payer.signed == []


def test_plans_no_swap_that_the_wallet_has_too_little_sol_for(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(auto_swap=True, USDT="1", SOL="0.0012")
    seller = make_seller(lambda _: terms(offer(sandbox)))
    error = failure_of(lambda: payer.client.plan(seller.url), "insufficient_sol")
    # The minimum of the wallet, the rent, and the most that `policy.max_fee_lamports` allows.
    required = 890_880 + 2_039_280 + 250_000
    assert error.details["required_lamports"] == str(required)
    sandbox.call("fundSol", payer.client.address, str(required - 1_200_000))
    assert payer.client.plan(seller.url).swap is not None


@pytest.mark.parametrize(
    ("funds", "words"),
    [
        pytest.param({"SOL": "0.001"}, ", beyond 0.008 SOL for fees,", id="too little"),
        pytest.param(
            {"SOL": "1", "swap_from": ["USDT"]},
            "no token of swap_from that it holds is",
            id="not in swap_from",
        ),
    ],
)
def test_says_what_stays_in_a_wallet_that_holds_only_sol(
    funds: Any, words: str, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(auto_swap=True, **funds)
    error = failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), "insufficient_funds")
    assert words in str(error)
    assert error.details["required"] == "10000"


async def test_takes_the_options_of_a_request_for_a_plan(
    sandbox: Sandbox, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer, seller = make_payer(USDC="1"), make_seller(selling(sandbox, offer(sandbox)))
    traced: list[str] = []

    async def trace(name: str, _: object) -> None:
        traced.append(name)

    def traces(name: str, _: object) -> None:
        traced.append(name)

    options: Any = {"idempotency_key": "order", "repeatable": True}
    plan = payer.client.plan(seller.url, extensions={"trace": traces}, **options)
    assert plan.payment is not None and traced
    traced.clear()
    async with AsyncClient(**sandbox.options(payer.wallet)) as client:
        planned = await client.plan(seller.url, extensions={"trace": trace}, **options)
    assert planned.payment == plan.payment and traced
    error = failure_of(lambda: payer.client.plan(seller.url, idempotency_key=5), "invalid_option")
    assert error.details == {"option": "idempotency_key"}
    # A plan takes no key.
    assert payer.client.get(seller.url, **options).text == "bought"
    assert [seen.is_paid for seen in seller.seen] == [False, False, False, True]
