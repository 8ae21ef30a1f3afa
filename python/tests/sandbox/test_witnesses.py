"""What nodes have to agree on before a payment counts as one that never landed."""

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
    """A node that tells nothing of some transactions; nor of what they took, if it is told so."""

    def __init__(self, upstream: str) -> None:
        super().__init__(upstream)
        self.hidden: set[str] = set()
        self.hides_balance = False
        # What else it answers by method, of the parameters and what is true.
        self.others: Mapping[str, Callable[[Any, Any], Any]] = {}
        self.lies["/"] = self._lie

    def _lie(self, answer: Any, seen: Seen) -> Any:
        asked, result = json.loads(seen.body), answer.get("result")
        method, params = asked["method"], asked.get("params", [])
        if method == "getSignaturesForAddress":
            answer["result"] = [one for one in result if one["signature"] not in self.hidden]
        elif method == "getTransaction" and params[0] in self.hidden:
            answer["result"] = None
        elif method == "getSignatureStatuses":
            known = zip(params[0], result["value"])
            result["value"] = [None if id_ in self.hidden else one for id_, one in known]
        elif method == "getMultipleAccounts" and self.hides_balance:
            for account in result["value"]:
                raw = base64.b64decode(account["data"][0] if account else "")
                if raw[64:72] == (HELD - PRICE).to_bytes(8, "little"):
                    raw = raw[:64] + HELD.to_bytes(8, "little") + raw[72:]
                    account["data"][0] = base64.b64encode(raw).decode()
        if method in self.others:
            answer["result"] = self.others[method](params, answer["result"])
        return answer


@pytest.fixture
def hiding(sandbox: Sandbox) -> Iterator[Hiding]:
    proxy = Hiding(sandbox.rpc_url)
    yield proxy
    proxy.close()


def lost(
    payer: Payer,
    hiding: Hiding,
    sandbox: Sandbox,
    make_seller: MakeSeller,
    others: Mapping[str, Callable[[Any, Any], Any]] = {},
) -> tuple[str, dict[str, Any]]:
    """Pays a seller that cuts the line, and lets the payment expire."""

    def answer(seen: Seen) -> Reply | None:
        if not seen.is_paid:
            return terms(offer(sandbox))
        hiding.hidden.add(settle(sandbox, seen, offer(sandbox))["transaction"])
        return None

    url = make_seller(answer).url
    error = failure_of(lambda: payer.client.post(url), "payment_uncertain")
    hiding.others = others
    sandbox.call("node.warp")
    return url, dict(error.details)


def told_again(payer: Payer, url: str, code: str) -> object:
    """The payment that a repeated call is told of."""
    return failure_of(lambda: payer.client.post(url), code).details["payer_signature"]


def test_a_history_without_it_is_not_enough(
    sandbox: Sandbox, hiding: Hiding, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    payer = make_payer(USDC="1", rpc_url=hiding.url)
    url, details = lost(payer, hiding, sandbox, make_seller)
    assert told_again(payer, url, "payment_uncertain") == details["payer_signature"]
    assert (payer.signed, payer.held(), payer.used) == (["payment"], HELD - PRICE, "0.01")


@pytest.mark.parametrize("is_first", [True, False])
def test_one_node_is_not_enough_if_there_are_two(
    is_first: bool,
    sandbox: Sandbox,
    hiding: Hiding,
    make_payer: MakePayer,
    make_seller: MakeSeller,
) -> None:
    hiding.hides_balance = True
    nodes = [hiding.url, sandbox.rpc_url]
    payer = make_payer(USDC="1", rpc_url=nodes if is_first else nodes[::-1])
    url, details = lost(payer, hiding, sandbox, make_seller)
    assert told_again(payer, url, "already_spent") == details["payer_signature"]
    assert (payer.signed, payer.held(), payer.used) == (["payment"], HELD - PRICE, "0.01")


def test_one_node_is_believed_if_it_is_the_only_one(
    sandbox: Sandbox, hiding: Hiding, make_payer: MakePayer, make_seller: MakeSeller
) -> None:
    """What the tests above would miss, if its lies did not fit each other."""
    hiding.hides_balance = True
    payer = make_payer(USDC="1", rpc_url=hiding.url)
    url, _ = lost(payer, hiding, sandbox, make_seller)
    failure_of(lambda: payer.client.post(url), "payment_uncertain")
    assert payer.signed == ["payment"] * 2


VOTES = "Vote111111111111111111111111111111111111111"
USDC = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"


DOUBTS: dict[str, Mapping[str, Callable[[Any, Any], Any]]] = {
    "its history begins later": {"getFirstAvailableBlock": lambda _, true: true + 10**9},
    "it is behind the blockhash": {"getEpochInfo": lambda _, true: {**true, "absoluteSlot": 1}},
    "its index of busy addresses is empty": {
        "getSignaturesForAddress": lambda params, true: [] if params[0] in (VOTES, USDC) else true
    },
}


@pytest.mark.parametrize("doubt", list(DOUBTS))
def test_a_node_is_not_believed_if(
    doubt: str,
    sandbox: Sandbox,
    hiding: Hiding,
    make_payer: MakePayer,
    make_seller: MakeSeller,
) -> None:
    hiding.hides_balance = True
    payer = make_payer(USDC="1", rpc_url=hiding.url)
    url, details = lost(payer, hiding, sandbox, make_seller, DOUBTS[doubt])
    assert told_again(payer, url, "payment_uncertain") == details["payer_signature"]
    assert payer.signed == ["payment"]
