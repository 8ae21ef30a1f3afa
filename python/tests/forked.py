"""Processes that are forked from one that has loaded the client: less work than fresh ones.

Only for those that a test starts by the dozen. What they say goes to a file, also what they
complain of.
"""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path
from typing import Any, Callable

_FORKS = multiprocessing.get_context("forkserver")
_LOADED = ("tests.buyer", "tests.filler", "exact_change._journal.postgres.connection", "psycopg")
_FORKS.set_forkserver_preload(list(_LOADED))


def end_of(said: Path, work: Callable[[Any], object], task: Any) -> int:
    """The return code of a process that works on a task, as ``Popen`` has it."""
    process = _FORKS.Process(target=_run, args=(str(said), work, task), daemon=True)
    process.start()
    process.join(60)
    code = process.exitcode
    # One that hangs is ended with the tests.
    assert code is not None
    process.close()
    return code


def _run(said: str, work: Callable[[Any], object], task: Any) -> None:
    file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for stream in (1, 2):
        os.dup2(file, stream)
    work(task)
