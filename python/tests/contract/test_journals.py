"""Journals as both languages keep them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from exact_change._journal.attempts import copy_of
from exact_change._journal.balances import balance_json
from exact_change._journal.file.disk import open_file
from exact_change._journal.file.header import encode_header, read_header
from exact_change._journal.file.line import Line, encode_line, read_line
from exact_change._journal.file.scan import Damage
from exact_change._journal.file.tail import Me, tail_of
from exact_change._journal.log.snapshot import lines_of, snapshot_of
from exact_change._journal.log.state import State
from exact_change._journal.notices import events_of
from exact_change._journal.postgres.attempts import cap_values, columns_of
from exact_change._journal.postgres.keys import digest, lock_key, lock_name
from exact_change._journal.store_types import Archive
from exact_change._journal.types import Attempt, Owner
from exact_change._kernel.hosts import threads
from exact_change._policy.caps import taken_of

from ..spec import data, of
from .test_journal import cap_of

OWNERS = [Owner(wallet, "network") for wallet in ("w1", "w2")]
CAPS = [cap_of(cap) for cap in next(of("journals", "row"))["caps"]]


def no_recall(_place: int) -> Attempt:
    raise AssertionError("No row recalls what is over.")


def read(path: Path, content: bytes) -> Any:
    """The end of a file with some content."""
    path.write_bytes(content)
    me = Me("0" * 32, {})
    file = open_file(str(path))
    try:
        return threads.run(tail_of(str(path), file, me, Archive(no_recall, 4)))
    finally:
        file.close()


def said(state: State, now: int) -> Any:
    """All that a journal says."""
    return {
        "attempts": [
            [[one.attempt["id"], one.attempt["state"]] for one in state.attempts.attempts(owner)]
            for owner in OWNERS
        ],
        "used": [[str(one) for one in state.attempts.used(owner, CAPS, now)] for owner in OWNERS],
        "found": [
            [one["id"] for one in state.attempts.similar(owner, "f1", None)] for owner in OWNERS
        ],
        "claims": [[id_, sorted(by)] for id_, by in state.claims.items()],
        "locks": [list(one) for one in state.locks.items()],
        "counts": [list(one) for one in state.counts.items()],
        "seats": list(state.seats),
        "balances": [
            [*owner, account, balance_json(one)] for (owner, account), one in state.balances.items()
        ],
        "history": state.history,
        "sealedBy": state.sealed_by,
        "outbox": len(state.outbox.content()),
    }


def test_a_file_says_the_same_in_both_languages_whatever_became_of_it(tmp_path: Path) -> None:
    ends = {"damage": 0, "end": 0}
    for row in of("journals", "file"):
        try:
            tail = read(tmp_path / "journal", data(row["bytes"]))
            found: Any = {"end": tail.end, "says": said(tail.state, row["now"])}
        except Damage as damage:
            found = {"damage": damage.offset}
        assert found == row["out"]
        ends["damage" if "damage" in found else "end"] += 1
    assert min(ends.values()) > 40, ends


def test_a_file_is_written_anew_with_the_same_lines(tmp_path: Path) -> None:
    for row in of("journals", "anew"):
        state = read(tmp_path / "journal", data(row["bytes"])).state
        snapshot = snapshot_of(state, row["now"])
        places = range(len(snapshot.content.closed))
        lines = [[by, *records] for by, records in lines_of(snapshot, places, 9)]
        assert json.loads(json.dumps(lines)) == row["out"]


def test_lines_are_the_same_bytes(tmp_path: Path) -> None:
    for row in of("journals", "line"):
        line = encode_line(row["after"], row["json"])
        assert line == data(row["bytes"])
        read_back = read_line(line, True)
        assert read_back == Line(row["after"], row["json"].encode(), len(line))
    for row in of("journals", "reading"):
        found = read_line(data(row["bytes"]), row["isLast"])
        shown: Any = found
        if isinstance(found, Line):
            shown = {"after": found.after, "json": found.json.decode(), "length": found.length}
        assert shown == row["out"], row
    (tmp_path / "header").write_bytes(encode_header(7))
    header = read_header(open_file(str(tmp_path / "header")))
    assert header is not None and (header.version, header.length, header.whole) == (2, 82, 89)


def test_rows_of_postgres_are_the_same() -> None:
    for row in of("journals", "names"):
        text = row["text"]
        assert digest(text, "x") == row["digest"]
        assert lock_key("schema", "lock", text) == row["key"]
        assert lock_name(Owner(text, "n"), text) == row["lock"]
    for row in of("journals", "row"):
        attempt: Any = row["attempt"]
        *columns, record = columns_of(attempt)
        assert [*columns, json.loads(str(record))] == [
            *row["columns"][:-1],
            json.loads(row["columns"][-1]),
        ]
        assert record == row["columns"][-1]
        asked = [(cap, taken_of(cap, attempt)) for cap in map(cap_of, row["caps"])]
        values: list[Any] = cap_values(asked, attempt["at"])
        never = float("-inf")
        shown = [["never" if one == never else one for one in each] for each in values]
        assert shown == row["values"]


def test_changes_of_attempts_are_told_with_the_same_events() -> None:
    for row in of("journals", "events"):
        before = copy_of(row["before"])
        after = copy_of(row["after"]) if "after" in row else None
        found = events_of(before, after, row["now"])
        assert [{**one, "timestamp": ""} for one in found] == [
            {**one, "timestamp": ""} for one in row["out"]
        ]
