"""A service, and what lies in its place."""

from __future__ import annotations

import gc
from typing import Any, Callable, Iterator

import pytest

from ..conftest import MakePayer
from ..node import Sandbox
from ..payer import Payer
from ..proxy import Proxy


@pytest.fixture(scope="module")
def service_url(whole_sandbox: Sandbox) -> str:
    """The service, honest."""
    url: str = whole_sandbox.call("serve")
    return url


@pytest.fixture
def liar(service_url: str) -> Iterator[Proxy]:
    """The service, as it lies."""
    proxy = Proxy(service_url)
    yield proxy
    proxy.close()


MakeBuyer = Callable[..., Payer]


@pytest.fixture
def make_buyer(make_payer: MakePayer) -> MakeBuyer:
    """Makes clients of a service that have to swap."""

    def make(url: str, **options: Any) -> Payer:
        own: dict[str, Any] = {"auto_swap": True, "swap_from": ["USDT"], "api_url": url, **options}
        return make_payer(SOL="0.05", USDT="5", **own)

    return make


@pytest.fixture
def garbage() -> Iterator[None]:
    """Collects what a test leaves to it, or a later test would be told of its connections."""
    yield
    gc.collect()
