"""Fixtures of sandbox tests: the service, a proxy that changes its answers, and journals."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

from ..conftest import MakePayer
from ..node import Sandbox
from ..opened import Open, Opened
from ..payer import Payer
from ..proxy import Proxy


@pytest.fixture(scope="module")
def service_url(whole_sandbox: Sandbox) -> str:
    """URL of the honest service."""
    url: str = whole_sandbox.call("serve")
    return url


@pytest.fixture
def liar(service_url: str) -> Iterator[Proxy]:
    """A proxy of the service, for tests that change its answers."""
    proxy = Proxy(service_url)
    yield proxy
    proxy.close()


MakeBuyer = Callable[..., Payer]


@pytest.fixture
def make_buyer(make_payer: MakePayer) -> MakeBuyer:
    """Makes clients of a service that must swap to pay."""

    def make(url: str, **options: Any) -> Payer:
        merged: dict[str, Any] = {
            "auto_swap": True,
            "swap_from": ["USDT"],
            "api_url": url,
            **options,
        }
        return make_payer(SOL="0.05", USDT="5", **merged)

    return make


@pytest.fixture
def open_(whole_sandbox: Sandbox, tmp_path: Path) -> Iterator[Open]:
    """Opens an empty journal of a kind, and closes it after the test."""
    made: list[Opened] = []

    def make(kind: str) -> Opened:
        place: dict[str, str] | None = None
        if kind == "file":
            place = {"path": str(tmp_path / f"journal-{len(made)}")}
        elif kind == "Postgres":
            place = {"connectionString": whole_sandbox.call("createDatabase")}
        made.append(Opened(place))
        return made[-1]

    yield make
    for opened in made:
        opened.close()
