"""Journal files and rows, which both languages read and write alike."""

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
from exact_change._journal.file.spent_names import spent_names_of
from exact_change._journal.file.tail import ThisProcess, tail_of
from exact_change._journal.log.snapshot import lines_of, snapshot_of
from exact_change._journal.log.state import State
from exact_change._journal.notices import events_of
from exact_change._journal.postgres.attempts import cap_values, columns_of
from exact_change._journal.postgres.keys import digest, lock_key
from exact_change._journal.process_locks import lock_name
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
    """Returns the end of a journal file with this content."""
    path.write_bytes(content)
    me = ThisProcess("0" * 32, {})
    file = open_file(str(path))
    try:
        return threads.run(tail_of(str(path), file, me, Archive(no_recall, 4)))
    finally:
        file.close()


def contents_of(state: State, now: int) -> Any:
    """Returns the whole content of a journal as JSON."""
    return {
        "attempts": [
            [[row.attempt["id"], row.attempt["state"]] for row in state.attempts.attempts(owner)]
            for owner in OWNERS
        ],
        "used": [[str(used) for used in state.attempts.used(owner, CAPS, now)] for owner in OWNERS],
        "found": [
            [attempt["id"] for attempt in state.attempts.similar(owner, "f1", None)]
            for owner in OWNERS
        ],
        "claims": [[id_, sorted(by)] for id_, by in state.claims.items()],
        "locks": [list(lock) for lock in state.locks.items()],
        "counts": [list(count) for count in state.counts.items()],
        "seats": list(state.seats),
        "balances": [
            [*owner, account, balance_json(balance)]
            for (owner, account), balance in state.balances.items()
        ],
        "history": state.history,
        "sealedBy": state.sealed_by,
        "outbox": len(state.outbox.content()),
    }


def test_reads_an_intact_or_damaged_file_as_typescript_does(tmp_path: Path) -> None:
    ends = {"damage": 0, "end": 0}
    for row in of("journals", "file"):
        try:
            tail = read(tmp_path / "journal", data(row["bytes"]))
            found: Any = {"end": tail.end, "says": contents_of(tail.state, row["now"])}
        except Damage as damage:
            found = {"damage": damage.offset}
        assert found == row["out"]
        ends["damage" if "damage" in found else "end"] += 1
    assert min(ends.values()) > 40, ends


def test_rewrites_a_file_with_the_lines_of_typescript(tmp_path: Path) -> None:
    for row in of("journals", "anew"):
        state = read(tmp_path / "journal", data(row["bytes"])).state
        snapshot = snapshot_of(state, row["now"])
        closed = snapshot.content.closed
        names = spent_names_of(closed, range(len(closed)))
        lines = [[by, *records] for by, records in lines_of(snapshot, names, 9)]
        assert json.loads(json.dumps(lines)) == row["out"]


def test_writes_and_reads_a_line_byte_for_byte_as_typescript_does(tmp_path: Path) -> None:
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


def test_writes_the_postgres_rows_of_typescript() -> None:
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
        amounts = [(cap, taken_of(cap, attempt)) for cap in map(cap_of, row["caps"])]
        values: list[Any] = cap_values(amounts, attempt["at"])
        never = float("-inf")
        shown = [["never" if cell == never else cell for cell in column] for column in values]
        assert shown == row["values"]


def test_reports_a_change_of_an_attempt_with_the_events_of_typescript() -> None:
    for row in of("journals", "events"):
        before = copy_of(row["before"])
        after = copy_of(row["after"]) if "after" in row else None
        found = events_of(before, after, row["now"])
        assert [{**event, "timestamp": ""} for event in found] == [
            {**event, "timestamp": ""} for event in row["out"]
        ]
