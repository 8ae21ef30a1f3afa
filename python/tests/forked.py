"""Forks processes from a server that has loaded the client, which is cheaper than fresh processes.

Use it for a test that starts dozens of processes. Their output and errors go to a file.
"""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path
from typing import Any, Callable

_FORKS = multiprocessing.get_context("forkserver")
_LOADED = ("tests.buyer", "tests.filler", "exact_change._journal.postgres.connection", "psycopg")
_FORKS.set_forkserver_preload(list(_LOADED))


def end_of(output: Path, work: Callable[[Any], object], task: Any) -> int:
    """Runs work on a task in a process; returns its exit code, in the form of ``Popen``."""
    process = _FORKS.Process(target=_run, args=(str(output), work, task), daemon=True)
    process.start()
    process.join(300)
    code = process.exitcode
    # A process that hangs is a daemon, so it ends with the tests.
    assert code is not None
    process.close()
    return code


def _run(output: str, work: Callable[[Any], object], task: Any) -> None:
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for stream in (1, 2):
        os.dup2(file, stream)
    work(task)
