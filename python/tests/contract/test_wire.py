from __future__ import annotations

from typing import Any

from exact_change import webhooks
from exact_change._base.names import camel_keys
from exact_change._transport.remote import _query
from exact_change._wire.answers import (
    balances_of,
    parsed_of,
    quote_json,
    quote_of,
    result_of,
    swap_of,
)
from exact_change._wire.messages import AUTO_PAY, BALANCE, BUILD_SWAP, PARSE_PAYMENT, QUOTE
from exact_change._wire.problem import error_of
from exact_change._wire.schema import Misfit
from exact_change.errors import ExactChangeError

from ..spec import of, vectors

OPERATIONS = {
    "quote": (QUOTE, quote_of),
    "buildSwap": (BUILD_SWAP, swap_of),
    "balance": (BALANCE, balances_of),
    "parsePayment": (PARSE_PAYMENT, parsed_of),
    "autoPay": (AUTO_PAY, result_of),
}


def test_reads_answers_of_a_service_as_typescript_does() -> None:
    for row in of("operations", "answer"):
        operation, convert = OPERATIONS[row["operation"]]
        try:
            read = operation.response(row["in"])
        except Misfit as misfit:
            assert misfit.path == row["out"].get("field"), row
            continue
        assert read == row["out"].get("value"), row
        assert convert(read) is not None
        if operation is QUOTE:
            assert quote_json(quote_of(read)) == read


def test_writes_queries_as_typescript_does() -> None:
    for row in of("operations", "query"):
        assert _query(row["in"]) == row["out"]


def test_maps_problems_of_a_service_to_the_errors_of_typescript() -> None:
    for row in vectors("problems"):
        error = error_of(row["in"], sent=row["sent"])
        shown = camel_keys(error.to_dict())
        shown["message"] = shown["message"].replace("untrusted['detail']", "untrusted.detail")
        assert shown == row["out"], row


def test_accepts_and_refuses_webhooks_as_typescript_does() -> None:
    names = {"toleranceSeconds": "tolerance_seconds"}
    for row in vectors("webhooks"):
        options: dict[str, Any] = {
            names.get(name, name): value for name, value in row["in"].items()
        }
        try:
            event = webhooks.verify(**options)
        except ExactChangeError as error:
            assert error.code == row.get("refused"), (error, row)
            assert str(error).replace("tolerance_seconds", "toleranceSeconds") == row["message"]
            continue
        assert event._asdict() == row.get("out"), row
