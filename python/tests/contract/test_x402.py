from __future__ import annotations

import hashlib
from typing import Any

import pytest

from exact_change._base.headers import Headers
from exact_change._base.js import stringify
from exact_change._base.network import SOLANA_MAINNET
from exact_change._payments.fingerprint import fingerprint_of
from exact_change._solana.message import assemble_transaction
from exact_change._x402.exact import build_exact_payment
from exact_change._x402.header import decode_header, encode_header
from exact_change._x402.offers import judge_offers
from exact_change._x402.parse import parse_payment_required
from exact_change._x402.payload import attach_payment, check_header, transaction_in
from exact_change._x402.self_check import check_own_payment
from exact_change._x402.settlement import read_settlement, rejection_reason
from exact_change._x402.types import Offer, PaymentFacts
from exact_change.errors import ExactChangeError

from ..spec import data, of, plain, vectors


def test_encodes_and_decodes_headers_as_typescript_does() -> None:
    for row in of("headers", "encode"):
        assert encode_header(row["in"]) == row["out"]
    for row in of("headers", "decode"):
        read = decode_header(row["in"])
        assert (None if read is None else stringify(read)) == row["out"], row["in"]


def test_reads_the_settlement_answer_of_a_seller_as_typescript_does() -> None:
    for row in of("headers", "settlement"):
        headers = Headers(row["in"].items())
        settlement = read_settlement(headers)
        read = None if settlement is None else plain(settlement)
        out = {"settlement": read, "reason": rejection_reason(headers)}
        assert out == row["out"], row


def payment_of(row: dict[str, Any]) -> tuple[Any, PaymentFacts]:
    terms = parse_payment_required(body=row["body"])
    assert terms is not None
    (offer,) = judge_offers(terms, SOLANA_MAINNET, row["payer"]).readings
    assert isinstance(offer, Offer)
    names = ("payer", "source", "destination", "tokenProgram", "decimals", "blockhash")
    facts = [offer, *(row[name] for name in names), data(row["nonce"]), int(row["price"])]
    return terms, PaymentFacts._make(facts)


def test_builds_payments_byte_for_byte_as_typescript_does() -> None:
    for row in vectors("payments"):
        terms, facts = payment_of(row)
        built = build_exact_payment(facts)
        assert (built.message, built.memo) == (data(row["message"]), row.get("memo"))
        signed = assemble_transaction(built.message, {facts.payer: data(row["signature"])})
        try:
            check_header(terms, facts.offer)
            header, has_id = attach_payment(terms, facts.offer, signed, data(row["random"]))
        except ExactChangeError as error:
            assert error.code == row["refused"]
            continue
        shown = {
            "name": header.name,
            "sha256": hashlib.sha256(header.value.encode()).hexdigest(),
        }
        assert (shown, has_id) == (row["header"], row["hasId"])
        assert transaction_in(header) == signed


STRANGER = "GyGKxMyg1p9SsHfm15MkNUu1u9TN2JtTspcdmrtGUdse"


def refused(message: bytes, facts: PaymentFacts) -> bool:
    with pytest.raises(ExactChangeError) as error:
        check_own_payment(message, facts)
    return error.value.code == "self_check_failed"


def test_fails_the_self_check_when_any_byte_of_a_payment_differs() -> None:
    for row in vectors("payments")[:8]:
        message, (_, facts) = data(row["message"]), payment_of(row)
        check_own_payment(message, facts)
        for at in range(len(message)):
            assert refused(message[:at] + bytes((message[at] ^ 1,)) + message[at + 1 :], facts), at
        assert refused(message[:-1], facts) and refused(message + b"\0", facts)


def test_fails_the_self_check_when_source_or_destination_is_another_account() -> None:
    """The check fails even though the build matches these facts."""
    for row in vectors("payments")[:8]:
        _, facts = payment_of(row)
        for name in ("source", "destination"):
            replaced: Any = {name: STRANGER}
            with pytest.raises(ExactChangeError) as error:
                build_exact_payment(facts._replace(**replaced))
            assert error.value.code == "self_check_failed"


def test_fingerprints_requests_as_typescript_does() -> None:
    for row in vectors("fingerprints"):
        headers = Headers([("Content-Type", row["type"])] if "type" in row else [])
        body = row.get("body", "").encode()
        assert fingerprint_of(row["method"], row["url"], headers, body) == row["out"], row
