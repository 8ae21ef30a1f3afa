"""Journals that outlive their process."""

from __future__ import annotations

import os

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
    given = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(given, str) or given == "" or "\0" in given:
        raise refuse("path", "must be the path of a file.")
    from ._journal.file.failures import closed, unavailable
    from ._journal.file.shared import share_log
    from ._journal.log.journal import LogJournal

    at = os.path.abspath(given)
    return DurableJournal(
        LogJournal(lambda: share_log(at), closed, lambda error: unavailable(at, error)),
        f"file_journal({given!r})",
    )


def postgres_journal(address: str) -> DurableJournal:
    raise NotImplementedError
