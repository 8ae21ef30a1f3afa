"""Nodes that fail, where they are needed and where they are not."""

from __future__ import annotations

import socket
from typing import Any, Iterator
from urllib.parse import urlsplit

import pytest

from exact_change import ExactChangeError, receipt_of

from ..conftest import MakePayer
from ..node import Sandbox
from ..payer import Payer, failure_of

# What a call with a swap asks of the node before it signs anything.
METHODS = [
    "getGenesisHash",
    "getMultipleAccounts",
    "getTokenAccountsByOwner",
    "getLatestBlockhash",
    "getMinimumBalanceForRentExemption",
    "simulateTransaction",
]
TIMEOUT_MS = 500
KINDS: list[tuple[dict[str, Any], str]] = [
    ({"kind": "status", "status": 500}, "rpc_unavailable"),
    ({"kind": "status", "status": 503, "body": "<html>upstream</html>"}, "rpc_unavailable"),
    ({"kind": "rateLimited"}, "rate_limited"),
    ({"kind": "rateLimited", "retryAfter": 7}, "rate_limited"),
    ({"kind": "garbage"}, "invalid_response"),
    ({"kind": "hang"}, "timeout"),
    ({"kind": "dropBefore"}, "rpc_unavailable"),
    ({"kind": "error", "code": -32016, "message": "Minimum context slot"}, "rpc_unavailable"),
    ({"kind": "error", "code": -32429, "message": "Too many requests"}, "rate_limited"),
    ({"kind": "error", "code": -32601, "message": "Method not found"}, "rpc_unavailable"),
]
# Each fault of one method, and each method with one fault, in turn.
FAULTS = [(METHODS[at % len(METHODS)], *kind) for at, kind in enumerate(KINDS)]


@pytest.fixture
def swapper(make_payer: MakePayer) -> Payer:
    """A client that has to swap."""
    timeouts = {"rpc": TIMEOUT_MS}
    return make_payer(SOL="0.05", BONK="5000000", auto_swap=True, timeouts=timeouts)


def untouched(payer: Payer, error: ExactChangeError) -> None:
    """Nothing was signed, nothing is held against the budget."""
    assert (error.funds, error.moved, payer.signed, payer.used) == ("untouched", (), [], "0")


@pytest.mark.parametrize(("method", "fault", "code"), FAULTS)
def test_a_node_that_fails_is_a_typed_error(
    method: str, fault: dict[str, Any], code: str, sandbox: Sandbox, swapper: Payer
) -> None:
    sandbox.call("node.fault", method, fault)
    error = failure_of(lambda: swapper.client.get(f"{sandbox.api_url}/usdc"), code)
    assert (type(error).__name__, error.retry) == ("TransportError", "fresh")
    assert method in str(error) and "rpc_url" in str(error)
    assert f"The RPC node ({urlsplit(sandbox.rpc_url).netloc})" in str(error)
    assert error.response.status_code == 402
    if code == "rate_limited":
        after = 7_000 if "retryAfter" in fault else 1_000
        assert error.details == {"retry_after_ms": after}
    elif code == "timeout":
        assert error.details == {"step": method, "timeout_ms": TIMEOUT_MS}
    elif code == "rpc_unavailable":
        assert error.details == {"method": method}
    # What the node says may be any party's words.
    assert str(fault.get("message", "\0")) not in str(error)
    untouched(swapper, error)


@pytest.mark.parametrize("method", METHODS)
def test_a_node_that_fails_once_is_asked_again(
    method: str, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(SOL="0.05", BONK="5000000", auto_swap=True)
    sandbox.call("node.fault", method, {"kind": "status", "status": 500, "times": 1})
    assert payer.client.get(f"{sandbox.api_url}/usdc").status_code == 200


def test_a_node_that_failed_works_once_it_is_back(
    sandbox: Sandbox, swapper: Payer, make_payer: MakePayer
) -> None:
    url = f"{sandbox.api_url}/usdc"
    sandbox.call("node.fault", "simulateTransaction", {"kind": "rateLimited", "retryAfter": 60})
    untouched(swapper, failure_of(lambda: swapper.client.get(url), "rate_limited"))
    sandbox.call("node.clearFaults")
    assert make_payer(swapper.wallet, auto_swap=True).client.get(url).status_code == 200
    assert swapper.used != "0"


@pytest.fixture
def gone() -> str:
    """The address of nobody."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{one.getsockname()[1]}"


@pytest.fixture
def mute() -> Iterator[str]:
    """Takes connections and never says a word."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen(64)
        yield f"http://127.0.0.1:{one.getsockname()[1]}"


def test_no_node_at_all(sandbox: Sandbox, make_payer: MakePayer, gone: str, mute: str) -> None:
    url, timeouts = f"{sandbox.api_url}/usdc", {"rpc": TIMEOUT_MS}
    refused = make_payer(USDC="1", rpc_url=gone, timeouts=timeouts)
    error = failure_of(lambda: refused.client.get(url), "rpc_unavailable")
    assert error.details == {"method": "getGenesisHash"} and error.__cause__ is not None
    silent = make_payer(USDC="1", rpc_url=[gone, mute], timeouts=timeouts)
    for work in (
        lambda: silent.client.get(url),
        lambda: silent.client.plan(url),
        lambda: silent.client.balance("USDC"),
        lambda: silent.client.swap(input_mint="USDC", output_mint="BONK", amount=1_000),
        silent.client.warm,
    ):
        untouched(silent, failure_of(work, "timeout"))


def test_a_node_that_works_takes_over(
    sandbox: Sandbox, make_payer: MakePayer, gone: str, mute: str
) -> None:
    urls = [gone, mute, sandbox.rpc_url]
    payer = make_payer(USDC="1", rpc_url=urls, timeouts={"rpc": TIMEOUT_MS})
    assert payer.client.get(f"{sandbox.api_url}/usdc").status_code == 200


@pytest.mark.parametrize("method", ["getRecentPrioritizationFees", "getTransaction"])
def test_a_node_that_fails_where_it_is_not_needed(
    method: str, sandbox: Sandbox, swapper: Payer
) -> None:
    sandbox.call("node.fault", method, {"kind": "status", "status": 500, "times": 30})
    receipt = receipt_of(swapper.client.get(f"{sandbox.api_url}/usdc"))
    assert receipt is not None and receipt.swap is not None
    assert swapper.held() == int(receipt.swap.out_amount) - 10_000
    warnings = [one for one in swapper.events if one.type == "warning"]
    assert bool(warnings) == (method == "getTransaction")


def test_a_lost_answer_to_a_sent_swap_counts_once(sandbox: Sandbox, swapper: Payer) -> None:
    sandbox.call("node.fault", "sendTransaction", {"kind": "dropAfter", "times": 1})
    assert swapper.client.get(f"{sandbox.api_url}/usdc").status_code == 200
    assert swapper.signed == ["swap", "payment"]


@pytest.mark.parametrize("fault", [{"kind": "neverLands"}, {"kind": "status", "status": 500}])
def test_a_swap_that_never_lands_expires_and_nothing_is_gone(
    fault: dict[str, Any], sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(SOL="0.05", BONK="5000000", auto_swap=True)
    url = f"{sandbox.api_url}/usdc"
    payer.client.on("swap.signed", lambda _: sandbox.call("node.warp"))
    sandbox.call("node.fault", "sendTransaction", fault)
    before = payer.held("SOL"), payer.held("BONK")
    error = failure_of(lambda: payer.client.get(url), "swap_expired")
    assert (error.funds, error.moved, error.retry) == ("untouched", (), "fresh")
    assert payer.signed == ["swap", "swap"]
    assert (payer.held("SOL"), payer.held("BONK"), payer.used) == (*before, "0")
    sandbox.call("node.clearFaults")
    assert make_payer(payer.wallet, auto_swap=True).client.get(url).status_code == 200


def test_a_swap_that_no_node_can_tell_about_is_uncertain(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(SOL="0.05", BONK="5000000", auto_swap=True)
    sandbox.call("node.fault", "getSignatureStatuses", {"kind": "status", "status": 500})
    payer.client.on("swap.signed", lambda _: payer.client.close())
    error = failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), "swap_uncertain")
    assert (error.funds, error.moved, error.retry) == ("uncertain", (), "never")
    assert str(error.details["last_valid_block_height"]) in str(error)
    assert payer.signed == ["swap"]
