"""A journal file after crashes, disk errors and changes by other programs."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from exact_change import file_journal
from exact_change._journal.file.disk import OpenFile
from exact_change._journal.file.line import encode_line
from exact_change._journal.log.state import State
from exact_change._journal.log.step import Step
from exact_change._journal.process_locks import lock_name
from exact_change._journal.types import Along
from exact_change._kernel.hosts import threads
from exact_change._kernel.steps import call, done
from exact_change._kernel.task import Steps, begin
from exact_change.errors import is_code

from .. import filler
from ..filler import contents_of, fill, full, small_journal
from ..forked import end_of
from ..holder import OWNER, attempt
from ..node import Sandbox
from ..payer import failure_of, until


@pytest.mark.parametrize("at", [4, 47, 49, 50, 51, 52, 53, 54, 55, 57])
def test_loses_nothing_when_a_process_is_killed_while_it_rewrites_the_file(
    at: int, sandbox: Sandbox, tmp_path: Path
) -> None:
    path = tmp_path / "journal"
    task = {"path": str(path), "prefix": "a", "times": 100, "at": at}
    output = tmp_path.with_suffix(".said")
    assert end_of(output, filler.main, task) == -signal.SIGKILL
    printed = output.read_text("utf-8").splitlines()
    journal = small_journal(str(path))
    fill(journal, "b", 10)
    threads.run(journal.close())
    found = contents_of(path)
    settled = [id_ for id_, state in found["attempts"] if state == "settled"]
    assert settled[: len(printed)] == printed and settled[-10:] == [f"b{at}" for at in range(10)]
    assert len(settled) <= len(printed) + 11
    assert sandbox.call("readJournal", str(path)) == found
    assert not [file for file in tmp_path.iterdir() if file.suffix == ".sock"]
    assert not [*tmp_path.glob("journal.history.*")]


def test_skips_a_cut_last_line_and_reports_a_changed_line_as_damage(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    path = tmp_path / "journal"
    with file_journal(path) as journal:
        for id_ in ("a", "b"):
            threads.run(journal.shared.reserve(attempt(id_), []))
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, whole.rindex(b"\n"))
    for cut in range(last, whole.rindex(b"\n") - 1, 37):
        path.write_bytes(whole[:cut])
        with file_journal(path) as journal:
            threads.run(journal.shared.reserve(attempt("c"), []))
        ids = [id_ for id_, _ in contents_of(path)["attempts"]]
        assert ids == ["a", "c"]
        assert sandbox.call("readJournal", str(path)) == contents_of(path)
    path.write_bytes(whole[: last - 9] + b"!" + whole[last - 8 :])
    size = path.stat().st_size
    error = failure_of(lambda: contents_of(path), "journal_damaged")
    assert error.details["path"] == str(path) and path.stat().st_size == size
    assert path.stat().st_mode & 0o777 == 0o600


def test_closes_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller that tries again and again must not run out of descriptors."""
    path = tmp_path / "journal"
    with file_journal(path) as journal:
        threads.run(journal.shared.reserve(attempt("a"), []))
    whole = path.read_bytes()
    path.write_bytes(whole[:-9] + b"!" + whole[-8:])
    opened: list[OpenFile] = []
    init = OpenFile.__init__

    def noted(file: OpenFile, descriptor: int) -> None:
        init(file, descriptor)
        opened.append(file)

    monkeypatch.setattr(OpenFile, "__init__", noted)
    failure_of(lambda: contents_of(path), "journal_damaged")
    assert [file._descriptor for file in opened] == [-1]


def test_refuses_an_open_file_that_was_replaced_or_cut(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = file_journal(path)
    threads.run(journal.shared.reserve(attempt("a"), []))
    replacement = path.with_name("other")
    replacement.write_bytes(path.read_bytes())
    path.rename(path.with_name("moved"))
    replacement.rename(path)
    failure_of(lambda: threads.run(journal.shared.attempts(OWNER)), "journal_unavailable")
    path.with_name("moved").rename(path)
    assert len(threads.run(journal.shared.attempts(OWNER))) == 1
    os.truncate(path, 100)
    failure_of(lambda: threads.run(journal.shared.attempts(OWNER)), "journal_damaged")
    failure_of(lambda: threads.run(journal.shared.attempts(OWNER)), "journal_damaged")


def test_keeps_earlier_writes_when_the_disk_is_full_or_fails_to_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = file_journal(tmp_path / "journal")
    threads.run(journal.shared.reserve(attempt("a"), []))
    with monkeypatch.context() as patch:

        def append_half(file: OpenFile, data: bytes) -> None:
            os.write(file._descriptor, data[: len(data) // 2])
            raise OSError(28, "No space left on device")

        patch.setattr(OpenFile, "append", append_half)
        failure_of(
            lambda: threads.run(journal.shared.reserve(attempt("b"), [])), "journal_unavailable"
        )
    threads.run(journal.shared.reserve(attempt("c"), []))
    with monkeypatch.context() as patch:

        def fails(_file: OpenFile) -> Any:
            raise OSError(5, "Input/output error")
            yield

        patch.setattr(OpenFile, "sync", fails)
        signed = full("c", "signed")
        failure_of(lambda: threads.run(journal.shared.put(signed)), "journal_unavailable")
    # The failed write is not on record, so the signed payment never left.
    listed = threads.run(journal.shared.attempts(OWNER))
    assert [(row["id"], row["state"]) for row in listed] == [("a", "reserved"), ("c", "reserved")]
    # The journal rewrites the file before the next sync.
    threads.run(journal.shared.put(signed))
    journal.close()
    assert contents_of(tmp_path / "journal")["attempts"] == [["a", "reserved"], ["c", "signed"]]


def add_ended_holder(path: Path, lock: str) -> None:
    """Adds a process to the file that took a lock and has ended."""
    other = "f" * 32
    seat = {"id": other, "pid": 1, "host": "elsewhere", "sign": f".{other}.seat"}
    content = path.read_bytes()
    records = [other, {"seat": seat}, {"lock": lock}]
    path.write_bytes(content + encode_line(len(content), json.dumps(records)))


def test_fails_and_does_not_spin_when_the_rewriter_has_ended_and_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    journal = file_journal(path)
    threads.run(journal.shared.reserve(attempt("a"), []))
    add_ended_holder(path, "rewriting")
    signed = full("a", "signed")
    with monkeypatch.context() as patch:

        def fails(_file: OpenFile) -> Any:
            raise OSError(5, "Input/output error")
            yield

        patch.setattr(OpenFile, "sync", fails)
        failure_of(lambda: threads.run(journal.shared.put(signed)), "journal_unavailable")
    append, appends = OpenFile.append, 0

    def append_once(file: OpenFile, data: bytes) -> None:
        nonlocal appends
        appends += 1
        # Without an end, a loop without a pause would stop this test as well.
        if 1 < appends < 100:
            raise OSError(28, "No space left on device")
        append(file, data)

    threads.run(journal.shared.reserve(attempt("b"), []))
    with monkeypatch.context() as patch:
        patch.setattr(OpenFile, "append", append_once)
        failure_of(lambda: threads.run(journal.shared.put(signed)), "journal_unavailable")
    assert appends < 10
    threads.run(journal.shared.put(signed))
    journal.close()
    assert contents_of(path)["attempts"] == [["a", "signed"], ["b", "reserved"]]


def test_fails_when_the_disk_is_too_full_to_free_the_lock_of_an_ended_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    journal = file_journal(path)
    threads.run(journal.shared.reserve(attempt("a"), []))
    add_ended_holder(path, lock_name(OWNER, "mint m"))
    locks = journal.shared.coordination(OWNER).locks

    def work() -> Steps[str]:
        return done("worked")

    with monkeypatch.context() as patch:

        def fails(_file: OpenFile, _data: bytes) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr(OpenFile, "append", fails)
        error = failure_of(lambda: threads.run(locks.hold(["mint m"], work)), "journal_unavailable")
        assert isinstance(error.__cause__, OSError)
    assert threads.run(locks.hold(["mint m"], work)) == "worked"
    journal.close()


def test_writes_webhook_events_with_attempts_if_an_endpoint_is_registered(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    endpoint: dict[str, Any] = {"id": "e", "url": "https://h.test/", "caller": "me", "events": []}
    endpoint = {**endpoint, "secrets": [], "createdAt": 1}
    journal = small_journal(str(path))

    def register(_: State) -> Step[None]:
        return Step([{"endpoint": endpoint}], None)

    threads.run(journal.run(register))
    fill(journal, "a", 2)
    entries = threads.run(journal.run(lambda at: Step((), at.outbox.content())))
    kinds = [entry["job"]["event"]["type"] for entry in entries if "job" in entry]
    threads.run(journal.close())
    assert kinds == ["payment.settled"] * 2


def test_keeps_what_became_of_a_payment_when_its_sync_fails_after_its_caller_gave_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = file_journal(tmp_path / "journal")
    shared, signed = journal.shared, full("a", "signed")
    threads.run(shared.reserve(full("a", "reserved"), [], Along(claim=["a"])))
    has_begun, may_fail = threading.Event(), threading.Event()

    def fail_late() -> None:
        has_begun.set()
        may_fail.wait(60)
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(OpenFile, "sync", lambda _: call(fail_late))
        signing = begin(threads, shared.put(signed, Along(claim=["body of a"])))
        assert has_begun.wait(60)
        # The caller gives up, and an equal call presents the payment, which settles.
        threads.run(shared.release("a", Along(drop=["a", "body of a"])))
        threads.run(shared.put(full("a", "settled")))
        may_fail.set()
        until("the sync has failed", lambda: signing.is_settled)
    assert is_code(signing.error, "journal_unavailable")
    assert [row["state"] for row in threads.run(shared.attempts(OWNER))] == ["settled"]
    journal.close()
