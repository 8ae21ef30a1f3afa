from __future__ import annotations

import math

import pytest

from exact_change._base.amounts import ceil_div, format_ui_amount, parse_amount, parse_ui_amount
from exact_change._base.js import js_number, parse_json, stringify
from exact_change._base.redact import hide_address, hide_headers, hide_key, redact
from exact_change._base.text import clean_text
from exact_change._x402.json import read_json

from ..spec import of, vectors


def text(amount: int | None) -> str | None:
    return None if amount is None else str(amount)


def test_reads_and_writes_amounts_as_typescript_does() -> None:
    for row in of("amounts", "parseAmount"):
        assert text(parse_amount(row["in"])) == row["out"], row
    for row in of("amounts", "parseUiAmount"):
        assert text(parse_ui_amount(row["in"], row["decimals"])) == row["out"], row
    for row in of("amounts", "formatUiAmount"):
        assert format_ui_amount(int(row["in"]), row["decimals"]) == row["out"], row
    for row in of("amounts", "ceilDiv"):
        assert text(ceil_div(int(row["in"]), int(row["by"]))) == row["out"], row


def test_reads_and_echoes_strict_json_as_typescript_does() -> None:
    for row in vectors("json"):
        read = read_json(row["in"])
        if "refused" in row:
            assert read.refused == row["refused"], row["in"][:80]
        else:
            assert (read.refused, stringify(read.value)) == (None, row["out"]), row["in"][:80]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (1e-7, "1e-7"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (123456789012345680000.0, "123456789012345680000"),
        (5e-324, "5e-324"),
        (-1.5e-10, "-1.5e-10"),
        (0.1, "0.1"),
        (100000.0, "100000"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (0.000001, "0.000001"),
    ],
)
def test_writes_a_number_as_javascript_does(value: float, written: str) -> None:
    assert js_number(value) == written
    assert float(written) == value


def test_reads_the_bytes_of_a_body_as_javascript_does() -> None:
    assert parse_json(b'\xef\xbb\xbf{"a":"\xff"}') == {"a": "\ufffd"}
    assert parse_json(b"[%s,%s,-1]" % (b"9" * 5_000, b"9" * 309)) == [math.inf, math.inf, -1]
    for other in ('{"a":1}'.encode("utf-16"), '{"a":1}'.encode("utf-16-le"), "\ufeff{}"):
        with pytest.raises(ValueError):
            parse_json(other)


def test_cleans_foreign_text_as_typescript_does() -> None:
    for row in of("text", "cleanText"):
        assert clean_text(row["in"]) == row["out"], row


def test_hides_secrets_as_typescript_does() -> None:
    (secrets,) = of("text", "secrets")
    hide_key(secrets["in"]["key"])
    hide_address(secrets["in"]["address"])
    hide_headers(secrets["in"]["headers"])
    for row in of("text", "redact"):
        assert redact(row["in"]) == row["out"], row
