"""The evidence of nodes that a client needs before it treats a payment as never landed."""

from __future__ import annotations

import base64
import json
from typing import Any, Callable, Iterator, Mapping

import pytest

from ..conftest import MakePayer, MakeSeller
from ..node import Sandbox
from ..payer import PRICE, Payer, failure_of
from ..proxy import Proxy
from ..seller import Reply, Seen, offer, settle, terms

HELD = 1_000_000


class Hiding(Proxy):
    """A node that hides some transactions, and optionally the balance change of a payment."""

    def __init__(self, upstream: str) -> None:
        super().__init__(upstream)
        self.hidden: set[str] = set()
        self.hides_balance = False
        # Further changed results by method: functions of the parameters and the honest result.
        self.changes: Mapping[str, Callable[[Any, Any], Any]] = {}
        self.lies["/"] = self._lie

    def _lie(self, answer: Any, seen: Seen) -> Any:
        call, result = json.loads(seen.body), answer.get("result")
        method, params = call["method"], call.get("params", [])
        if method == "getSignaturesForAddress":
            answer["result"] = [entry for entry in result if entry["signature"] not in self.hidden]
        elif method == "getTransaction" and params[0] in self.hidden:
            answer["result"] = None
        elif method == "getSignatureStatuses":
            known = zip(params[0], result["value"])
            result["value"] = [None if id_ in self.hidden else status for id_, status in known]
        elif method == "getMultipleAccounts" and self.hides_balance:
            for account in result["value"]:
                raw = base64.b64decode(account["data"][0] if account else "")
                if raw[64:72] == (HELD - PRICE).to_bytes(8, "little"):
                    raw = raw[:64] + HELD.to_bytes(8, "little") + raw[72:]
                    account["data"][0] = base64.b64encode(raw).decode()
        if method in self.changes:
            answer["result"] = self.changes[method](params, answer["result"])
        return answer


@pytest.fixture
def hiding(sandbox: Sandbox) -> Iterator[Hiding]:
    proxy = Hiding(sandbox.rpc_url)
    yield proxy
    proxy.close()


def lose_payment(
    payer: Payer,
    hiding: Hiding,
    sandbox: Sandbox,
    make_seller: MakeSeller,
    changes: Mapping[str, Callable[[Any, Any], Any]] = {},
) -> tuple[str, dict[str, Any]]:
    """Pays a seller that settles and cuts the connection, and lets the payment expire."""

    def answer(seen: Seen) -> Reply | None:
        if not seen.is_paid:
            return terms(offer(sandbox))
        hiding.hidden.add(settle(sandbox, seen, offer(sandbox))["transaction"])
        return None

    url = make_seller(answer).url
    error = failure_of(lambda: payer.client.post(url), "payment_uncertain")
    hiding.changes = changes
    sandbox.call("node.warp")
    return url, dict(error.details)


def signature_of_repeat(payer: Payer, url: str, code: str) -> object:
    """Returns the signature of the earlier payment in the error of a repeated call."""
    return failure_of(lambda: payer.client.post(url), code).details["payer_signature"]


def test_keeps_a_payment_uncertain_when_only_the_history_lacks_it(
    sandbox: Sandbox, hiding: Hiding, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1", rpc_url=hiding.url)
    url, details = lose_payment(payer, hiding, sandbox, make_seller)
    assert signature_of_repeat(payer, url, "payment_uncertain") == details["payer_signature"]
    assert (payer.signed, payer.held(), payer.used) == (["payment"], HELD - PRICE, "0.01")


@pytest.mark.parametrize("is_first", [True, False])
def test_finds_a_settled_payment_when_one_of_two_nodes_hides_it(
    is_first: bool,
    sandbox: Sandbox,
    hiding: Hiding,
    make_payer: MakePayer,
    make_seller: MakeSeller,
) -> None:
    hiding.hides_balance = True
    nodes = [hiding.url, sandbox.rpc_url]
    payer = make_payer(USDC="1", rpc_url=nodes if is_first else nodes[::-1])
    url, details = lose_payment(payer, hiding, sandbox, make_seller)
    assert signature_of_repeat(payer, url, "already_spent") == details["payer_signature"]
    assert (payer.signed, payer.held(), payer.used) == (["payment"], HELD - PRICE, "0.01")


def test_trusts_the_only_node_when_it_hides_a_payment_consistently(
    sandbox: Sandbox, hiding: Hiding, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    """Proves that the node of the tests above hides payments consistently."""
    hiding.hides_balance = True
    payer = make_payer(USDC="1", rpc_url=hiding.url)
    url, _ = lose_payment(payer, hiding, sandbox, make_seller)
    failure_of(lambda: payer.client.post(url), "payment_uncertain")
    assert payer.signed == ["payment"] * 2


VOTES = "Vote111111111111111111111111111111111111111"
USDC = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"


DOUBTS: dict[str, Mapping[str, Callable[[Any, Any], Any]]] = {
    "the history begins later": {"getFirstAvailableBlock": lambda _, true: true + 10**9},
    "the node is behind the blockhash": {
        "getEpochInfo": lambda _, true: {**true, "absoluteSlot": 1}
    },
    "the index of busy addresses is empty": {
        "getSignaturesForAddress": lambda params, true: [] if params[0] in (VOTES, USDC) else true
    },
}


@pytest.mark.parametrize("doubt", list(DOUBTS))
def test_distrusts_a_node_if(
    doubt: str,
    sandbox: Sandbox,
    hiding: Hiding,
    make_payer: MakePayer,
    make_seller: MakeSeller,
) -> None:
    hiding.hides_balance = True
    payer = make_payer(USDC="1", rpc_url=hiding.url)
    url, details = lose_payment(payer, hiding, sandbox, make_seller, DOUBTS[doubt])
    assert signature_of_repeat(payer, url, "payment_uncertain") == details["payer_signature"]
    assert payer.signed == ["payment"]
