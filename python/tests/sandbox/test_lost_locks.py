"""Locks of a durable journal whose holder lost its loop or its journal, or could not free them."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any, Callable

import pytest

from exact_change import file_journal
from exact_change._journal.file.disk import OpenFile
from exact_change._journal.file.line import encode_line
from exact_change._journal.file.log import FileLog
from exact_change._journal.locks import Locks
from exact_change._journal.postgres.connection import Connection
from exact_change._kernel.hosts import loop_host, threads
from exact_change._kernel.signals import Signal
from exact_change._kernel.steps import bounded, call, done, ensure
from exact_change._kernel.task import Steps, begin

from ..buyer import journal_of
from ..filler import small_journal
from ..holder import OWNER
from ..node import Sandbox
from ..opened import LOCK_HOLDERS
from ..payer import failure_of, until

pytestmark = pytest.mark.usefixtures("garbage")


def nothing() -> Steps[None]:
    return done(None)


def hold_soon(locks: Locks) -> None:
    """Holds the lock, or raises ``TimeoutError`` if it is not free soon."""
    late = TimeoutError("The lock is not free.")
    threads.run(bounded(60_000, lambda: late, [], lambda end: locks.hold(["lock"], nothing, [end])))


def hold_on_a_loop(
    locks: Locks,
    is_reached: threading.Event,
    work: Callable[[], Steps[None]] = nothing,
    signal: Signal | None = None,
) -> None:
    """Begins to hold the lock on a loop that ends once the call has reached a place."""

    async def begin_hold() -> None:
        holding = loop_host().run(locks.hold(["lock"], work, [signal]), signal)
        task = asyncio.ensure_future(holding)
        while not is_reached.is_set() and not task.done():
            await asyncio.sleep(0.01)

    asyncio.run(begin_hold())


def replace_file(log: FileLog, may_end: threading.Event) -> None:
    """Lets all steps wait as if another file took the place of the file."""

    def replace() -> Steps[None]:
        yield from call(lambda: may_end.wait(60))

    log._changing = begin(threads, ensure(replace(), log._end_change))


def test_frees_a_lock_once_when_the_loop_closed_as_its_holder_freed_it(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To free it twice would free the lock of the next holder, which has the same connection."""
    is_reached, may_end = threading.Event(), threading.Event()
    has_lock, may_free = threading.Event(), threading.Event()
    freed: list[str] = []
    query = Connection._query

    def noted(connection: Connection, text: str, *rest: Any) -> Any:
        if "pg_advisory_unlock" in text:
            freed.append(text)
            is_reached.set()
            may_end.wait(60)
        return query(connection, text, *rest)

    def work() -> Steps[None]:
        has_lock.set()
        yield from call(lambda: may_free.wait(60))

    monkeypatch.setattr(Connection, "_query", noted)
    with journal_of({"connectionString": sandbox.call("createDatabase")}) as journal:
        locks = journal.shared.coordination(OWNER).locks
        hold_on_a_loop(locks, is_reached)
        next_hold = begin(threads, locks.hold(["lock"], work))
        may_end.set()
        assert has_lock.wait(60)
        may_free.set()
        until("the next holder has ended", lambda: next_hold.is_settled)
        assert len(freed) == 2


@pytest.mark.parametrize("signal", [None, Signal()], ids=["left", "given up"])
def test_frees_a_lock_that_the_database_gave_after_the_loop_closed(
    signal: Signal | None, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_reached, may_end = threading.Event(), threading.Event()
    query = Connection._query

    def held(connection: Connection, text: str, *rest: Any) -> Any:
        if "pg_try_advisory_lock" in text and not is_reached.is_set():
            is_reached.set()
            may_end.wait(60)
        return query(connection, text, *rest)

    monkeypatch.setattr(Connection, "_query", held)
    place = {"connectionString": sandbox.call("createDatabase")}
    with journal_of(place) as journal, journal_of(place) as other:
        hold_on_a_loop(journal.shared.coordination(OWNER).locks, is_reached, signal=signal)
        may_end.set()
        hold_soon(other.shared.coordination(OWNER).locks)


def test_keeps_a_lock_though_postgres_still_has_the_lost_connection(sandbox: Sandbox) -> None:
    """Postgres may notice the loss of a connection much later, and keep its locks till then."""
    has_lock, may_free = threading.Event(), threading.Event()

    def work() -> Steps[None]:
        has_lock.set()
        yield from call(lambda: may_free.wait(60))

    address, end = sandbox.call("createDatabase"), time.monotonic() + 60
    with journal_of({"connectionString": address}) as journal:
        shared: Any = journal.shared
        coordination = shared.coordination(OWNER)
        holding = begin(threads, coordination.locks.hold(["lock"], work))
        assert has_lock.wait(60)
        wire = Connection(address, end)

        def holders() -> list[str]:
            return [row["pid"] for row in wire.query(LOCK_HOLDERS, end=end)]

        before = holders()
        shared._parts.session._open.is_over = True
        threads.run(coordination.claims.take(["one"]))
        until("the lost connection has ended", lambda: before[0] not in holders())
        assert len(holders()) == len(before)
        may_free.set()
        until("the holder has ended", lambda: holding.is_settled)
        wire.close()


def test_frees_a_lock_of_a_file_when_the_loop_closed_while_another_file_replaced_it(
    tmp_path: Path,
) -> None:
    is_reached, may_end = threading.Event(), threading.Event()
    with journal_of({"path": str(tmp_path / "journal")}) as journal:
        shared: Any = journal.shared
        log: FileLog = threads.run(shared.log())

        def work() -> Steps[None]:
            replace_file(log, may_end)
            is_reached.set()
            yield from done(None)

        locks = shared.coordination(OWNER).locks
        hold_on_a_loop(locks, is_reached, work)
        may_end.set()
        hold_soon(locks)


def test_frees_a_lock_that_a_journal_gets_while_it_closes_if_another_uses_the_file(
    tmp_path: Path,
) -> None:
    may_end, may_free = threading.Event(), threading.Event()
    place = {"path": str(tmp_path / "journal")}

    def work() -> Steps[None]:
        yield from call(lambda: may_free.wait(60))

    with journal_of(place) as journal, journal_of(place) as other:
        shared: Any = journal.shared
        others: Any = other.shared
        log: FileLog = threads.run(shared.log())
        assert threads.run(others.log()) is log
        replace_file(log, may_end)
        holding = begin(threads, shared.coordination(OWNER).locks.hold(["lock"], work))
        until("it waits for the lock", lambda: bool(log._inside._hosts))
        closing = begin(threads, shared.close())
        may_end.set()
        until("the journal is closed", lambda: closing.is_settled)
        may_free.set()
        until("the call has ended", lambda: holding.is_settled)
        hold_soon(others.coordination(OWNER).locks)


def test_leaves_a_lock_to_its_holder_when_an_earlier_holder_taken_for_ended_frees_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal"
    journal = file_journal(path)
    other = "f" * 32

    def taken_over() -> Steps[None]:
        content = path.read_bytes()
        (me, lock) = json.loads(content[content.rindex(b" [") :])
        line = encode_line(len(content), json.dumps([other, {"gone": me}, lock]))
        path.write_bytes(content + line)
        yield from ()

    threads.run(journal.shared.coordination(OWNER).locks.hold(["a"], taken_over))
    journal.close()
    assert b"unlock" not in path.read_bytes()


def test_frees_a_lock_whose_line_is_written_when_the_disk_then_does_not_tell_the_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    journal = file_journal(path)
    locks = journal.shared.coordination(OWNER).locks
    threads.run(locks.hold(["a"], nothing))
    with monkeypatch.context() as patch:
        size, limit = OpenFile.size, path.stat().st_size

        def size_of(file: OpenFile) -> int:
            if path.stat().st_size > limit:
                raise OSError(5, "Input/output error")
            return int(size.__get__(file))

        patch.setattr(OpenFile, "size", property(size_of))
        failure_of(lambda: threads.run(locks.hold(["a"], nothing)), "journal_unavailable")
    threads.run(journal.shared.attempts(OWNER))
    assert path.read_bytes().count(b'"unlock"') == 2


def test_frees_a_lock_once_the_disk_has_room_again_though_its_process_takes_no_further_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (small_journal(str(tmp_path / "journal")) for _ in range(2))
    append, refusals = OpenFile.append, 0

    def append_if_room(file: OpenFile, data: bytes) -> None:
        nonlocal refusals
        if refusals > 0:
            refusals -= 1
            raise OSError(28, "No space left on device")
        append(file, data)

    def fill_disk() -> Steps[None]:
        nonlocal refusals
        # The unlock, and its one repetition.
        refusals = 2
        yield from ()

    monkeypatch.setattr(OpenFile, "append", append_if_room)
    threads.run(first.coordination(OWNER).locks.hold(["lock"], fill_disk))
    hold_soon(second.coordination(OWNER).locks)
    for journal in (first, second):
        threads.run(journal.close())
