from __future__ import annotations

import asyncio
import gc
import inspect
from typing import Any, Callable, Iterator

import pytest
from hypothesis import HealthCheck, settings

from exact_change import Client
from exact_change._kernel.turns import run_turn

from .node import Sandbox, Wallet
from .payer import Payer
from .seller import Answer, Seller


def pytest_collection_finish() -> None:
    """Excludes loaded modules from garbage collection, because they live to the end anyway."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def whole_sandbox() -> Iterator[Sandbox]:
    sandbox = Sandbox()
    yield sandbox
    sandbox.close()


@pytest.fixture
def sandbox(whole_sandbox: Sandbox) -> Iterator[Sandbox]:
    """The sandbox; the test's faults end with the test."""
    # A blockhash lives for 150 slots, and on a busy machine calls need more than the usual 15 s.
    whole_sandbox.call("set", "node.slotMs", 1_000)
    yield whole_sandbox
    whole_sandbox.call("restore")


# No deadline, because an example may take any time on a busy machine.
settings.register_profile("loaded", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("loaded")

MakeClient = Callable[..., Client]


@pytest.fixture
def make_client(sandbox: Sandbox) -> Iterator[MakeClient]:
    """Makes clients for wallets of the sandbox, and closes them after the test."""
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
    """Makes payers for a wallet, or for a new wallet with funds such as ``USDC="1"``."""
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
    """Makes sellers, and closes them after the test."""
    made: list[Seller] = []

    def make(answer: Answer) -> Seller:
        made.append(Seller(answer))
        return made[-1]

    yield make
    for seller in made:
        seller.close()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs each coroutine test on an event loop of its own, in the debug mode of asyncio."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    asyncio.run(pyfuncitem.obj(**arguments), debug=True)
    return True


@pytest.fixture
def garbage() -> Iterator[None]:
    """Collects garbage after a test, so that no later test gets warnings of its connections."""
    yield
    # The first time closes coroutines, a turn then ends what they began, and the later times
    # collect what they held.
    for _ in range(3):
        gc.collect()
        run_turn(lambda: None)
