"""Journals that outlive their process."""

from __future__ import annotations

import os
from typing import cast

from ._base.options import refuse
from ._journal.durable import DurableJournal


def file_journal(path: str | os.PathLike[str]) -> DurableJournal:
    """A journal in a file: what is paid, and what counts against the limits, outlives the process.

    Also if that is killed. For all processes of one machine at once, in containers too, in Python
    and TypeScript. Nothing is opened before the first use. The calls that need it then raise

    - ``journal_locked``: a process of another machine may have it.
    - ``journal_damaged``: the file is not what was written, other than a last line that was cut
      off. Nothing is spent then.
    - ``journal_unavailable``: the disk failed, or another file was put in its place. Once that is
      over the journal goes on.
    - ``invalid_option``: another version wrote it, or it has a second path (a hard link, or the
      file itself is mounted), which would be another file once it is written anew.

    Raises ``ConfigError`` (``invalid_option``) if the path is none.

    >>> journal = file_journal("payments.jsonl")
    >>> with journal, Client(wallet_secret_key=secret_key, journal=journal) as client:
    ...     client.get("https://api.example.com/premium")
    """
    given = _path_of(path)
    from ._journal.file.failures import closed, unavailable
    from ._journal.file.shared import share_log
    from ._journal.log.journal import LogJournal

    at = os.path.abspath(given)
    return DurableJournal(
        LogJournal(lambda: share_log(at), closed, lambda error: unavailable(at, error)),
        f"file_journal({given!r})",
    )


def postgres_journal(
    address: str, *, schema: str = "exact_change", timeout_ms: int = 10_000
) -> DurableJournal:
    """A journal in Postgres, for processes and machines that share a wallet.

    Budgets, held balances and locks count for all of them, in Python and TypeScript. Needs the
    package ``psycopg``: ``pip install "exact-change[postgres]"``. Its tables are made on first use,
    in ``schema``: at most 63 lower-case letters, digits and underscores. ``timeout_ms``: the most
    that a call waits for the database. One connection is kept for locks, so what lies between must
    keep sessions: PgBouncer in transaction mode does not.

    Calls raise ``journal_unavailable`` if the database fails or is silent for too long, and
    ``missing_dependency`` without ``psycopg``, or if the schema keeps events for webhooks, which
    the TypeScript client alone can add.

    Raises ``ConfigError`` (``invalid_option``).

    >>> journal = postgres_journal("postgresql://db.example.com/payments")
    >>> with journal, Client(wallet_secret_key=secret_key, journal=journal) as client:
    ...     client.get("https://api.example.com/premium")
    """
    from ._journal.postgres.journal import PostgresJournal

    # Its address holds a password.
    return DurableJournal(PostgresJournal(address, schema, timeout_ms), "postgres_journal(...)")


def _path_of(path: object) -> str:
    try:
        given: object = os.fspath(cast("str", path))
    except TypeError:
        given = None
    if not isinstance(given, str) or given == "" or "\0" in given:
        raise refuse("path", "must be the path of a file.")
    return given
