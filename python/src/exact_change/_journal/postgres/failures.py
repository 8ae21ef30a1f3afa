"""What keeps a journal in Postgres from being used, as it is told to callers."""

from __future__ import annotations

from ...errors import ExactChangeError, failure


class SqlError(Exception):
    """A statement that Postgres refused."""

    def __init__(self, message: str, state: str) -> None:
        """``state``: five letters and digits, as the manual of Postgres lists them."""
        super().__init__(message)
        self.state = state


class LostError(Exception):
    """A connection that is over, or could not be made."""


def unavailable(step: str, cause: Exception) -> ExactChangeError:
    """The error for a cause. Our own errors say enough already."""
    if isinstance(cause, ExactChangeError):
        return cause
    return failure(
        "journal_unavailable",
        f'The Postgres journal could not do its step "{step}". See the cause, repair the database '
        "or the way to it, then try again.",
        {"step": step},
        cause=cause,
    )


def closed(step: str) -> ExactChangeError:
    """What a call on a closed journal gets."""
    return failure(
        "journal_unavailable",
        "The Postgres journal is closed. Make another one.",
        {"step": step},
        retry="never",
    )


def has_outbox(schema: str) -> ExactChangeError:
    """The refusal of a schema in which each write has to tell webhooks of itself."""
    return failure(
        "missing_dependency",
        f"The journal's schema {schema} keeps events for webhooks, which only the TypeScript "
        "client with the package pg-boss can add. Name another schema, or pay from TypeScript.",
        {"packages": ["pg-boss"]},
    )


def state_of(error: object) -> str | None:
    """Which state of SQL it failed with."""
    cause = error.__cause__ if isinstance(error, ExactChangeError) else error
    return cause.state if isinstance(cause, SqlError) else None
