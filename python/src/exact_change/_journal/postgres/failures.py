"""The errors that callers get if a journal in Postgres cannot be used."""

from __future__ import annotations

from ..._base.options import refuse
from ...errors import ExactChangeError, failure


class SqlError(Exception):
    """A statement that Postgres refused."""

    def __init__(self, message: str, state: str) -> None:
        """Makes the error. ``state`` is the SQLSTATE: five letters and digits."""
        super().__init__(message)
        self.state = state


class LostError(Exception):
    """The connection was lost, or could not be made."""


def unavailable(step: str, cause: Exception) -> ExactChangeError:
    """Wraps an error of the database. Returns errors of this package as they are."""
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
    """Returns the error for a call on a closed journal."""
    return failure(
        "journal_unavailable",
        "The Postgres journal is closed. Make another one.",
        {"step": step},
        retry="never",
    )


def pooled() -> ExactChangeError:
    """Returns the error for a proxy that gives one server process to several clients in turn."""
    return refuse(
        "address",
        "must keep its sessions, but leads to a pooler in transaction or statement mode, which "
        "would give the lock of one process to others. Connect to the database directly or in "
        'session mode: often port 5432 in place of 6543, or a host name without "-pooler".',
    )


def has_outbox(schema: str) -> ExactChangeError:
    """Returns the refusal of a schema in which each write must add events for webhooks."""
    return failure(
        "missing_dependency",
        f"The journal's schema {schema} keeps events for webhooks, which only the TypeScript "
        "client with the package pg-boss can add. Name another schema, or pay from TypeScript.",
        {"packages": ["pg-boss"]},
    )


def state_of(error: object) -> str | None:
    """Returns the SQLSTATE of an error, or of its cause."""
    cause = error.__cause__ if isinstance(error, ExactChangeError) else error
    return cause.state if isinstance(cause, SqlError) else None
