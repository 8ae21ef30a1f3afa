"""Odd and hostile 402s, which both languages read and judge alike."""

from __future__ import annotations

from typing import Any, Mapping

import httpx

from exact_change._base.headers import Headers
from exact_change._base.network import SOLANA_MAINNET
from exact_change._http.replies import ThreadReply
from exact_change._kernel.hosts import threads
from exact_change._payments.reading import read_terms
from exact_change._x402.offers import judge_offers
from exact_change._x402.parse import (
    Malformed,
    find_payment_required,
    parse_payment_required,
)
from exact_change._x402.types import Offer
from exact_change.errors import ExactChangeError

from ..spec import data, of, plain, vectors

# Address of the wallet that reads the terms.
PAYER = "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9"
NAMES = {"position": "index", "version": "x402Version"}


def offer_of(offer: Offer) -> dict[str, Any]:
    shown: dict[str, Any] = plain(offer._replace(raw={}))
    del shown["raw"]
    renamed = {NAMES.get(name, name): value for name, value in shown.items()}
    return {**renamed, "scheme": "exact", "amount": str(offer.amount)}


def judged(row: Mapping[str, Any]) -> Any:
    content = data(row["bytes"]) if "bytes" in row else row.get("body", "").encode()
    # Pass a stream, because httpx adds headers of its own to a ``content``.
    stream = httpx.ByteStream(content)
    # JavaScript runtimes keep a header as one byte for each character.
    headers = [(name.encode(), text.encode("latin-1")) for name, text in row["headers"].items()]
    response = httpx.Response(402, headers=headers, stream=stream)
    try:
        reply = ThreadReply(response, "https://api.example.com/", "GET")
        terms = threads.run(read_terms(reply, 60_000, None))
    except ExactChangeError as error:
        assert error.code == "malformed_payment_required"
        return {"malformed": error.details["reason"]}
    if terms is None:
        return None
    read, readings = judge_offers(terms, SOLANA_MAINNET, PAYER)
    offers = [
        {"offer": offer_of(reading)} if isinstance(reading, Offer) else reading.refusal.to_dict()
        for reading in readings
    ]
    return {"version": read.version, "offers": offers}


def test_reads_and_judges_terms_as_typescript_does() -> None:
    rows = vectors("terms")
    assert len(rows) > 500
    for row in rows:
        assert judged(row) == row["out"], row["name"]


def test_finds_terms_in_headers_as_typescript_does() -> None:
    for row in of("headers", "terms"):
        found = find_payment_required(Headers(row["in"].items()))
        out = {"malformed": found.reason} if isinstance(found, Malformed) else found
        assert out == row["out"], row


def test_takes_a_body_given_as_text_after_any_space_of_javascript() -> None:
    row = next(row for row in vectors("terms") if row["name"] == "body: v1")
    for space in ("\u3000", "\ufeff\u1680\u2003\n"):
        assert parse_payment_required(body=space + row["body"]) is not None
    # Python counts these as space too.
    assert parse_payment_required(body="\x1c" + row["body"]) is None
