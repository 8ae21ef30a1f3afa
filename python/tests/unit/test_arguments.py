"""Arguments of calls that have no meaning, or another meaning at the next call."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from solders.keypair import Keypair

from exact_change import Client, ConfigError, Service

from ..payer import failure_of

KEY = str(Keypair.from_seed(bytes(32)))
# Nothing listens there.
NOWHERE = "http://127.0.0.1:9"


@pytest.mark.parametrize("mint", [5, ["USDC", 5], b"USDC", {"USDC": 1}, object()])
def test_refuses_a_balance_of_what_is_no_mint(mint: Any) -> None:
    with Client(wallet_secret_key=KEY, rpc_url=NOWHERE) as client:
        with pytest.raises(ConfigError) as caught:
            client.balance(mint)
    assert caught.value.code == "invalid_option" and "mint" in caught.value.details["option"]


@pytest.mark.parametrize("mint", [0, 5, ["USDC", 5], b"USDC", {"USDC": 1}])
def test_asks_a_service_for_no_balance_of_what_is_no_mint(mint: Any) -> None:
    with Service(NOWHERE) as service:
        with pytest.raises(ConfigError) as caught:
            service.balance(str(Keypair.from_seed(bytes(32)).pubkey()), mint)
    assert caught.value.details["option"] == "mint"


@pytest.mark.parametrize("timeout", [0, 0.000_9, -1, 2**31, float("inf"), True, "30", None])
def test_refuses_a_time_limit_of_a_service_that_is_no_seconds(timeout: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        Service(NOWHERE, timeout=timeout)
    assert str(caught.value) == (
        "Option timeout must be seconds from 0.001 to 2147483. Leave it out for the default."
    )


@pytest.mark.parametrize("timeout", [0.001, 1, 2_147_483])
def test_takes_a_time_limit_of_a_service_in_seconds(timeout: float) -> None:
    Service(NOWHERE, timeout=timeout).close()


@pytest.mark.parametrize("key", ["", 0, 5, 5.0, False, b"order"])
def test_refuses_an_idempotency_key_that_is_no_text_or_empty(key: Any) -> None:
    """It would count as no key: a retry would be a second purchase."""
    with Client(wallet_secret_key=KEY, rpc_url=NOWHERE) as client:
        with pytest.raises(ConfigError) as caught:
            client.get(NOWHERE, idempotency_key=key)
    assert caught.value.details == {"option": "idempotency_key"}


@pytest.mark.parametrize("terms", [None, "{}", b"{}", [], object()])
def test_refuses_to_pay_for_what_has_no_terms(terms: Any) -> None:
    with Client(wallet_secret_key=KEY, rpc_url=NOWHERE) as client:
        failure_of(lambda: client.pay(terms), "malformed_payment_required")


@pytest.mark.parametrize("repeatable", ["false", "", 0, 1, None])
def test_refuses_a_repeatable_that_is_neither_true_nor_false(repeatable: Any) -> None:
    with Client(wallet_secret_key=KEY, rpc_url=NOWHERE) as client:
        with pytest.raises(ConfigError) as caught:
            client.get(NOWHERE, repeatable=repeatable)
    assert caught.value.details == {"option": "repeatable"}


WALLET = str(Keypair.from_seed(bytes(32)).pubkey())


@pytest.mark.parametrize("terms", [None, "{}", 5, object(), {"status": 402, "body": b"{}"}])
def test_asks_a_service_about_nothing_that_is_no_402(terms: Any) -> None:
    with Service(NOWHERE) as service:
        failure_of(lambda: service.parse_payment(terms), "invalid_option")
        failure_of(lambda: service.auto_pay(terms, WALLET), "invalid_option")


@pytest.mark.parametrize("quote", [None, {}, "quote"])
def test_asks_a_service_to_build_nothing_but_a_quote(quote: Any) -> None:
    with Service(NOWHERE) as service:
        failure_of(lambda: service.build_swap(WALLET, quote), "invalid_option")


@pytest.mark.parametrize(
    "wrong",
    [
        {"api_key": 5},
        {"api_key": "cl\xe9"},
        {"headers": ["x"]},
        {"headers": {"x": 5}},
        {"headers": {"x": "a\nb"}},
        {"headers": {"x": " a"}},
        {"headers": {"a b": "c"}},
    ],
)
def test_refuses_keys_and_headers_that_no_request_can_carry(wrong: Any) -> None:
    failure_of(lambda: Service(NOWHERE, **wrong), "invalid_option")


def test_takes_a_key_that_was_read_with_its_end_of_line() -> None:
    Service(NOWHERE, api_key="key-0123456789\n", headers={"x-team": "a b", "x-none": ""}).close()


@pytest.mark.parametrize("given", ["order", {"idempotencyKey": "order"}])
def test_refuses_an_extension_that_would_lose_its_key(given: Any) -> None:
    with Client(wallet_secret_key=KEY, rpc_url=NOWHERE) as client:
        with httpx.Client(transport=client.transport()) as http:
            with pytest.raises(ConfigError):
                http.get(NOWHERE, extensions={"exact_change": given})
