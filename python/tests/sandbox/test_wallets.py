"""Wallets that sign whole transactions, and may add instructions that only check balances."""

from __future__ import annotations

import pickle
from queue import Queue
from typing import Any, Callable, Sequence

import httpx
import pytest
from solders.hash import Hash
from solders.instruction import CompiledInstruction
from solders.keypair import Keypair
from solders.message import MessageHeader, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from exact_change import AsyncClient, Event, receipt_of
from exact_change.errors import failure

from ..conftest import MakePayer
from ..node import Sandbox, Wallet
from ..payer import failure_of, until

LIGHTHOUSE = Pubkey.from_string("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95")
# AssertAccountInfo, as `lighthouse-sdk` makes it.
GUARD = bytes.fromhex("050000010000000000000004")
Change = Callable[[MessageV0], MessageV0]


def with_guard(message: MessageV0, at: int | None = None, data: bytes = GUARD) -> MessageV0:
    """Inserts a guard of the wallet at a position, by default at the end."""
    keys, header = list(message.account_keys), message.header
    fresh = [] if LIGHTHOUSE in keys else [LIGHTHOUSE]
    all_keys = keys + fresh

    def shifted(index: int) -> int:
        # Indexes of lookup tables follow the static accounts, so they shift.
        return index if index < len(keys) else index + len(fresh)

    instructions = [
        CompiledInstruction(
            shifted(item.program_id_index), item.data, bytes(map(shifted, item.accounts))
        )
        for item in message.instructions
    ]
    wallet = header.num_required_signatures - 1
    guard = CompiledInstruction(all_keys.index(LIGHTHOUSE), data, bytes((wallet,)))
    instructions.insert(len(instructions) if at is None else at, guard)
    return MessageV0(
        MessageHeader(
            header.num_required_signatures,
            header.num_readonly_signed_accounts,
            header.num_readonly_unsigned_accounts + len(fresh),
        ),
        all_keys,
        message.recent_blockhash,
        instructions,
        message.address_table_lookups,
    )


class ChangingWallet:
    """A wallet that changes a message before it signs."""

    def __init__(self, wallet: Wallet, change: Change) -> None:
        self.address = wallet.address
        self._pair = Keypair.from_base58_string(wallet.secret_key)
        self._change = change
        self.intents: list[str] = []

    def sign_transaction(self, transaction: bytes, intent: Any) -> bytes:
        self.intents.append(intent["kind"])
        unsigned = VersionedTransaction.from_bytes(transaction)
        assert isinstance(unsigned.message, MessageV0)
        message = self._change(unsigned.message)
        slots = [Signature.default()] * message.header.num_required_signatures
        slots[-1] = self._pair.sign_message(to_bytes_versioned(message))
        return bytes(VersionedTransaction.populate(message, slots))


def programs_of(sandbox: Sandbox, signature: str) -> Sequence[str]:
    """Returns the programs that a landed transaction calls."""
    options = {"encoding": "json", "maxSupportedTransactionVersion": 0, "commitment": "confirmed"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "getTransaction", "params": [signature, options]}
    message = httpx.post(sandbox.rpc_url, json=call).json()["result"]["transaction"]["message"]
    return [message["accountKeys"][item["programIdIndex"]] for item in message["instructions"]]


def test_lands_the_guards_of_a_wallet_in_a_payment_and_its_swap(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    sandbox.call("deployLighthouse")
    wallet = sandbox.wallet(SOL="0.5")
    signer = ChangingWallet(wallet, lambda message: with_guard(with_guard(message)))
    payer = make_payer(wallet, wallet_secret_key=None, signer=signer, auto_swap=True)
    response = payer.client.get(f"{sandbox.api_url}/usdc")
    receipt = payer.client.settled(response, timeout=60)
    assert receipt is not None and receipt.state == "settled" and receipt.swap is not None
    assert signer.intents == ["swap", "payment"]
    assert receipt.payment.signature is not None
    for signature in (receipt.payment.signature, receipt.swap.signature):
        assert programs_of(sandbox, signature).count(str(LIGHTHOUSE)) == 2
    assert payer.client.spent()[0].used != "0"


async def test_pays_on_an_event_loop_with_a_wallet_that_changes_nothing(sandbox: Sandbox) -> None:
    wallet = sandbox.wallet(USDC="1")
    signer = ChangingWallet(wallet, lambda message: message)
    options = sandbox.options(wallet, wallet_secret_key=None, signer=signer)
    async with AsyncClient(**options) as client:
        response = await client.get(f"{sandbox.api_url}/usdc")
        assert receipt_of(response) is not None and signer.intents == ["payment"]


def test_pays_only_from_the_account_that_the_wallet_had_first(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    first, second = sandbox.wallet(USDC="1"), sandbox.wallet(USDC="1")
    signer = ChangingWallet(first, lambda message: message)
    payer = make_payer(first, wallet_secret_key=None, signer=signer)
    other = ChangingWallet(second, lambda message: message)
    vars(signer).update(vars(other))
    failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), "signing_failed")
    assert sandbox.balance(second.address, "USDC") == 1_000_000


def with_other_blockhash(message: MessageV0) -> MessageV0:
    return MessageV0(
        message.header,
        message.account_keys,
        Hash.new_unique(),
        message.instructions,
        message.address_table_lookups,
    )


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (with_other_blockhash, "wallet_blockhash"),
        (lambda message: with_guard(message, None, b"\x01\x00\xff"), "wallet_memory_close"),
        (lambda message: with_guard(message, None, b"\x05\x03"), "wallet_guard_log"),
        # Facilitators expect the transfer as the third instruction.
        (lambda message: with_guard(message, 2), "wallet_form"),
    ],
)
def test_refuses_any_other_change_of_a_wallet_at_no_cost(
    change: Change, rule: str, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    wallet = sandbox.wallet(USDC="1")
    signer = ChangingWallet(wallet, change)
    payer = make_payer(wallet, wallet_secret_key=None, signer=signer)
    error = failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), "signing_failed")
    assert (error.funds, error.details["rule"]) == ("untouched", rule)
    assert payer.held() == 1_000_000
    until("the budget is free", lambda: payer.used == "0")


def test_refuses_a_signed_value_that_is_no_transaction(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    class Broken:
        def __init__(self, address: str) -> None:
            self.address = address

        def sign_transaction(self, transaction: bytes, intent: object) -> object:
            return pickle.dumps(transaction)

    wallet = sandbox.wallet(USDC="1")
    payer = make_payer(wallet, wallet_secret_key=None, signer=Broken(wallet.address))
    error = failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), "signing_failed")
    assert error.details["rule"] == "wallet_message"


class Unreadable(bytes):
    """Bytes that cannot be copied."""

    def __bytes__(self) -> bytes:
        raise RuntimeError("Do not copy.")


def another_client_failed() -> bytes:
    raise failure("client_closed", "This client is closed. Create a new one.")


def closed() -> bytes:
    raise GeneratorExit


@pytest.mark.parametrize(
    "answer", [another_client_failed, closed, lambda: Unreadable(64), lambda: None]
)
def test_fails_at_no_cost_if_a_signer_misbehaves(
    answer: Callable[[], Any], sandbox: Sandbox, make_payer: MakePayer
) -> None:
    wallet = sandbox.wallet(USDC="1")

    class Misbehaving:
        address = wallet.address

        def sign_message(self, message: bytes, intent: object) -> Any:
            return answer()

    payer = make_payer(wallet, wallet_secret_key=None, signer=Misbehaving())
    error = failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), "signing_failed")
    assert error.funds == "untouched"
    until("the budget is free", lambda: payer.used == "0")


class Left(BaseException):
    """An error like that of ``sys.exit``, which no code catches by accident."""


@pytest.mark.parametrize("hook", ["signer", "approve"])
def test_frees_budget_and_key_when_a_hook_of_the_caller_ends_the_program(
    hook: str, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    wallet, left = sandbox.wallet(USDC="1"), [Left()]

    class Leaving:
        address = wallet.address

        def sign_message(self, message: bytes, intent: object) -> bytes:
            if hook == "signer" and left:
                raise left.pop()
            return bytes(Keypair.from_base58_string(wallet.secret_key).sign_message(message))

    def approve(_plan: object) -> bool:
        if hook == "approve" and left:
            raise left.pop()
        return True

    policy = {"max_per_day": "0.01", "approve": approve}
    payer = make_payer(wallet, wallet_secret_key=None, signer=Leaving(), policy=policy)
    url = f"{sandbox.api_url}/usdc"
    with pytest.raises(Left):
        payer.client.get(url, idempotency_key="order 1")
    assert payer.used == "0"
    assert payer.client.get(url, idempotency_key="order 1").status_code == 200


def test_frees_budget_when_a_signer_raises_what_closes_a_generator(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    wallet = sandbox.wallet(USDC="1")

    class Closing:
        address = wallet.address

        def sign_message(self, message: bytes, intent: object) -> bytes:
            raise GeneratorExit

    payer = make_payer(wallet, wallet_secret_key=None, signer=Closing())
    url = f"{sandbox.api_url}/usdc"
    error = failure_of(lambda: payer.client.get(url), "signing_failed")
    assert (error.funds, payer.used) == ("untouched", "0")


def test_lets_a_listener_of_a_swap_pay_with_the_same_wallet(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="0.01", USDT="1", SOL="0.1", timeouts={"signer": 300})
    paid: Queue[int] = Queue()

    def pay(_event: Event) -> None:
        paid.put(payer.client.get(f"{sandbox.api_url}/usdc").status_code)

    payer.client.on("swap.confirmed", pay)
    payer.client.swap(input_mint="USDT", output_mint="USDC", ui_amount="0.1")
    assert paid.get(timeout=60) == 200
