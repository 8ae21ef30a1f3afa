"""Retries of unpaid requests, as long as a retry cannot spend anything twice."""

from __future__ import annotations

import httpx

from .._base.backoff import MAX_WAIT_MS, GetHeader, asked_wait, with_jitter
from .._config.options import Config

_FIRST_WAIT_MS = 250


class Retries:
    """Says whether to send a GET or HEAD again, after a 503 or a lost connection.

    A 503 that asks for a wait above the limit is returned to the caller. A body that is not known
    before it is sent may have lost its beginning by the next try, so its request is sent once.
    """

    def __init__(self, config: Config, method: str, *, is_body_known: bool) -> None:
        self._config = config
        self._left = config.retries if method in ("GET", "HEAD") and is_body_known else 0
        self._tries = 0

    def after_loss(self) -> float | None:
        """Returns the seconds to wait after a lost connection; None if there is no next try."""
        return self._next_wait(None)

    def after_answer(self, status: int, get_header: GetHeader) -> float | None:
        """Returns the seconds to wait after an answer; None if the answer counts."""
        if status != 503:
            return None
        asked_ms = asked_wait(get_header, self._config.runtime.now())
        return None if (asked_ms or 0) > MAX_WAIT_MS else self._next_wait(asked_ms)

    def _next_wait(self, asked_ms: float | None) -> float | None:
        if self._left == 0:
            return None
        usual_ms = min(_FIRST_WAIT_MS * 2**self._tries, MAX_WAIT_MS)
        self._left -= 1
        self._tries += 1
        return with_jitter(usual_ms if asked_ms is None else asked_ms, self._config.runtime) / 1000


def is_lost(error: Exception) -> bool:
    """Returns whether the connection failed or broke. A slow seller is not asked again."""
    lost = (httpx.NetworkError, httpx.RemoteProtocolError, httpx.ConnectTimeout)
    return isinstance(error, lost)
