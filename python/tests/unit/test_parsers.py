"""Parsers return a value, a typed error or None for any input of a stranger, and nothing else."""

from __future__ import annotations

import base64
import json
import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exact_change import ExactChangeError, parse_payment_required
from exact_change._base.backoff import asked_wait
from exact_change._base.headers import Headers
from exact_change._base.js import stringify
from exact_change._base.json_types import is_record
from exact_change._base.network import SOLANA_MAINNET
from exact_change._base.text import clean_text
from exact_change._base.urls import parse_address
from exact_change._firewall.envelope import read_transaction
from exact_change._firewall.simulation import is_guard_failure
from exact_change._solana.address import address_bytes, address_of, is_address
from exact_change._solana.message import decode_message, decode_transaction
from exact_change._solana.rpc.failover import explain
from exact_change._solana.rpc.fault import Fault
from exact_change._solana.rpc.reply import read_account, read_landed, read_status
from exact_change._solana.rpc.types import Account
from exact_change._solana.tokens import decode_mint, decode_token_account
from exact_change._x402.offers import judge_offers
from exact_change._x402.settlement import settlement_claim_of
from exact_change._x402.types import Offer

from ..spec import data, of, vectors

WALLET = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin"
# Any JSON of a stranger, with values that are almost valid.
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=40),
    st.sampled_from(
        [WALLET, SOLANA_MAINNET, "exact", "solana", "10000", "0", "-1", "1e3", "\ud800"]
    ),
)
NAMES = st.sampled_from(
    [
        *("x402Version", "accepts", "scheme", "network", "amount", "maxAmountRequired", "asset"),
        *("payTo", "extra", "feePayer", "memo", "maxTimeoutSeconds", "resource", "url", "error"),
    ]
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(NAMES, st.text()), inner, max_size=6)
    ),
    max_leaves=25,
)
OFFERS = st.fixed_dictionaries(
    {
        "scheme": st.one_of(st.just("exact"), SCALARS),
        "network": st.one_of(st.just(SOLANA_MAINNET), SCALARS),
        "amount": st.one_of(st.just("10000"), SCALARS),
        "asset": st.one_of(st.just(WALLET), SCALARS),
        "payTo": SCALARS,
    },
    optional={"extra": JSON, "maxTimeoutSeconds": SCALARS},
)
ENVELOPES = st.fixed_dictionaries(
    {"x402Version": st.one_of(st.sampled_from([1, 2]), SCALARS)},
    optional={"accepts": st.one_of(st.lists(OFFERS, max_size=3), JSON), "resource": JSON},
)


REFUSALS = ("unsupported_network", "unsupported_offer", "malformed_payment_required")


def read_or_refuse(headers: Any, body: Any) -> None:
    try:
        terms = parse_payment_required(headers=headers, body=body)
    except ExactChangeError as error:
        assert error.code == "malformed_payment_required"
        return
    if terms is None:
        return
    for reading in judge_offers(terms, SOLANA_MAINNET, WALLET).readings:
        if isinstance(reading, Offer):
            assert 0 < reading.amount < 2**64
            assert is_address(reading.mint) and is_address(reading.pay_to)
        else:
            assert reading.refusal.code in REFUSALS


def test_refuses_an_integer_in_parsed_terms_that_is_larger_than_any_float() -> None:
    terms = {"x402Version": 2, "accepts": [{"scheme": "exact", "extra": {"n": 10**400}}]}
    with pytest.raises(ExactChangeError, match="a number out of range"):
        parse_payment_required(body=terms)


@given(ENVELOPES, st.booleans())
def test_reads_or_refuses_generated_terms(envelope: Any, in_header: bool) -> None:
    text = stringify(envelope)
    if in_header:
        encoded = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()
        read_or_refuse({"PAYMENT-REQUIRED": encoded}, None)
    else:
        read_or_refuse({}, text)


@given(st.text(), st.text())
@example("e30=", "{" * 2_000)
@example("", "[" * 100_000)
def test_reads_any_text_as_terms_or_as_none_or_refuses_it(header: str, body: str) -> None:
    read_or_refuse({"payment-required": header, "x-payment-required": header}, body)


@given(st.text(), st.one_of(st.none(), st.text()))
def test_reads_or_ignores_any_settlement_header(header: str, reason: str | None) -> None:
    headers = Headers([("payment-response", header), ("x-payment-response", header)])
    settlement_claim_of(headers, reason)


@given(JSON)
def test_writes_json_as_one_line_that_reads_back_equal(value: Any) -> None:
    text = stringify(value)
    text.encode("utf-8")
    # JavaScript reads each number as a double.
    read = json.loads(text, parse_int=float)
    assert "\n" not in text and read == json.loads(json.dumps(value), parse_int=float)


@given(st.text())
def test_reads_a_url_in_one_spelling_or_refuses_it(text: str) -> None:
    address = parse_address(text)
    assert address is None or parse_address(address.href) == address


@given(st.binary(min_size=32, max_size=32), st.text())
def test_writes_and_reads_a_public_key_in_one_spelling(data_: bytes, text: str) -> None:
    address = address_of(data_)
    assert is_address(address) and address_bytes(address) == data_
    assert not is_address(text) or address_of(address_bytes(text)) == text
    assert not is_address(f" {address}") and not is_address(f"{address}\n")


TRANSACTIONS = [data(row["bytes"]) for row in vectors("transactions")[:40]]


@given(st.one_of(st.binary(max_size=1_300), st.sampled_from(TRANSACTIONS)), st.data())
def test_decodes_bytes_as_one_transaction_in_one_encoding_or_none(wire: bytes, draws: Any) -> None:
    if wire:
        at = draws.draw(st.integers(0, len(wire) - 1))
        wire = wire[:at] + bytes((draws.draw(st.integers(0, 255)),)) + wire[at + 1 :]
    decoded = decode_transaction(wire)
    if decoded is None:
        return
    assert wire.endswith(decoded.message)
    assert decode_message(decoded.message) == decoded.decoded
    assert decode_transaction(wire + b"\0") is None and decode_transaction(wire[:-1]) is None
    assert read_transaction(base64.b64encode(wire).decode()) == decoded


ACCOUNTS = [
    Account(row["owner"], 1, data(row["data"]))
    for kind in ("mint", "account")
    for row in of("tokens", kind)
]


@given(st.sampled_from(ACCOUNTS), st.data())
def test_decodes_or_refuses_changed_mints_and_token_accounts(account: Account, draws: Any) -> None:
    at = draws.draw(st.integers(0, max(0, len(account.data) - 1)))
    cut = draws.draw(st.integers(0, len(account.data)))
    changed = account.data[:at] + draws.draw(st.binary(max_size=3)) + account.data[at + 1 : cut]
    mint = decode_mint(account._replace(data=changed))
    held = decode_token_account(account._replace(data=changed))
    assert mint is None or 0 <= mint.decimals <= 255
    assert held is None or 0 <= held.amount < 2**64


@given(st.text())
def test_leaves_cleaned_text_unchanged_when_it_is_cleaned_again(text: str) -> None:
    assert clean_text(clean_text(text)) == clean_text(text)


@given(st.one_of(st.text(), st.sampled_from(["0", "5", "-1", "1e9", "NaN", "inf", "9" * 400])))
def test_reads_a_finite_wait_or_none_from_any_retry_after_header(value: str) -> None:
    wait = asked_wait({"retry-after": value}.get, 1_700_000_000_000)
    assert wait is None or (wait >= 0 and math.isfinite(wait))


STATUS: Any = {"slot": 1, "confirmations": 3, "err": None, "confirmationStatus": "confirmed"}
LANDED: Any = {
    "slot": 1,
    "meta": {"err": None, "fee": 5_000, "preBalances": [], "postBalances": []},
    "transaction": {"signatures": [], "message": {"accountKeys": []}},
}
ACCOUNT: Any = {"owner": "1" * 32, "lamports": 1, "data": ["", "base64"], "executable": False}


@pytest.mark.parametrize(
    ("read", "answer"),
    [
        (read_status, {**STATUS, "err": ...}),
        (read_status, {**STATUS, "confirmations": ..., "confirmationStatus": ...}),
        (read_status, {**STATUS, "confirmationStatus": "seen"}),
        (read_landed, {**LANDED, "meta": {**LANDED["meta"], "err": ...}}),
        (read_account, {**ACCOUNT, "executable": ...}),
        (read_account, {**ACCOUNT, "data": ["AB==", "base64"]}),
    ],
)
def test_refuses_an_answer_of_a_node_that_omits_what_counts(read: Any, answer: Any) -> None:
    with pytest.raises(Exception) as caught:
        read(without_gaps(answer))
    error = caught.value
    assert (error if isinstance(error, Fault) else explain(error)).kind == "invalid"


def without_gaps(answer: Any) -> Any:
    """Leaves out the fields with ``...``."""
    if not is_record(answer):
        return answer
    return {name: without_gaps(field) for name, field in answer.items() if field is not ...}


def test_reads_the_instruction_of_any_failed_simulation() -> None:
    simulation: Any = SimpleNamespace(error='{"InstructionError":[%s,1]}' % ("9" * 5_000))
    assert is_guard_failure(simulation, 3)
