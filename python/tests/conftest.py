from __future__ import annotations

import asyncio
import inspect
from typing import Any, Callable, Iterator

import pytest

from exact_change import Client

from .node import Sandbox, Wallet
from .seller import Answer, Seller


@pytest.fixture(scope="session")
def whole_sandbox() -> Iterator[Sandbox]:
    sandbox = Sandbox()
    yield sandbox
    sandbox.close()


@pytest.fixture
def sandbox(whole_sandbox: Sandbox) -> Iterator[Sandbox]:
    """The sandbox, all of which works again after the test."""
    yield whole_sandbox
    whole_sandbox.call("restore")


MakeClient = Callable[..., Client]


@pytest.fixture
def make_client(sandbox: Sandbox) -> Iterator[MakeClient]:
    """Makes clients of wallets of the sandbox, and closes them."""
    made: list[Client] = []

    def make(wallet: Wallet, **options: Any) -> Client:
        client = Client(**sandbox.options(wallet, **options))
        made.append(client)
        return client

    yield make
    for client in made:
        client.close()


@pytest.fixture
def make_seller() -> Iterator[Callable[[Answer], Seller]]:
    """Makes sellers, and ends them."""
    made: list[Seller] = []

    def make(answer: Answer) -> Seller:
        made.append(Seller(answer))
        return made[-1]

    yield make
    for seller in made:
        seller.close()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs tests that are coroutine functions on a loop of their own, in asyncio's debug mode."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    asyncio.run(pyfuncitem.obj(**arguments), debug=True)
    return True
