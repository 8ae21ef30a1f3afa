from __future__ import annotations

import asyncio
import gc
import inspect
from typing import Any, Callable, Iterator

import pytest
from hypothesis import HealthCheck, settings

from exact_change import Client

from .node import Sandbox, Wallet
from .payer import Payer
from .seller import Answer, Seller


def pytest_collection_finish() -> None:
    """Lets no collection of garbage look at what was loaded again: it all stays."""
    gc.collect()
    gc.freeze()


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


# A machine with other work on it takes any time for an example.
settings.register_profile("loaded", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("loaded")

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


MakePayer = Callable[..., Payer]


@pytest.fixture
def make_payer(sandbox: Sandbox) -> Iterator[MakePayer]:
    """Makes clients that are watched, of a wallet or of a new one with funds."""
    made: list[Payer] = []

    def make(wallet: Wallet | None = None, **options: Any) -> Payer:
        funds = {name: options.pop(name) for name in list(options) if name.isupper()}
        made.append(Payer(sandbox, wallet or sandbox.wallet(**funds), **options))
        return made[-1]

    yield make
    for payer in made:
        payer.client.close()


MakeSeller = Callable[[Answer], Seller]


@pytest.fixture
def make_seller() -> Iterator[MakeSeller]:
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
