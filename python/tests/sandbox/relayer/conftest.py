"""Fixtures of payers without SOL, with a relayer that pays fees and rent of their swaps."""

from __future__ import annotations

import base64
import json
from typing import Any, Callable, Iterator, NamedTuple

import pytest

from exact_change import ExactChangeError, Receipt

from ...conftest import MakePayer
from ...node import Sandbox
from ...payer import Payer, failure_of
from ...proxy import Proxy
from ...seller import Seen

HELD = 5_000_000
MAX_FEE = 500_000


class Broke(NamedTuple):
    """Makes payers without SOL, and pays with them."""

    sandbox: Sandbox
    make: MakePayer
    url: str

    def __call__(self, **options: Any) -> Payer:
        relayer = {"url": self.url, **options.pop("relayer", {})}
        funds = {} if any(map(str.isupper, options)) else {"USDT": "5"}
        return self.make(auto_swap=True, relayer=relayer, **funds, **options)

    def pay(self, payer: Payer) -> Receipt:
        receipt = payer.client.settled(payer.client.get(f"{self.sandbox.api_url}/usdc"), timeout=60)
        assert receipt is not None and receipt.state == "settled"
        return receipt

    def refused(self, payer: Payer, code: str = "insufficient_sol") -> ExactChangeError:
        return failure_of(lambda: payer.client.get(f"{self.sandbox.api_url}/usdc"), code)

    @property
    def signed(self) -> list[bytes]:
        """The transactions that the relayer signed."""
        return [base64.b64decode(signed) for signed in self.sandbox.call("relayer")["signed"]]


@pytest.fixture
def broke(sandbox: Sandbox, make_payer: MakePayer) -> Broke:
    return Broke(sandbox, make_payer, sandbox.relayer_url)


MakeProxy = Callable[[str], Proxy]


@pytest.fixture
def make_proxy() -> Iterator[MakeProxy]:
    """Makes proxies of services, and closes them after the test."""
    made: list[Proxy] = []

    def make(upstream: str) -> Proxy:
        made.append(Proxy(upstream))
        return made[-1]

    yield make
    for proxy in made:
        proxy.close()


@pytest.fixture
def liar(sandbox: Sandbox, make_proxy: MakeProxy) -> Proxy:
    """A proxy of the relayer, for tests that change its answers."""
    return make_proxy(sandbox.relayer_url)


@pytest.fixture
def lying(broke: Broke, liar: Proxy) -> Broke:
    """Payers of a relayer with changed answers."""
    return broke._replace(url=liar.url)


def lie(liar: Proxy, method: str, change: Callable[[Any], Any]) -> None:
    """Changes the result of one method."""

    def changed(answer: Any, seen: Seen) -> Any:
        if json.loads(seen.body)["method"] == method:
            answer["result"] = change(answer["result"])
        return answer

    liar.lies["/"] = changed


def untouched(payer: Payer) -> None:
    """Asserts that the wallet signed nothing, lost nothing and reserves nothing."""
    assert (payer.signed, payer.used) == ([], "0")
    assert (payer.held("USDT"), payer.held("SOL")) == (HELD, 0)
