"""Requests to a peer with small answers: retries temporary failures; each try has a deadline."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from typing_extensions import Protocol

from .._base.backoff import MAX_WAIT_MS, asked_wait, with_jitter
from .._base.headers import Headers
from .._base.runtime import Runtime
from .._kernel.signals import Signal, check
from .._kernel.steps import bounded, done, sleep
from .._kernel.task import Steps
from .own import Answer, HttpPort, LostError, Request, TooLongError


class Limiter:
    """Slows requests down before they leave, and learns from the answers; this one has no limit."""

    def take(self, signal: Signal | None) -> Steps[None]:
        """Waits until the next request may leave."""
        return done(None)

    def observe(self, status: int, headers: Headers) -> None:
        """Learns from the status and headers of an answer."""


class Peer(Protocol):
    """Makes the errors for failures of a peer. Their messages say what to do."""

    def failing(self, answer: Answer, attempts: int, retry_after_ms: int) -> Exception:
        """Returns the error when the answer to the last try is a 429, 421 or 5xx."""
        ...

    def lost(self, cause: Exception, attempts: int) -> Exception:
        """Returns the error when no try got an answer."""
        ...

    def late(self, timeout_ms: float, attempts: int) -> Exception:
        """Returns the error when no answer came in time."""
        ...

    def too_long(self, limit_bytes: int) -> Exception:
        """Returns the error when an answer is longer than any honest answer."""
        ...

    def is_lasting(self, answer: Answer) -> bool:
        """Whether a 429, 421 or 5xx itself says that another try changes nothing."""
        ...


class _Late(Exception):
    pass


class PeerHttp(NamedTuple):
    """Requests to one peer."""

    http: HttpPort
    peer: Peer
    # Milliseconds for one try, body included.
    timeout_ms: float
    runtime: Runtime
    limiter: Limiter = Limiter()
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
        """Returns an answer that is no 429, 421 or 5xx. Raises the errors that the peer makes."""
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
            self.timeout_ms, _Late, [signal], lambda child: self.http.send(request, child)
        )
        if 300 <= answer.status < 400:
            # The redirected request would carry the request's headers, for example a key, to
            # another host.
            raise LostError("A redirect is not followed.")
        self.limiter.observe(answer.status, answer.headers)
        return answer

    def _wait(self, answer: Answer | None, attempt: int) -> float:
        asked_ms = None
        if answer is not None:
            asked_ms = asked_wait(answer.headers.get, self.runtime.now())
        first_ms = 1_000 if answer is not None and answer.status == 429 else 250
        ms = first_ms * 2 ** (attempt - 1) if asked_ms is None else asked_ms
        return with_jitter(min(ms, MAX_WAIT_MS), self.runtime)


def _may_pass(status: int) -> bool:
    return status in (421, 429) or status >= 500
