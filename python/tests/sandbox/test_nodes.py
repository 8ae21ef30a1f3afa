"""Failing nodes, in required calls and in optional calls."""

from __future__ import annotations

import socket
from typing import Any, Iterator
from urllib.parse import urlsplit

import pytest

from exact_change import ExactChangeError, receipt_of

from ..conftest import MakePayer
from ..node import Sandbox
from ..payer import Payer, failure_of

# Node calls of a payment with a swap before its first signature.
METHODS = [
    "getGenesisHash",
    "getMultipleAccounts",
    "getTokenAccountsByOwner",
    "getLatestBlockhash",
    "getMinimumBalanceForRentExemption",
    "simulateTransaction",
]
TIMEOUT_MS = 3_000
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
# Pairs each fault with one method, in turn.
FAULTS = [(METHODS[at % len(METHODS)], *kind) for at, kind in enumerate(KINDS)]


@pytest.fixture
def swapper(make_payer: MakePayer) -> Payer:
    """A client that must swap to pay."""
    return make_payer(SOL="0.05", BONK="5000000", auto_swap=True)


def untouched(payer: Payer, error: ExactChangeError) -> None:
    """Asserts that nothing was signed and nothing is reserved in the budget."""
    assert (error.funds, error.moved, payer.signed, payer.used) == ("untouched", (), [], "0")


@pytest.mark.parametrize(("method", "fault", "code"), FAULTS)
def test_raises_a_typed_error_when_a_node_fails(
    method: str, fault: dict[str, Any], code: str, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    # Only a node that never answers meets the limit; other calls must end before it.
    timeouts = {"rpc": TIMEOUT_MS} if code == "timeout" else {}
    swapper = make_payer(SOL="0.05", BONK="5000000", auto_swap=True, timeouts=timeouts)
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
    # The message of a node is foreign text, so the error must not quote it.
    assert str(fault.get("message", "\0")) not in str(error)
    untouched(swapper, error)


@pytest.mark.parametrize("method", METHODS)
def test_repeats_a_call_when_a_node_fails_once(
    method: str, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(SOL="0.05", BONK="5000000", auto_swap=True)
    sandbox.call("node.fault", method, {"kind": "status", "status": 500, "times": 1})
    assert payer.client.get(f"{sandbox.api_url}/usdc").status_code == 200


def test_pays_when_a_failed_node_works_again(
    sandbox: Sandbox, swapper: Payer, make_payer: MakePayer
) -> None:
    url = f"{sandbox.api_url}/usdc"
    sandbox.call("node.fault", "simulateTransaction", {"kind": "rateLimited", "retryAfter": 60})
    untouched(swapper, failure_of(lambda: swapper.client.get(url), "rate_limited"))
    sandbox.call("node.clearFaults")
    assert make_payer(swapper.wallet, auto_swap=True).client.get(url).status_code == 200
    assert swapper.used != "0"


@pytest.fixture
def closed_url() -> Iterator[str]:
    """URL of a port that refuses connections, and that no other process gets meanwhile."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def silent_url() -> Iterator[str]:
    """URL of a port that accepts connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_leaves_funds_untouched_when_no_node_answers(
    sandbox: Sandbox, make_payer: MakePayer, closed_url: str, silent_url: str
) -> None:
    url = f"{sandbox.api_url}/usdc"
    refused = make_payer(USDC="1", rpc_url=closed_url)
    error = failure_of(lambda: refused.client.get(url), "rpc_unavailable")
    assert error.details == {"method": "getGenesisHash"} and error.__cause__ is not None
    silent = make_payer(USDC="1", rpc_url=[closed_url, silent_url], timeouts={"rpc": 500})
    for work in (
        lambda: silent.client.get(url),
        lambda: silent.client.plan(url),
        lambda: silent.client.balance("USDC"),
        lambda: silent.client.swap(input_mint="USDC", output_mint="BONK", amount=1_000),
        silent.client.warm,
    ):
        untouched(silent, failure_of(work, "timeout"))


def test_uses_a_working_node_when_other_nodes_fail(
    sandbox: Sandbox, make_payer: MakePayer, closed_url: str, silent_url: str
) -> None:
    urls = [closed_url, silent_url, sandbox.rpc_url]
    # Each node has a share of it: on a busy machine, the one that answers may need seconds.
    payer = make_payer(USDC="1", rpc_url=urls, timeouts={"rpc": 4 * TIMEOUT_MS})
    assert payer.client.get(f"{sandbox.api_url}/usdc").status_code == 200


@pytest.mark.parametrize("method", ["getRecentPrioritizationFees", "getTransaction"])
def test_pays_when_an_optional_node_call_fails(
    method: str, sandbox: Sandbox, swapper: Payer
) -> None:
    sandbox.call("node.fault", method, {"kind": "status", "status": 500, "times": 30})
    receipt = receipt_of(swapper.client.get(f"{sandbox.api_url}/usdc"))
    assert receipt is not None and receipt.swap is not None
    assert swapper.held() == int(receipt.swap.out_amount) - 10_000
    warnings = [event for event in swapper.events if event.type == "warning"]
    assert bool(warnings) == (method == "getTransaction")


def test_swaps_once_when_the_answer_to_a_sent_swap_is_lost(
    sandbox: Sandbox, swapper: Payer
) -> None:
    sandbox.call("node.fault", "sendTransaction", {"kind": "dropAfter", "times": 1})
    assert swapper.client.get(f"{sandbox.api_url}/usdc").status_code == 200
    assert swapper.signed == ["swap", "payment"]


@pytest.mark.parametrize("fault", [{"kind": "neverLands"}, {"kind": "status", "status": 500}])
def test_raises_swap_expired_with_untouched_funds_when_a_swap_never_lands(
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


def test_raises_swap_uncertain_when_no_node_reports_the_swap(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(SOL="0.05", BONK="5000000", auto_swap=True)
    sandbox.call("node.fault", "getSignatureStatuses", {"kind": "status", "status": 500})
    payer.client.on("swap.signed", lambda _: payer.client.close())
    error = failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), "swap_uncertain")
    assert (error.funds, error.moved, error.retry) == ("uncertain", (), "never")
    assert str(error.details["last_valid_block_height"]) in str(error)
    assert payer.signed == ["swap"]
