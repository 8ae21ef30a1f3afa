"""Options, methods, events and records: what one language has, the other has too.

Or ``spec/surface.json`` says why it has not. TypeScript's compiler holds that table to TypeScript.
"""

from __future__ import annotations

import json
import re
from typing import Any, Mapping, Sequence, get_args

import pytest

import exact_change
from exact_change import AsyncClient, Client
from exact_change._config.options import ClientOptions, TimeoutOptions
from exact_change._config.relayer import RelayerOptions
from exact_change._config.swap_request import SwapOptions
from exact_change._events import EventName
from exact_change._payments.engine import SwapResult
from exact_change._payments.pay_header import Payment
from exact_change._payments.plan import Plan, PlannedRelayer
from exact_change._policy.limits import LimitOptions
from exact_change._policy.policy import ListOptions, PolicyOptions
from exact_change._policy.top_up import TopUpOptions
from exact_change._receipt import (
    Cost,
    FreedReceipt,
    PaidPayment,
    PaidSwap,
    Receipt,
    ReceiptFilter,
)
from exact_change._swap.types import SwapQuote

from ..conftest import MakePayer
from ..node import Sandbox
from ..spec import ROOT

SURFACE: Mapping[str, Any] = json.loads((ROOT / "spec" / "surface.json").read_text())


def fields(of: Any) -> set[str]:
    """What a typed dict may have."""
    return set(getattr(of, "__annotations__", {})) | {
        name for base in getattr(of, "__orig_bases__", ()) for name in fields(base)
    }


def methods(of: Any) -> set[str]:
    """What its callers may call."""
    return {name for name in vars(of) if not name.startswith("_")}


HAS: Mapping[str, set[str]] = {
    "client": methods(Client),
    "clientOptions": fields(ClientOptions),
    "timeouts": fields(TimeoutOptions),
    "relayer": fields(RelayerOptions),
    "policy": fields(PolicyOptions),
    "limits": fields(LimitOptions),
    "topUp": fields(TopUpOptions),
    "lists": fields(ListOptions),
    "swapOptions": fields(SwapOptions),
    "receiptFilter": fields(ReceiptFilter),
    "receipt": set(Receipt._fields),
    "paidPayment": set(PaidPayment._fields),
    "paidSwap": set(PaidSwap._fields),
    "cost": set(Cost._fields),
    "freedReceipt": set(FreedReceipt._fields),
    "plan": set(Plan._fields),
    "plannedRelayer": set(PlannedRelayer._fields),
    "swapResult": set(SwapResult._fields),
    "swapQuote": set(SwapQuote._fields),
    "payment": set(Payment._fields),
    "events": set(get_args(EventName)),
}


def snake(name: str) -> str:
    return re.sub("[A-Z]", lambda one: f"_{one[0].lower()}", name)


def wanted(places: Mapping[str, Any], more: Sequence[str] = ()) -> set[str]:
    """What Python is to have of what TypeScript has, and what it has besides."""
    own = set(more)
    for name, place in places.items():
        if place is True:
            own.add(snake(name))
        elif isinstance(place, str):
            own.add(place)
        else:
            assert place["lacks"], name
    return own


@pytest.mark.parametrize("group", [*HAS])
def test_python_has_what_typescript_has(group: str) -> None:
    places = SURFACE[group]
    if group == "events":
        places = {name: place if "lacks" in place else name for name, place in places.items()}
    assert HAS[group] == wanted(places, [*SURFACE["pythonOnly"].get(group, {})])


def test_every_group_is_compared() -> None:
    assert set(SURFACE) == {*HAS, "exports", "pythonOnly"}


def test_what_typescript_exports_can_be_imported() -> None:
    """Python exports types too, by which its callers name what they get."""
    named = wanted(SURFACE["exports"], [*SURFACE["pythonOnly"]["exports"]])
    assert named <= set(exact_change.__all__)


def test_both_clients_have_the_same_methods() -> None:
    assert methods(AsyncClient) == (methods(Client) - {"adapter", "close"}) | {"aclose"}


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_type_checker_sees_an_event_that_there_is_not(kind: Any) -> None:
    assert kind.on.__annotations__["event"] == "EventName | Literal['*']"


def test_events_say_what_they_say_in_typescript(sandbox: Sandbox, make_payer: MakePayer) -> None:
    payer = make_payer(USDT="5", auto_swap=True, relayer={"url": sandbox.relayer_url})
    payer.client.settled(payer.client.get(f"{sandbox.api_url}/usdc"), timeout=60)
    payer.told("payment.settled")
    seen = {one.type: set(one.details) for one in payer.events}
    assert len(seen) > 8
    for name, details in seen.items():
        assert details == wanted(SURFACE["events"][name]), name
