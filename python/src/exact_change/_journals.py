"""Journals that outlive their process."""

from __future__ import annotations

import os
import sys
from typing import cast

from ._base.hidden import Hidden
from ._base.options import refuse
from ._journal.durable import DurableJournal


def file_journal(path: str | os.PathLike[str]) -> DurableJournal:
    """Returns a journal in a file. Payments and spending outlive the process.

    They do so also if the process is killed. All processes of one machine may share the file, in
    containers too, in Python and TypeScript. The first call opens the file. A call that needs the
    file raises

    - ``journal_locked`` if a process of another machine may use the file.
    - ``journal_damaged`` if the file holds bytes that no journal wrote, other than a last line that
      was cut off. Nothing is spent then.
    - ``journal_unavailable`` if the disk failed, or if another file has the path. The journal works
      again once the cause is over.
    - ``invalid_option`` if a newer version wrote the file, or if the file has a second path. A
      second path is a hard link, or a mount of the file itself. After a rewrite, it would lead to
      another file.

    Raises ``ConfigError`` (``invalid_option``) if the path is no path, and on Windows.

    >>> journal = file_journal("payments.jsonl")
    >>> with journal, Client(wallet_secret_key=secret_key, journal=journal) as client:
    ...     client.get("https://api.example.com/premium")
    """
    _refuse_windows()
    text = _path_of(path)
    from ._journal.file.shared import share_log
    from ._journal.log.journal import LogJournal

    absolute = os.path.abspath(text)
    journal = LogJournal(absolute, lambda: share_log(absolute))
    return DurableJournal(journal, f"file_journal({text!r})")


def postgres_journal(
    address: str, *, schema: str = "exact_change", timeout_ms: int = 10_000
) -> DurableJournal:
    """Returns a journal in Postgres, for processes and machines that share a wallet.

    Caps, holds and locks count for all of them, in Python and TypeScript. Needs the package
    ``psycopg``: ``pip install "exact-change[postgres]"``. The first call makes the tables if they
    are missing, in ``schema``: at most 63 lower-case letters, digits and underscores.
    ``timeout_ms`` is the longest that a call waits for the database. The journal keeps one
    connection for locks, so a proxy before the database must keep sessions. A pooler in transaction
    or statement mode is refused.

    Calls raise ``journal_unavailable`` if the database fails, or does not answer within
    ``timeout_ms``. They raise ``missing_dependency`` without ``psycopg``. They also raise it if the
    schema keeps events for webhooks: only the TypeScript client can add these. They raise
    ``invalid_option`` if a pooler does not keep the session.

    Raises ``ConfigError`` (``invalid_option``) if an argument is wrong, and on Windows.

    >>> journal = postgres_journal("postgresql://db.example.com/payments")
    >>> with journal, Client(wallet_secret_key=secret_key, journal=journal) as client:
    ...     client.get("https://api.example.com/premium")
    """
    _refuse_windows()
    from ._journal.postgres.journal import PostgresJournal

    if isinstance(cast("object", address), str):
        address = Hidden(address)
    # The name does not quote the address, because it holds a password.
    return DurableJournal(PostgresJournal(address, schema, timeout_ms), "postgres_journal(...)")


def _refuse_windows() -> None:
    # There, an open file can be neither removed nor replaced, and the thread that listens to the
    # database cannot wait for a pipe.
    if sys.platform == "win32":
        raise refuse(
            "journal",
            "cannot be a file or a database on Windows. Run this program in WSL, or leave the "
            "option out: the journal in memory lasts as long as the process.",
        )


def _path_of(path: object) -> str:
    try:
        text: object = os.fspath(cast("str", path))
    except TypeError:
        text = None
    if not isinstance(text, str) or text == "" or "\0" in text:
        raise refuse("path", "must be the path of a file.")
    return text
