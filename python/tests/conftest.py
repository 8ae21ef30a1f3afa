from __future__ import annotations

from typing import Iterator

import pytest

from .node import Sandbox


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
