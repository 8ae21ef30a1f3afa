"""A journal file that is rewritten, and the history beside it."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from exact_change import file_journal
from exact_change._journal.file.header import encode_header
from exact_change._journal.file.line import encode_line
from exact_change._journal.types import KeyTaken
from exact_change._kernel.hosts import threads

from ..filler import contents_of, fill, small_journal
from ..holder import OWNER, attempt
from ..node import Sandbox


def test_lets_both_languages_rewrite_a_file_while_both_use_it(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    """Closed attempts move to the history; nothing is lost, and keys stay spent."""
    path = tmp_path / "journal"

    def fill_small(prefix: str, times: int) -> None:
        journal = small_journal(str(path))
        try:
            fill(journal, prefix, times)
        finally:
            threads.run(journal.close())

    with ThreadPoolExecutor(2) as pool:
        node = pool.submit(sandbox.call, "fillJournal", str(path), "node ", 60)
        fill_small("python ", 119)
        node.result()
    # Other writes go on during a rewrite, so a last write is needed to end all rewrites.
    fill_small("last ", 1)
    assert path.stat().st_size < 200_000
    found = contents_of(path)
    ids = {f"node {at}" for at in range(60)} | {f"python {at}" for at in range(119)} | {"last 0"}
    assert {id_ for id_, _ in found["attempts"]} == ids and found["used"] == "180"
    assert {state for _, state in found["attempts"]} == {"settled"}
    assert sandbox.call("readJournal", str(path)) == found
    # 180 attempts of 3 kB and more were written.
    assert (tmp_path / "journal.history").stat().st_size > 100_000
    assert sorted(file.name for file in tmp_path.iterdir()) == ["journal", "journal.history"]
    with file_journal(path) as again:
        for key in ("python 0", "node 0"):
            (old,) = threads.run(again.shared.similar(OWNER, "", key))
            assert old["id"] == key


def test_lists_attempts_since_a_time_also_if_the_clock_was_back_when_others_were_archived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, now = tmp_path / "journal", attempt("any")["at"]
    journal = small_journal(str(path))
    for prefix, clock in (("today ", now), ("yesterday ", now - 86_400_000)):
        monkeypatch.setattr(time, "time_ns", lambda clock=clock: clock * 1_000_000)
        fill(journal, prefix, 40)
    threads.run(journal.close())
    assert b'"yesterday 0"' in (tmp_path / "journal.history").read_bytes()
    with file_journal(path) as again:
        listed = threads.run(again.shared.attempts(OWNER, since=now))
    assert {f"today {at}" for at in range(40)} <= {found["id"] for found in listed}


def test_finds_a_payment_of_a_service_in_the_history(tmp_path: Path) -> None:
    path, print_ = tmp_path / "journal", "auto-pay payment one"
    journal = small_journal(str(path))
    threads.run(journal.reserve(attempt("one", fingerprint=print_), []))
    payment = {"payerSignature": "one", "header": {"name": "", "value": ""}}
    for state in ("signed", "settled"):
        threads.run(journal.put(attempt("one", fingerprint=print_, state=state, payment=payment)))
    fill(journal, "later ", 40)
    threads.run(journal.close())
    assert b'"one"' in (tmp_path / "journal.history").read_bytes()
    with file_journal(path) as again:
        (found,) = threads.run(again.shared.similar(OWNER, print_, None))
    assert found["id"] == "one"


def test_takes_no_second_purchase_under_a_key_however_many_payments_of_services_came(
    tmp_path: Path,
) -> None:
    path, day = tmp_path / "journal", 86_400_000
    purchase = attempt("one", state="settled", idempotencyKey="key")
    (tmp_path / "journal.history").write_bytes(encode_line(0, json.dumps([0, purchase])))
    now = purchase["at"]
    names = [
        [f"request auto-pay payment {at}", 0, now + at // 10_000 * day + day]
        for at in range(20_001)
    ]
    keys = {**OWNER._asdict(), "keys": [["key", 0, now], *names]}
    header = encode_header()
    path.write_bytes(header + encode_line(len(header), json.dumps(["", {"keys": keys}])))
    with file_journal(path) as journal:
        again = attempt("two", idempotencyKey="key")
        taken = threads.run(journal.shared.reserve(again, []))
    assert isinstance(taken, KeyTaken) and taken.taken["id"] == "one"


def test_keeps_the_history_of_a_journal_that_was_moved_away_without_it(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    for prefix in ("before ", "after "):
        path.unlink(missing_ok=True)
        journal = small_journal(str(path))
        fill(journal, prefix, 40)
        threads.run(journal.close())
    (kept,) = tmp_path.glob("journal.history.*")
    assert b'"before 0"' in kept.read_bytes()
    with file_journal(path) as again:
        listed = threads.run(again.shared.attempts(OWNER))
    assert [found["id"] for found in listed] == [f"after {at}" for at in range(40)]


def test_keeps_the_history_of_a_journal_with_an_older_copy_put_back(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    for count in (80, 40):
        path.unlink(missing_ok=True)
        journal = small_journal(str(path))
        fill(journal, "", count)
        threads.run(journal.close())
    (kept,) = tmp_path.glob("journal.history.*")
    assert b'"50"' in kept.read_bytes()
