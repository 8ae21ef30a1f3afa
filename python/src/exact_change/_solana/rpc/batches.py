"""Asks for the statuses of several callers in one request."""

from __future__ import annotations

from ..._base.runtime import Runtime, since_then
from ..._kernel.signals import Signal, check
from ..._kernel.steps import join, sleep, start
from ..._kernel.task import Steps, Task
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
        return (yield from batch.join(signal))[place]

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
    """Signatures that share a request; its callers wait for it, each for as long as it likes."""

    def __init__(self, owner: StatusBatch) -> None:
        self.signatures: list[str] = []
        self._owner = owner
        self._signal = Signal()
        self._task: Task[list[SignatureStatus | None]] | None = None
        self._waiting = 0

    def join(self, signal: Signal) -> Steps[list[SignatureStatus | None]]:
        """Returns the answer. If the last caller leaves before it, the request ends."""
        if self._task is None:
            self._task = yield from start(self._owner.ask(self, self._signal))
        self._waiting += 1
        try:
            return (yield from join(self._task, signal))
        finally:
            self._waiting -= 1
            if self._waiting == 0 and not self._task.is_settled:
                self._owner.close(self)
                self._signal.abort(signal.reason)
