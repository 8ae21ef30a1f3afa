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


def test_answers_of_a_service_are_read_as_in_typescript() -> None:
    for row in of("operations", "answer"):
        operation, taken = OPERATIONS[row["operation"]]
        try:
            read = operation.response(row["in"])
        except Misfit as misfit:
            assert misfit.path == row["out"].get("field"), row
            continue
        assert read == row["out"].get("value"), row
        assert taken(read) is not None
        if operation is QUOTE:
            assert quote_json(quote_of(read)) == read


def test_queries_are_written_as_in_typescript() -> None:
    for row in of("operations", "query"):
        assert _query(row["in"]) == row["out"]


def test_problems_of_a_service_become_the_errors_that_they_are_in_typescript() -> None:
    for row in vectors("problems"):
        error = error_of(row["in"], is_sent=row["sent"])
        said = camel_keys(error.to_dict())
        said["message"] = said["message"].replace("untrusted['detail']", "untrusted.detail")
        assert said == row["out"], row


def test_webhooks_are_taken_and_refused_as_in_typescript() -> None:
    names = {"toleranceSeconds": "tolerance_seconds"}
    for row in vectors("webhooks"):
        given: dict[str, Any] = {names.get(name, name): one for name, one in row["in"].items()}
        try:
            event = webhooks.verify(**given)
        except ExactChangeError as error:
            assert error.code == row.get("refused"), (error, row)
            assert str(error).replace("tolerance_seconds", "toleranceSeconds") == row["message"]
            continue
        assert event._asdict() == row.get("out"), row
