"""A relayer that asks for, or signs, something else than it should."""

from __future__ import annotations

import base64
from typing import Any, Callable

import pytest
from solders.instruction import CompiledInstruction
from solders.keypair import Keypair
from solders.message import MessageHeader, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey

from exact_change import ExactChangeError

from ...node import Sandbox
from ...proxy import Proxy
from .conftest import MAX_FEE, Broke, lie, untouched

SYSTEM = Pubkey.from_string("11111111111111111111111111111111")


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


def test_a_fee_of_all_that_it_may_take_is_paid_and_no_more(lying: Broke, liar: Proxy) -> None:
    """What is added for a fee that rises meanwhile is within that."""
    lie(liar, "estimateTransactionFee", lambda result: {**result, "fee_in_token": MAX_FEE})
    swap = lying.pay(lying()).swap
    assert swap is not None and swap.relay_fee is not None
    assert swap.relay_fee.amount == str(MAX_FEE)
