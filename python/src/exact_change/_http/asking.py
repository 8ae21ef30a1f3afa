"""Asks a peer whose answers are small: what passes is tried again, and each try has a deadline."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Sequence

from typing_extensions import Protocol

from .._base.backoff import MAX_WAIT_MS, asked_wait, with_jitter
from .._base.headers import Headers
from .._base.runtime import Runtime
from .._kernel.signals import Signal, check
from .._kernel.steps import bounded, done, sleep
from .._kernel.task import Steps
from .own import Answer, HttpPort, LostError, Request, TooLongError


class Limiter(Protocol):
    """What slows requests down before they leave, and learns from the answers."""

    def take(self, signal: Signal | None) -> Steps[None]:
        """Waits until the next request may leave."""
        ...

    def observe(self, status: int, headers: Headers) -> None:
        """Takes an answer down."""


class Peer(Protocol):
    """What the failures of a peer become, in words that say what to do about them."""

    def failing(self, answer: Answer, attempts: int, retry_after_ms: int) -> Exception:
        """An answer to the last try: 429, 421 or 5xx."""
        ...

    def lost(self, cause: Exception, attempts: int) -> Exception:
        """No answer, in all tries."""
        ...

    def late(self, timeout_ms: float, attempts: int) -> Exception:
        """No answer in time."""
        ...

    def too_long(self, limit_bytes: int) -> Exception:
        """An answer longer than any honest one."""
        ...

    def is_lasting(self, answer: Answer) -> bool:
        """Whether such an answer says itself that another try changes nothing."""
        ...


class NoLimit:
    """Lets everything leave at once."""

    def take(self, signal: Signal | None) -> Steps[None]:
        return done(None)

    def observe(self, status: int, headers: Headers) -> None:
        pass


class _Late(Exception):
    pass


class PeerHttp(NamedTuple):
    """Requests to one peer."""

    http: HttpPort
    peer: Peer
    # Deadline of one attempt, body included.
    timeout_ms: float
    runtime: Runtime
    limiter: Limiter = NoLimit()
    # Tries of one request; 1 for a request that changes something.
    attempts: int = 3
    max_body: int = 2 * 1024 * 1024

    def ask(
        self,
        method: str,
        url: str,
        headers: Sequence[tuple[str, str]] = (),
        body: bytes = b"",
        signal: Signal | None = None,
    ) -> Steps[Answer]:
        """An answer that is no 429, 421 or 5xx. Raises what the peer's failures become."""
        check(signal)
        request = Request(method, url, headers, body, self.timeout_ms, self.max_body)
        attempt = 0
        while True:
            attempt += 1
            answer: Answer | None = None
            failure: Exception
            try:
                answer = yield from self._once(request, signal)
            except LostError as error:
                failure = self.peer.lost(error, attempt)
            except _Late:
                failure = self.peer.late(self.timeout_ms, attempt)
            except TooLongError:
                raise self.peer.too_long(self.max_body) from None
            else:
                if not _may_pass(answer.status):
                    return answer
                wait = asked_wait(answer.headers.get, self.runtime.now())
                failure = self.peer.failing(answer, attempt, MAX_WAIT_MS if wait is None else wait)
            is_lasting = answer is not None and self.peer.is_lasting(answer)
            if attempt == self.attempts or is_lasting:
                raise failure
            yield from sleep(self._wait(answer, attempt), signal)

    def _once(self, request: Request, signal: Signal | None) -> Steps[Answer]:
        yield from self.limiter.take(signal)
        answer = yield from bounded(
            self.timeout_ms, _Late, [signal], lambda own: self.http.send(request, own)
        )
        if 300 <= answer.status < 400:
            # It would carry what the request holds, a key above all, to another host.
            raise LostError("A redirect is not followed.")
        self.limiter.observe(answer.status, answer.headers)
        return answer

    def _wait(self, answer: Answer | None, attempt: int) -> float:
        asked = None
        if answer is not None:
            asked = asked_wait(answer.headers.get, self.runtime.now())
        first = 1_000 if answer is not None and answer.status == 429 else 250
        ms = first * 2 ** (attempt - 1) if asked is None else asked
        return with_jitter(min(ms, MAX_WAIT_MS), self.runtime)


def _may_pass(status: int) -> bool:
    return status in (421, 429) or status >= 500


def _no_constant(_name: str) -> Any:
    raise ValueError


def parse_json(text: str | bytes) -> Any:
    """What JSON says; raises ``ValueError`` for anything else, ``NaN`` too."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("It is nested too deeply.") from None
