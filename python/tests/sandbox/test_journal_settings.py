"""Settings of a session with Postgres, and the deadlines of its first and of queued calls."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from exact_change import postgres_journal
from exact_change._journal.postgres.connection import Connection
from exact_change._journal.types import CapBlock
from exact_change._kernel.hosts import threads
from exact_change._kernel.task import begin

from ..holder import OWNER, attempt
from ..node import Sandbox
from ..opened import NOW, day_cap, hurry
from ..payer import failure_of, until

FLOOR = "create function app.floor(float8) returns float8 language sql as 'select 0::float8'"
EQUALS = """create function app.differ(text, text) returns boolean language sql as 'select false';
    create operator app.= (leftarg = text, rightarg = text, procedure = app.differ)"""


def change(address: str, text: str) -> None:
    """Runs statements; ``{name}`` is the name of the database."""
    end = time.monotonic() + 60
    wire = Connection(address, end)
    wire.query(text.replace("{name}", address.rpartition("/")[2]), end=end)
    wire.close()


def made(sandbox: Sandbox) -> str:
    """Returns the address of a database with the tables of a journal."""
    address: str = sandbox.call("createDatabase")
    with postgres_journal(address) as journal:
        threads.run(journal.shared.used(OWNER, [], NOW))
    return address


@pytest.mark.parametrize("setting", ["array_nulls = off", "session_replication_role = replica"])
def test_refuses_a_session_in_which_caps_would_count_nothing(
    setting: str, sandbox: Sandbox
) -> None:
    address = made(sandbox)
    change(address, f"alter database {{name}} set {setting}")
    with postgres_journal(address) as journal:
        shared = journal.shared
        reserved = shared.reserve(attempt("a"), [])
        error = failure_of(lambda: threads.run(reserved), "journal_unavailable")
        assert error.funds == "untouched"
        assert setting.split()[0] in str(error.__cause__)
        assert threads.run(shared.attempts(OWNER)) == []


@pytest.mark.parametrize("own", [FLOOR, EQUALS])
def test_counts_by_the_functions_and_operators_of_postgres(own: str, sandbox: Sandbox) -> None:
    address = made(sandbox)
    change(address, f"create schema app; {own}")
    change(address, "alter database {name} set search_path = app, pg_catalog")
    cap = day_cap(30_000)
    with postgres_journal(address) as journal:
        shared = journal.shared
        ends = [threads.run(shared.reserve(attempt(f"a{at}"), [cap])) for at in range(5)]
        assert ends == [None, None, None, *[CapBlock(cap, 30_000)] * 2]
        raised = shared.raise_(attempt("a0", microUsd="20000"), [cap])
        assert threads.run(raised) == CapBlock(cap, 20_000)


def test_keeps_texts_in_databases_and_sessions_of_other_encodings(sandbox: Sandbox) -> None:
    address = made(sandbox)
    change(address, "create database {name}_latin encoding latin1 template template0")
    change(address, "alter database {name} set client_encoding = 'LATIN1'")
    text = "é 汉 🪙 \ud800"
    for place in (address, f"{address}_latin"):
        with postgres_journal(place) as journal:
            shared = journal.shared
            given = attempt("a", idempotencyKey=text, url=f"https://api.test/{text}")
            assert threads.run(shared.reserve(given, [])) is None
            assert threads.run(shared.similar(OWNER, "", text)) == [given]
        end = time.monotonic() + 60
        wire = Connection(f"{place}?client_encoding=SQL_ASCII", end)
        (row,) = wire.query("select record from exact_change.attempts", [], end=end)
        wire.close()
        assert row["record"].isascii()


class Held:
    """Holds the statements with a text until it is freed."""

    def __init__(self, patch: pytest.MonkeyPatch, part: str) -> None:
        self.free = threading.Event()
        self.seen = 0
        query = Connection._query

        def held(connection: Connection, text: str, values: Any, end: float) -> Any:
            if part in text:
                self.seen += 1
                assert self.free.wait(60)
            return query(connection, text, values, end)

        patch.setattr(Connection, "_query", held)


def test_ends_the_first_call_in_time_while_the_tables_are_made(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch, "pg_tables")
    with postgres_journal(sandbox.call("createDatabase"), timeout_ms=1_000) as journal:
        calling = begin(threads, journal.shared.used(OWNER, [], NOW))
        claims = journal.shared.coordination(OWNER).claims
        claiming = begin(threads, claims.take(["one"]))
        until("both have failed", lambda: calling.is_settled and claiming.is_settled)
        codes = {getattr(task.error, "code", None) for task in (calling, claiming)}
        assert codes == {"journal_unavailable"}
        held.free.set()


def test_ends_a_reservation_in_time_while_the_one_before_it_runs(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres_journal(made(sandbox)) as journal:
        reserve = journal.shared.reserve
        threads.run(journal.shared.used(OWNER, [], NOW))
        hurry(monkeypatch, journal.shared, 1_000)
        held = Held(monkeypatch, ".reserve(")
        first = begin(threads, reserve(attempt("first"), []))
        until("it runs", lambda: held.seen == 1)
        others = [begin(threads, reserve(attempt(f"a{at}"), [])) for at in range(40)]
        until("the others have failed", lambda: all(other.is_settled for other in others))
        assert {getattr(other.error, "code", None) for other in others} == {"journal_unavailable"}
        assert not first.is_settled
        held.free.set()
        until("it has ended", lambda: first.is_settled)
        assert held.seen == 1
