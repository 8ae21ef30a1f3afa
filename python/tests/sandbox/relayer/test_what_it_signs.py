"""A relayer with wrong fees, wrong signatures or changed transactions."""

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
    """Returns the answer of a relayer that changes a message before it signs."""
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


def is_fee(instruction: CompiledInstruction) -> bool:
    """Returns whether an instruction transfers the fee; a guard transfers to its own source."""
    accounts = instruction.accounts
    return instruction.data[:1] == b"\x0c" and accounts[0] != accounts[2]


def with_higher_fee(message: MessageV0) -> MessageV0:
    data = b"\x0c" + (2**24).to_bytes(8, "little") + b"\x06"
    return remade(
        message,
        instructions=[
            CompiledInstruction(item.program_id_index, data, item.accounts)
            if is_fee(item)
            else item
            for item in message.instructions
        ],
    )


def with_lamport_transfer(message: MessageV0) -> MessageV0:
    keys = list(message.account_keys)
    # The wallet is the second signer, and the relayer is the first.
    transfer = (2).to_bytes(4, "little") + (1).to_bytes(8, "little")
    added = CompiledInstruction(keys.index(SYSTEM), transfer, bytes((1, 0)))
    return remade(message, instructions=[*message.instructions, added])


def to_another_payee(stranger: str) -> Callable[[MessageV0], MessageV0]:
    def change(message: MessageV0) -> MessageV0:
        place = next(item.accounts[2] for item in message.instructions if is_fee(item))
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
    ("a higher fee for itself", "wallet_instructions", with_higher_fee),
    (
        "no guard",
        "wallet_instructions",
        lambda message: remade(message, instructions=message.instructions[:-1]),
    ),
    (
        "another order",
        "wallet_instructions",
        lambda message: remade(message, instructions=message.instructions[::-1]),
    ),
    ("a transfer of lamports of the wallet", "wallet_instructions", with_lamport_transfer),
    (
        "another blockhash",
        "wallet_blockhash",
        lambda message: remade(message, recent_blockhash=type(message.recent_blockhash).default()),
    ),
    ("a third signer", "wallet_signers", with_a_third_signer),
    ("another payee", "wallet_instructions", to_another_payee(STRANGER)),
]


@pytest.mark.parametrize(
    ("rule", "change"), [row[1:] for row in TAMPERED], ids=[row[0] for row in TAMPERED]
)
def test_pays_nothing_to_a_relayer_that_signs_another_transaction(
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


def with_changed_bytes(change: Callable[[bytearray], object]) -> Callable[[Any], Any]:
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
        pytest.param("signing_failed", with_changed_bytes(flip), id="an invalid signature"),
        pytest.param("signing_failed", with_changed_bytes(unsign), id="no signature"),
        pytest.param(
            "signing_failed", with_changed_bytes(lambda wire: wire.append(0)), id="a byte more"
        ),
        pytest.param(
            "signing_failed",
            lambda result: {**result, "signed_transaction": "AAAA"},
            id="no transaction",
        ),
        pytest.param(
            "invalid_response",
            lambda result: {**result, "signed_transaction": "%%%"},
            id="no base64",
        ),
        pytest.param(
            "invalid_response", lambda result: {**result, "signed_transaction": 7}, id="no text"
        ),
    ],
)
def test_refuses_an_invalid_signed_transaction_of_the_relayer(
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
def test_refuses_a_relay_fee_that_is_invalid_or_too_high(
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


def test_refuses_a_relay_fee_over_max_fee(broke: Broke) -> None:
    payer = broke(relayer={"max_fee": "0.10"})
    cause = broke.refused(payer).__cause__
    assert isinstance(cause, ExactChangeError) and cause.code == "amount_over_limit"
    assert broke.signed == []
    untouched(payer)


@pytest.mark.parametrize("field", ["signer_address", "payment_address"])
def test_refuses_a_relayer_that_names_the_wallet_as_signer_or_payee(
    field: str, lying: Broke, liar: Proxy
) -> None:
    payer = lying()
    lie(liar, "getPayerSigner", lambda result: {**result, field: payer.wallet.address})
    cause = lying.refused(payer).__cause__
    assert isinstance(cause, ExactChangeError) and cause.code == "signing_failed"
    untouched(payer)


def test_reports_the_reason_of_the_relayer_only_as_untrusted(lying: Broke, liar: Proxy) -> None:
    lie(liar, "estimateTransactionFee", lambda result: {**result, "fee_in_token": 1})
    payer = lying()
    error = lying.refused(payer)
    assert "Insufficient token payment" in error.untrusted["message"]
    assert "Insufficient token payment" not in error.message
    untouched(payer)


def test_pays_a_relay_fee_of_exactly_the_limit(lying: Broke, liar: Proxy) -> None:
    """The margin for a rising fee stays within the limit."""
    lie(liar, "estimateTransactionFee", lambda result: {**result, "fee_in_token": MAX_FEE})
    swap = lying.pay(lying()).swap
    assert swap is not None and swap.relay_fee is not None
    assert swap.relay_fee.amount == str(MAX_FEE)
