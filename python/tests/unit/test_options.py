"""Invalid amounts and options, which the constructor of a client refuses."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.keypair import Keypair

from exact_change import Client, ConfigError, HTTPInterceptor
from exact_change._base.amounts import (
    U64_MAX,
    format_ui_amount,
    parse_amount,
    parse_ui_amount,
    to_amount,
)
from exact_change._config.options import Timeouts

KEY = str(Keypair.from_seed(bytes(32)))
PERIOD: Any = ["day"]
INVALID_AMOUNTS: list[Any] = [
    *(float("nan"), float("inf"), 1.0, True, False, Decimal(1), b"1", None, [], -1, U64_MAX + 1),
    *("", " 1", "1 ", "1\n", "+1", "-1", "01", "1_000", "1e3", "0x1", "1.0", "\u0661", "\uff11"),
    *("NaN", "1,000", str(U64_MAX + 1), "9" * 5_000),
]


@pytest.mark.parametrize("value", INVALID_AMOUNTS, ids=lambda value: repr(value)[:20])
def test_refuses_a_value_that_is_no_amount(value: Any) -> None:
    assert to_amount(value) is None
    with pytest.raises(ConfigError) as caught:
        Client(wallet_secret_key=KEY, policy={"max_amount": {"USDC": value}})
    assert caught.value.code == "invalid_option"
    assert "must be base units as an int or a whole number as text." in str(caught.value)


@pytest.mark.parametrize(
    "value", [amount for amount in INVALID_AMOUNTS if amount not in (None, "1.0", str(U64_MAX + 1))]
)
def test_refuses_a_value_that_is_no_dollar_amount(value: Any) -> None:
    with pytest.raises(ConfigError):
        Client(wallet_secret_key=KEY, policy={"max_per_payment": value})


@given(st.integers(0, U64_MAX), st.integers(0, 18))
def test_reads_back_every_amount_that_it_writes(amount: int, decimals: int) -> None:
    assert parse_amount(str(amount)) == to_amount(amount) == amount
    assert parse_ui_amount(format_ui_amount(amount, decimals), decimals) == amount


@given(st.text())
def test_reads_an_amount_only_in_its_one_spelling(text: str) -> None:
    amount = parse_amount(text)
    assert amount is None or str(amount) == text


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"policy": {"max_per_dya": "1"}}, "Did you mean policy.max_per_day"),
        ({"autoSwap": True}, "Did you mean auto_swap"),
        ({"max_per_day": "1"}, "Did you mean policy.max_per_day?"),
        ({"maxPerDay": "1"}, "Did you mean policy.max_per_day?"),
        ({"policy": {"max_per_day": None}}, "policy.max_per_day must be US dollars"),
        ({"policy": {"maxPriceImpactBps": 1}}, "Did you mean policy.max_price_impact_bps"),
        ({"auto_swap": 1}, "must be True or False"),
        ({"journal": "payments.jsonl"}, "must be made by file_journal"),
        ({"retries": True}, "must be a whole number"),
        ({"rpc_url": "ftp://node.example.com"}, "rpc_url"),
        ({"timeouts": {"rpc": float("nan")}}, "must be milliseconds"),
        *(
            ({"timeouts": {name: 0}}, f"timeouts.{name} must be milliseconds from 1 to 2147483647.")
            for name in Timeouts._fields
        ),
        ({"timeouts": {"payment": 0.9}}, "Leave it out for the default."),
        ({"retry_window": -1}, "must be milliseconds from 0 to 2147483647."),
        ({"network": "base"}, "must be mainnet"),
        ({"http_transport": 5}, "that has handle_request"),
        ({"http_transport": httpx.AsyncHTTPTransport()}, "that has handle_request"),
    ],
)
def test_names_the_wrong_option_in_the_error(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Client(wallet_secret_key=KEY, **options)
    assert caught.value.code == "invalid_option" and says in str(caught.value)


def test_refuses_a_period_of_a_limit_that_is_no_text() -> None:
    with pytest.raises(ConfigError) as caught:
        Client(wallet_secret_key=KEY, policy={"limits": [{"usd": "1", "per": PERIOD}]})
    assert caught.value.details["option"] == "policy.limits[0].per"


@pytest.mark.parametrize("install", ["false", 0, 1, None])
def test_refuses_option_install_that_is_no_switch_and_installs_nothing(install: Any) -> None:
    before = httpx.HTTPTransport.handle_request
    with pytest.raises(ConfigError) as caught:
        HTTPInterceptor(wallet_secret_key=KEY, install=install)
    assert caught.value.details["option"] == "install"
    assert httpx.HTTPTransport.handle_request is before


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("paymnt.settled", "Event paymnt.settled is not known. Did you mean payment.settled?"),
        ("error", "Event error is not known. Use one of *, payment.required, "),
    ],
)
def test_refuses_a_listener_to_an_event_that_does_not_exist(name: Any, says: str) -> None:
    with Client(wallet_secret_key=KEY) as client, pytest.raises(ConfigError) as caught:
        client.on(name, lambda _: None)
    assert caught.value.code == "invalid_option" and says in str(caught.value)
