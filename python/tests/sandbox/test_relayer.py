"""A relayer that pays the fees and rents of a swap, as it should and as it should not."""

from __future__ import annotations

import base64
import json
from typing import Any, Callable, Iterator, NamedTuple

import pytest
from solders.instruction import CompiledInstruction
from solders.keypair import Keypair
from solders.message import MessageHeader, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey

from exact_change import AsyncClient, ExactChangeError, Receipt, receipt_of

from ..conftest import MakePayer
from ..node import Sandbox
from ..payer import Payer, failure_of
from ..proxy import Proxy
from ..seller import Seen
from .test_wallets import ChangingWallet, with_guard

HELD = 5_000_000
MAX_FEE = 500_000
SYSTEM = Pubkey.from_string("11111111111111111111111111111111")


class Broke(NamedTuple):
    """Makes payers without SOL, and pays with them."""

    sandbox: Sandbox
    make: MakePayer
    url: str

    def __call__(self, **options: Any) -> Payer:
        relayer = {"url": self.url, **options.pop("relayer", {})}
        funds = {} if any(map(str.isupper, options)) else {"USDT": "5"}
        return self.make(auto_swap=True, relayer=relayer, **funds, **options)

    def pay(self, payer: Payer) -> Receipt:
        receipt = payer.client.settled(payer.client.get(f"{self.sandbox.api_url}/usdc"), timeout=60)
        assert receipt is not None and receipt.state == "settled"
        return receipt

    def refused(self, payer: Payer, code: str = "insufficient_sol") -> ExactChangeError:
        return failure_of(lambda: payer.client.get(f"{self.sandbox.api_url}/usdc"), code)

    @property
    def signed(self) -> list[bytes]:
        """What the relayer signed."""
        return [base64.b64decode(one) for one in self.sandbox.call("relayer")["signed"]]


@pytest.fixture
def broke(sandbox: Sandbox, make_payer: MakePayer) -> Broke:
    return Broke(sandbox, make_payer, sandbox.relayer_url)


MakeProxy = Callable[[str], Proxy]


@pytest.fixture
def make_proxy() -> Iterator[MakeProxy]:
    """Makes proxies before services, and ends them."""
    made: list[Proxy] = []

    def make(upstream: str) -> Proxy:
        made.append(Proxy(upstream))
        return made[-1]

    yield make
    for proxy in made:
        proxy.close()


@pytest.fixture
def liar(sandbox: Sandbox, make_proxy: MakeProxy) -> Proxy:
    """The relayer, as it lies."""
    return make_proxy(sandbox.relayer_url)


@pytest.fixture
def lying(broke: Broke, liar: Proxy) -> Broke:
    """Payers of a relayer that lies."""
    return broke._replace(url=liar.url)


def lie(liar: Proxy, method: str, change: Callable[[Any], Any]) -> None:
    """Changes what one method answers."""

    def changed(answer: Any, seen: Seen) -> Any:
        if json.loads(seen.body)["method"] == method:
            answer["result"] = change(answer["result"])
        return answer

    liar.lies["/"] = changed


def untouched(payer: Payer) -> None:
    """Nothing of the wallet's was signed, nothing left it, and nothing counts."""
    assert (payer.signed, payer.used) == ([], "0")
    assert (payer.held("USDT"), payer.held("SOL")) == (HELD, 0)


@pytest.mark.parametrize(("symbol", "amount"), [("USDT", "5"), ("BONK", "500000")])
def test_a_wallet_without_sol_buys(symbol: str, amount: str, broke: Broke) -> None:
    payer = broke(**{symbol: amount})
    before = payer.held(symbol)
    receipt = broke.pay(payer)
    swap, mint = receipt.swap, broke.sandbox.mint(symbol)
    assert swap is not None and swap.relay_fee is not None
    assert (swap.input_mint, swap.relay_fee.mint) == (mint, mint)
    assert before - payer.held(symbol) == int(swap.in_amount)
    assert payer.held("USDC") == int(swap.out_amount) - 10_000
    assert payer.held("SOL") == 0
    assert int(swap.relay_fee.amount) > 0
    # The rent of a token account, at 150 dollars a SOL, and a tenth for the relayer.
    assert receipt.cost.usd is not None and 0.3 < float(receipt.cost.usd) < 0.51
    assert (receipt.cost.network_fee_lamports, receipt.cost.rent_lamports) == ("0", "0")
    assert float(payer.used) == float(receipt.cost.usd)
    (told,) = (one.details for one in payer.events if one.type == "swap.confirmed")
    assert told["relay_fee"] == swap.relay_fee
    (listed,) = payer.client.receipts()
    assert listed.swap == swap
    # With what is there next, the relayer is not asked.
    calls = broke.sandbox.call("relayer.calls")
    assert broke.pay(payer).swap is None
    assert broke.sandbox.call("relayer.calls") == calls


async def test_it_pays_for_a_client_of_asyncio(sandbox: Sandbox) -> None:
    wallet = sandbox.wallet(USDT="5")
    options = sandbox.options(wallet, auto_swap=True, relayer={"url": sandbox.relayer_url})
    async with AsyncClient(**options) as client:
        response = await client.get(f"{sandbox.api_url}/usdc")
        receipt = receipt_of(response)
    assert response.status_code == 200 and receipt is not None
    assert receipt.swap is not None and receipt.swap.relay_fee is not None
    assert sandbox.balance(wallet.address, "SOL") == 0


def test_its_fee_comes_out_of_what_the_swap_brings_if_it_takes_no_other_token(
    broke: Broke,
) -> None:
    usdc = broke.sandbox.mint("USDC")
    broke.sandbox.call("relayer.accept", [usdc])
    payer = broke(BONK="500000")
    swap = broke.pay(payer).swap
    assert swap is not None and swap.relay_fee is not None and swap.relay_fee.mint == usdc
    assert (payer.held("SOL"), payer.held("USDC")) == (0, int(swap.out_amount) - 10_000)


def test_a_swap_by_name_is_relayed(broke: Broke) -> None:
    payer = broke()
    swapped = payer.client.swap(input_mint="USDT", output_mint="SOL", ui_amount="2")
    assert swapped.fee_lamports == "0" and swapped.relay_fee is not None
    assert payer.held("SOL") >= int(swapped.out_amount)
    assert HELD - payer.held("USDT") == int(swapped.in_amount)


def test_it_is_paid_no_more_than_what_was_approved(broke: Broke) -> None:
    payer = broke()
    order: Any = {"input_mint": "USDT", "output_mint": "SOL", "amount": "1000000"}
    quote = payer.client.quote(**order)
    error = failure_of(lambda: payer.client.swap(**order, no_worse_than=quote), "approval_refused")
    assert (error.details["reason"], error.retry) == ("changed", "fresh")
    assert (payer.held("USDT"), payer.signed, broke.signed) == (HELD, [], [])


def test_it_is_not_asked_if_there_is_sol_enough(broke: Broke) -> None:
    calls = broke.sandbox.call("relayer.calls")
    receipt = broke.pay(broke(USDT="5", SOL="0.1"))
    assert receipt.swap is not None and receipt.swap.relay_fee is None
    assert broke.sandbox.call("relayer.calls") == calls


def test_it_signs_nothing_if_there_is_just_enough_sol(broke: Broke) -> None:
    receipt = broke.pay(broke(USDT="5", USDC="0.001", SOL="0.00092"))
    assert receipt.swap is not None and receipt.swap.relay_fee is None
    assert broke.signed == []


def test_what_little_sol_there_is_stays_to_the_lamport(broke: Broke) -> None:
    payer = broke(USDT="5", SOL="0.0001")
    receipt = broke.pay(payer)
    assert receipt.swap is not None and receipt.swap.relay_fee is not None
    assert payer.held("SOL") == 100_000


def test_the_hook_that_approves_is_shown_the_most_that_it_takes(broke: Broke) -> None:
    plans: list[Any] = []

    def approve(plan: Any) -> bool:
        plans.append(plan)
        return True

    receipt = broke.pay(broke(policy={"approve": approve}))
    relayer = plans[0].relayer
    assert (relayer.mint, relayer.max_amount) == (broke.sandbox.mint("USDT"), str(MAX_FEE))
    assert float(plans[0].cost.usd) >= 0.51
    assert receipt.swap is not None and receipt.swap.relay_fee is not None
    assert int(receipt.swap.relay_fee.amount) < MAX_FEE


def test_it_signs_nothing_that_was_not_approved(broke: Broke) -> None:
    payer = broke(policy={"approve": lambda _plan: False})
    broke.refused(payer, "approval_refused")
    assert broke.signed == []
    untouched(payer)


@pytest.mark.parametrize(
    ("policy", "cap"),
    [
        ({"max_per_payment": "0.30"}, "max_per_payment"),
        ({"max_in_amount": {"USDT": "300000"}}, "max_in_amount"),
    ],
)
def test_its_fee_counts_before_anything_is_signed(policy: Any, cap: str, broke: Broke) -> None:
    payer = broke(policy=policy)
    error = broke.refused(payer, "amount_over_limit")
    assert (error.details["cap"], broke.signed) == (cap, [])
    untouched(payer)


def test_its_fee_takes_of_the_budget_of_a_day(broke: Broke) -> None:
    payer = broke(policy={"max_per_day": "0.52"})
    used = float(broke.pay(payer).cost.usd or 0)
    assert float(payer.used) == used
    error = failure_of(
        lambda: payer.client.get(f"{broke.sandbox.api_url}/pyusd"), "budget_exhausted"
    )
    assert error.details["cap"] == "max_per_day"
    assert (len(broke.signed), float(payer.used)) == (1, used)


def test_a_wallet_that_signs_transactions_signs_after_it(broke: Broke) -> None:
    wallet = broke.sandbox.wallet(USDT="5")
    signer = ChangingWallet(wallet, lambda message: message)
    payer = broke.make(
        wallet,
        auto_swap=True,
        relayer={"url": broke.url},
        wallet_secret_key=None,
        signer=signer,
    )
    receipt = broke.pay(payer)
    assert receipt.swap is not None and receipt.swap.relay_fee is not None


def test_a_wallet_that_changes_what_it_signed_is_refused(broke: Broke) -> None:
    broke.sandbox.call("deployLighthouse")
    wallet = broke.sandbox.wallet(USDT="5")
    payer = broke.make(
        wallet,
        auto_swap=True,
        relayer={"url": broke.url},
        wallet_secret_key=None,
        signer=ChangingWallet(wallet, with_guard),
    )
    error = broke.refused(payer, "signing_failed")
    assert "relayer has signed already" in error.message
    assert (error.funds, payer.held("USDT")) == ("untouched", HELD)


def test_without_one_the_least_sol_is_said_also_for_the_fee_of_a_busy_market(
    sandbox: Sandbox, make_proxy: MakeProxy, make_payer: MakePayer
) -> None:
    node = make_proxy(sandbox.rpc_url)

    def busy(answer: Any, seen: Seen) -> Any:
        if json.loads(seen.body)["method"] == "getRecentPrioritizationFees":
            answer["result"] = [{"slot": 1, "prioritizationFee": 40_000}]
        return answer

    node.lies["/"] = busy
    payer = make_payer(USDT="5", auto_swap=True, rpc_url=node.url)
    error = failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), "insufficient_sol")
    assert "Send it at least" in error.message
    assert error.details["link"].startswith(f"solana:{payer.wallet.address}?amount=0.")
    required = error.details["required_lamports"]
    sandbox.call("fundSol", payer.wallet.address, required)
    assert payer.client.get(f"{sandbox.api_url}/usdc").status_code == 200


def tampered(sandbox: Sandbox, change: Callable[[MessageV0], MessageV0]) -> Callable[[Any], Any]:
    """What a relayer answers that changes a message before it signs it."""
    pair = Keypair.from_base58_string(sandbox.call("relayer")["secretKey"])

    def answer(result: Any) -> Any:
        wire = base64.b64decode(result["signed_transaction"])
        message = change(MessageV0.from_bytes(wire[1 + 64 * wire[0] :][1:]))
        data = bytes(to_bytes_versioned(message))
        count = message.header.num_required_signatures
        slots = bytes(pair.sign_message(data)) + bytes(64 * (count - 1))
        signed = base64.b64encode(bytes((count,)) + slots + data).decode()
        return {**result, "signed_transaction": signed}

    return answer


def remade(message: MessageV0, **changes: Any) -> MessageV0:
    fields: dict[str, Any] = {
        "header": message.header,
        "account_keys": message.account_keys,
        "recent_blockhash": message.recent_blockhash,
        "instructions": message.instructions,
        "address_table_lookups": message.address_table_lookups,
        **changes,
    }
    return MessageV0(*fields.values())


def pays(one: CompiledInstruction) -> bool:
    """Whether it is the transfer of the fee: its accounts are different ones."""
    return one.data[:1] == b"\x0c" and one.accounts[0] != one.accounts[2]


def dearer(message: MessageV0) -> MessageV0:
    more = b"\x0c" + (2**24).to_bytes(8, "little") + b"\x06"
    return remade(
        message,
        instructions=[
            CompiledInstruction(one.program_id_index, more, one.accounts) if pays(one) else one
            for one in message.instructions
        ],
    )


def sending_lamports(message: MessageV0) -> MessageV0:
    keys = list(message.account_keys)
    # The wallet is the second signer, and the relayer is the first.
    transfer = (2).to_bytes(4, "little") + (1).to_bytes(8, "little")
    one = CompiledInstruction(keys.index(SYSTEM), transfer, bytes((1, 0)))
    return remade(message, instructions=[*message.instructions, one])


def to_another_payee(stranger: str) -> Callable[[MessageV0], MessageV0]:
    def change(message: MessageV0) -> MessageV0:
        place = next(one.accounts[2] for one in message.instructions if pays(one))
        keys = list(message.account_keys)
        keys[place] = Pubkey.from_string(stranger)
        return remade(message, account_keys=keys)

    return change


def with_a_third_signer(message: MessageV0) -> MessageV0:
    header = message.header
    more = MessageHeader(
        header.num_required_signatures + 1,
        header.num_readonly_signed_accounts,
        header.num_readonly_unsigned_accounts,
    )
    return remade(message, header=more)


STRANGER = "GyGKxMyg1p9SsHfm15MkNUu1u9TN2JtTspcdmrtGUdse"
TAMPERED: list[tuple[str, str, Callable[[MessageV0], MessageV0]]] = [
    ("a higher fee for itself", "wallet_instructions", dearer),
    (
        "no guard",
        "wallet_instructions",
        lambda one: remade(one, instructions=one.instructions[:-1]),
    ),
    (
        "another order",
        "wallet_instructions",
        lambda one: remade(one, instructions=one.instructions[::-1]),
    ),
    ("one that sends lamports of the wallet", "wallet_instructions", sending_lamports),
    (
        "another blockhash",
        "wallet_blockhash",
        lambda one: remade(one, recent_blockhash=type(one.recent_blockhash).default()),
    ),
    ("a third signer", "wallet_signers", with_a_third_signer),
    ("another payee", "wallet_instructions", to_another_payee(STRANGER)),
]


@pytest.mark.parametrize(
    ("rule", "change"), [one[1:] for one in TAMPERED], ids=[one[0] for one in TAMPERED]
)
def test_a_relayer_that_signs_another_swap_gets_nothing(
    rule: str, change: Callable[[MessageV0], MessageV0], lying: Broke, liar: Proxy
) -> None:
    lie(liar, "signTransaction", tampered(lying.sandbox, change))
    payer = lying()
    error = lying.refused(payer)
    cause = error.__cause__
    assert isinstance(cause, ExactChangeError) and cause.code == "signing_failed"
    assert (cause.details["rule"], error.funds) == (rule, "untouched")
    assert len(lying.signed) == 1
    untouched(payer)


def spoilt(change: Callable[[bytearray], object]) -> Callable[[Any], Any]:
    def answer(result: Any) -> Any:
        wire = bytearray(base64.b64decode(result["signed_transaction"]))
        change(wire)
        return {**result, "signed_transaction": base64.b64encode(wire).decode()}

    return answer


def flip(wire: bytearray) -> None:
    wire[5] ^= 1


def unsign(wire: bytearray) -> None:
    wire[1:65] = bytes(64)


@pytest.mark.parametrize(
    ("code", "change"),
    [
        pytest.param("signing_failed", spoilt(flip), id="a signature that is not its own"),
        pytest.param("signing_failed", spoilt(unsign), id="no signature"),
        pytest.param("signing_failed", spoilt(lambda one: one.append(0)), id="a byte more"),
        pytest.param(
            "signing_failed", lambda one: {**one, "signed_transaction": "AAAA"}, id="no transaction"
        ),
        pytest.param(
            "invalid_response", lambda one: {**one, "signed_transaction": "%%%"}, id="no base64"
        ),
        pytest.param(
            "invalid_response", lambda one: {**one, "signed_transaction": 7}, id="no text"
        ),
    ],
)
def test_what_it_signed_is_judged(
    code: str, change: Callable[[Any], Any], lying: Broke, liar: Proxy
) -> None:
    lie(liar, "signTransaction", change)
    payer = lying()
    cause = lying.refused(payer).__cause__
    assert isinstance(cause, ExactChangeError) and cause.code == code
    untouched(payer)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"fee_in_token": MAX_FEE + 1}, "amount_over_limit"),
        ({"fee_in_token": -1}, "invalid_response"),
        ({"fee_in_token": 0.5}, "invalid_response"),
        ({"fee_in_token": 1e30}, "invalid_response"),
        ({"fee_in_token": True}, "invalid_response"),
        ({"fee_in_token": "1"}, "invalid_response"),
        ({"fee_in_token": None}, "invalid_response"),
        ({"signer_pubkey": STRANGER}, "invalid_response"),
        ({"payment_address": STRANGER}, "invalid_response"),
    ],
    ids=str,
)
def test_a_fee_that_is_none_or_too_dear_is_not_paid(
    change: Any, code: str, lying: Broke, liar: Proxy
) -> None:
    lie(liar, "estimateTransactionFee", lambda result: {**result, **change})
    payer = lying()
    cause = lying.refused(payer).__cause__
    assert isinstance(cause, ExactChangeError) and cause.code == code
    if code == "amount_over_limit":
        assert (cause.details["cap"], cause.details["limit"]) == ("relayer.max_fee", str(MAX_FEE))
    assert lying.signed == []
    untouched(payer)


def test_it_takes_no_more_than_max_fee(broke: Broke) -> None:
    payer = broke(relayer={"max_fee": "0.10"})
    cause = broke.refused(payer).__cause__
    assert isinstance(cause, ExactChangeError) and cause.code == "amount_over_limit"
    assert broke.signed == []
    untouched(payer)


@pytest.mark.parametrize("field", ["signer_address", "payment_address"])
def test_it_is_not_the_wallet_itself(field: str, lying: Broke, liar: Proxy) -> None:
    payer = lying()
    lie(liar, "getPayerSigner", lambda result: {**result, field: payer.wallet.address})
    cause = lying.refused(payer).__cause__
    assert isinstance(cause, ExactChangeError) and cause.code == "signing_failed"
    untouched(payer)


def test_its_own_reason_is_no_word_of_ours(lying: Broke, liar: Proxy) -> None:
    lie(liar, "estimateTransactionFee", lambda result: {**result, "fee_in_token": 1})
    payer = lying()
    error = lying.refused(payer)
    assert "Insufficient token payment" in error.untrusted["message"]
    assert "Insufficient token payment" not in error.message
    untouched(payer)


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
def test_a_relayer_that_fails_is_the_cause(fault: Any, code: str, broke: Broke) -> None:
    broke.sandbox.call("relayer.fault", "*", fault)
    payer = broke()
    cause = broke.refused(payer).__cause__
    assert isinstance(cause, ExactChangeError) and cause.code == code
    untouched(payer)


def test_a_relayer_that_never_answers_is_late(broke: Broke) -> None:
    broke.sandbox.call("relayer.fault", "*", {"kind": "hang"})
    payer = broke(timeouts={"service": 300})
    cause = broke.refused(payer).__cause__
    assert isinstance(cause, ExactChangeError)
    assert (cause.code, cause.details["step"]) == ("timeout", "relayer")
    untouched(payer)


def test_a_relayer_that_takes_no_token_of_the_swap_is_of_no_use(broke: Broke) -> None:
    broke.sandbox.call("relayer.accept", [broke.sandbox.mint("PYUSD")])
    payer = broke()
    error = broke.refused(payer)
    cause = error.__cause__
    assert isinstance(cause, ExactChangeError) and cause.code == "mint_not_supported"
    assert f"solana:{payer.wallet.address}" in error.details["link"]
    untouched(payer)


def test_its_key_goes_to_it_alone(
    sandbox: Sandbox, make_proxy: MakeProxy, make_payer: MakePayer, liar: Proxy
) -> None:
    others = [make_proxy(sandbox.rpc_url), make_proxy(sandbox.jupiter_url)]
    payer = make_payer(
        USDT="5",
        auto_swap=True,
        relayer={"url": liar.url, "api_key": "hush-kora-hush"},
        rpc_url=others[0].url,
        jupiter_url=others[1].url,
    )
    assert payer.client.get(f"{sandbox.api_url}/usdc").status_code == 200
    assert {one.headers.get("x-api-key") for one in liar.seen} == {"hush-kora-hush"}
    assert not any("hush" in str(one) for other in others for one in other.seen)


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
def test_options_of_it_that_are_wrong_are_refused(relayer: Any, make_payer: MakePayer) -> None:
    failure_of(lambda: make_payer(relayer=relayer), "invalid_option")
