"""The errors for failed requests to Jupiter, which say what to do."""

from __future__ import annotations

from .._http.own import Answer
from ..errors import ExactChangeError, failure
from .answer import invalid_answer


class JupiterPeer:
    """The errors for failed requests to Jupiter."""

    def failing(self, answer: Answer, attempts: int, retry_after_ms: int) -> Exception:
        if answer.status == 429:
            return rate_limited(retry_after_ms)
        return failure(
            "jupiter_unavailable",
            f"Jupiter answered {answer.status} in {attempts} attempts. Try again later.",
            {"status": answer.status},
        )

    def lost(self, cause: Exception, attempts: int) -> Exception:
        return failure(
            "jupiter_unavailable",
            f"Jupiter could not be reached in {attempts} attempts. Try again, and check "
            "jupiter_url.",
            {"status": 0},
            cause=cause,
        )

    def late(self, timeout_ms: float, attempts: int) -> Exception:
        return failure(
            "timeout",
            f"Jupiter did not answer within {timeout_ms:g} ms, {attempts} times. Try again, or "
            "raise timeouts.jupiter.",
            {"step": "jupiter", "timeout_ms": timeout_ms},
        )

    def too_long(self, limit_bytes: int) -> Exception:
        return invalid_answer(f"the answer is longer than {limit_bytes} bytes")

    def is_lasting(self, answer: Answer) -> bool:
        return False


def rate_limited(retry_after_ms: float) -> ExactChangeError:
    """Returns the error for a request that Jupiter, or our own limiter, holds back."""
    ms = round(retry_after_ms)
    return failure(
        "rate_limited",
        f"Jupiter is rate limiting this client. Wait {ms} ms, or set jupiter_api_key.",
        {"retry_after_ms": ms},
    )
