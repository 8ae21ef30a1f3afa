"""Requests as their caller made them, sent again as long as nothing can be spent twice."""

from __future__ import annotations

import httpx

from .._base.backoff import MAX_WAIT_MS, asked_wait, with_jitter
from .._config.options import Config

_FIRST_WAIT_MS = 250


class Retries:
    """A GET or HEAD is sent again after a 503 or a lost connection.

    A 503 that asks for a longer wait than ours is returned as it is.
    """

    def __init__(self, config: Config, method: str) -> None:
        self._config = config
        self._left = config.retries if method in ("GET", "HEAD") else 0
        self._tries = 0

    def wait_after(self, outcome: httpx.Response | Exception) -> float | None:
        """Seconds to wait before it is sent again; None if it is not."""
        if self._left == 0:
            return None
        asked = None
        if isinstance(outcome, Exception):
            if not _is_lost(outcome):
                return None
        elif outcome.status_code != 503:
            return None
        else:
            asked = asked_wait(outcome.headers.get, self._config.runtime.now())
            if (asked or 0) > MAX_WAIT_MS:
                return None
        usual = min(_FIRST_WAIT_MS * 2**self._tries, MAX_WAIT_MS)
        self._left -= 1
        self._tries += 1
        return with_jitter(usual if asked is None else asked, self._config.runtime) / 1000


def _is_lost(error: Exception) -> bool:
    """The seller never had it, or its connection broke; a slow seller has had its time."""
    lost = (httpx.NetworkError, httpx.RemoteProtocolError, httpx.ConnectTimeout)
    return isinstance(error, lost)
