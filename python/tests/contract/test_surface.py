"""Options, methods, events and records, which both languages have alike.

``spec/surface.json`` gives the reason for each difference. The compiler of TypeScript checks that
table against the TypeScript sources.
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
    """Returns the keys that a typed dict may have."""
    return set(getattr(of, "__annotations__", {})) | {
        name for base in getattr(of, "__orig_bases__", ()) for name in fields(base)
    }


def methods(of: Any) -> set[str]:
    """Returns the public methods of a class."""
    return {name for name in dir(of) if not name.startswith("_")}


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
    return re.sub("[A-Z]", lambda capital: f"_{capital[0].lower()}", name)


def wanted(places: Mapping[str, Any], more: Sequence[str] = ()) -> set[str]:
    """Returns the names that Python must have: its names for those of TypeScript, and ``more``."""
    names = set(more)
    for name, place in places.items():
        if place is True:
            names.add(snake(name))
        elif isinstance(place, str):
            names.add(place)
        else:
            assert place["lacks"], name
    return names


@pytest.mark.parametrize("group", [*HAS])
def test_has_each_name_of_typescript_in_a_group(group: str) -> None:
    places = SURFACE[group]
    if group == "events":
        places = {name: place if "lacks" in place else name for name, place in places.items()}
    assert HAS[group] == wanted(places, [*SURFACE["pythonOnly"].get(group, {})])


def test_compares_every_group_of_the_surface() -> None:
    assert set(SURFACE) == {*HAS, "exports", "pythonOnly"}


def test_exports_each_name_that_typescript_exports() -> None:
    """Python exports more names: the types that callers need for annotations."""
    named = wanted(SURFACE["exports"], [*SURFACE["pythonOnly"]["exports"]])
    assert named <= set(exact_change.__all__)


def test_gives_both_clients_the_same_methods() -> None:
    assert methods(AsyncClient) == (methods(Client) - {"adapter", "close"}) | {"aclose"}


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_types_the_event_of_on_so_that_a_type_checker_refuses_unknown_names(kind: Any) -> None:
    assert kind.on.__annotations__["event"] == "EventName | Literal['*']"


def test_emits_events_with_the_fields_of_typescript(
    sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(USDT="5", auto_swap=True, relayer={"url": sandbox.relayer_url})
    payer.client.settled(payer.client.get(f"{sandbox.api_url}/usdc"), timeout=60)
    payer.told("payment.settled")
    seen = {event.type: set(event.details) for event in payer.events}
    assert len(seen) > 8
    for name, details in seen.items():
        assert details == wanted(SURFACE["events"][name]), name
