"""A proxy between a client and a service, which changes answers of the service."""

from __future__ import annotations

import json
from typing import Any, Callable, Mapping

import httpx

from .seller import Reply, Seen, Seller

# Returns a changed answer; it may change the answer in place.
Change = Callable[[Any, Seen], Any]
_LEFT_OUT = ("content-length", "transfer-encoding", "connection", "content-encoding", "date")


class Proxy(Seller):
    """Forwards requests, and changes answers by path (without the query)."""

    def __init__(self, upstream: str) -> None:
        super().__init__(self._pass)
        self._upstream = upstream
        self._http = httpx.Client(timeout=60)
        self.lies: dict[str, Change] = {}
        # If set, turns each honest reply into the sent reply; None cuts the connection.
        self.instead: Callable[[Reply], Reply | None] | None = None

    def close(self) -> None:
        """Ends the proxy."""
        super().close()
        self._http.close()

    def _pass(self, seen: Seen) -> Reply | None:
        forwarded: Mapping[str, str] = {
            name: value
            for name, value in seen.headers.items()
            if name not in ("host", "connection", "transfer-encoding", "content-length")
        }
        url = self._upstream + seen.path
        answer = self._http.request(seen.method, url, headers=forwarded, content=seen.body)
        headers = {name: value for name, value in answer.headers.items() if name not in _LEFT_OUT}
        body = answer.content
        lie = self.lies.get(seen.path.partition("?")[0])
        if lie is not None and answer.status_code == 200:
            body = json.dumps(lie(json.loads(body), seen)).encode()
        reply = Reply(answer.status_code, headers, body)
        return reply if self.instead is None else self.instead(reply)
