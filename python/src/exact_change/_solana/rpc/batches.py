"""Asks for the statuses of several callers in one request."""

from __future__ import annotations

from ..._base.runtime import Runtime, since_then
from ..._kernel.shared import SharedWork
from ..._kernel.signals import Signal, check
from ..._kernel.steps import sleep
from ..._kernel.task import Steps
from .rpc import Rpc
from .types import SignatureStatus

# The most signatures of one `getSignatureStatuses`.
_MAX_SIGNATURES = 256
# Milliseconds between two requests, unless a request is full.
_APART_MS = 1_000


class StatusBatch:
    """Asks for the statuses of many signatures at once, as far back as the node remembers.

    Signatures that come within a second of a request share the next request.
    """

    def __init__(self, rpc: Rpc, runtime: Runtime) -> None:
        self._rpc = rpc
        self._runtime = runtime
        self._open: _Batch | None = None
        self._asked_at = float("-inf")

    def status_of(self, signature: str, signal: Signal) -> Steps[SignatureStatus | None]:
        """Returns the status of a signature; None if the node does not know it."""
        check(signal)
        if self._open is None or len(self._open.signatures) >= _MAX_SIGNATURES:
            self._open = _Batch(self)
        batch = self._open
        batch.signatures.append(signature)
        place = len(batch.signatures) - 1
        return (yield from batch.work.join(signal))[place]

    def ask(self, batch: _Batch, signal: Signal) -> Steps[list[SignatureStatus | None]]:
        """Asks for the signatures of a batch, once its turn has come."""
        yield from sleep(max(0, _APART_MS - since_then(self._runtime, self._asked_at)), signal)
        self.close(batch)
        self._asked_at = self._runtime.now()
        return (yield from self._rpc.statuses(batch.signatures, history=True, signal=signal))

    def close(self, batch: _Batch) -> None:
        """Lets no more signatures join a batch."""
        if self._open is batch:
            self._open = None


class _Batch:
    def __init__(self, owner: StatusBatch) -> None:
        self.signatures: list[str] = []
        self.work: SharedWork[list[SignatureStatus | None]] = SharedWork(
            lambda signal: owner.ask(self, signal), lambda: owner.close(self)
        )
