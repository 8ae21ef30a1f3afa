"""Failures of a database under a journal in Postgres."""

from __future__ import annotations

import re
import threading
import time
from typing import Any

import pytest

from exact_change import Client, ExactChangeError, postgres_journal
from exact_change._journal.postgres.connection import Connection
from exact_change._journal.postgres.database import Pool
from exact_change._journal.postgres.failures import LostError
from exact_change._kernel.hosts import threads
from exact_change._kernel.steps import done
from exact_change._kernel.task import Steps, begin

from ..buyer import buy, journal_of
from ..filler import full
from ..holder import OWNER, attempt, start
from ..node import Sandbox
from ..opened import LOCK_HOLDERS, hurry
from ..payer import PRICE, failure_of, until


class Lossy:
    """Loses the answer to the n-th statement that contains a text."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.left: dict[str, int] = {}
        query = Connection._query

        def lossy(connection: Connection, text: str, values: Any, end: float) -> Any:
            rows = query(connection, text, values, end)
            for part in self.left:
                if part in text:
                    self.left[part] -= 1
                    if self.left[part] == 0:
                        raise LostError("cut after it was done")
            return rows

        patch.setattr(Connection, "_query", lossy)


@pytest.mark.parametrize("part", ["reserve(", ".put(", "commit", "unlock"])
def test_pays_once_when_the_answer_of_the_database_is_lost(
    part: str, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statement ran. The call may fail; the call and its repeat pay once in total."""
    wallet = sandbox.wallet(SOL="0.1", USDC="0.001")
    address = sandbox.call("createDatabase")
    before = sandbox.balance(sandbox.merchant, "USDC")
    lossy = Lossy(monkeypatch)
    url = f"{sandbox.api_url}/usdc?lost={part}"
    for at in range(1, 4):
        own_url = f"{url}{at}"
        with postgres_journal(address) as journal, Client(
            **sandbox.options(wallet, auto_swap=True, journal=journal)
        ) as client:
            client.resume()
            lossy.left = {part: at}
            try:
                client.get(own_url)
            except ExactChangeError as error:
                assert error.code == "journal_unavailable", error
                assert buy(client, own_url) in ("answered", "spent")
            lossy.left = {}

            def is_decided(client: Client = client) -> bool:
                client.resume()
                return all(receipt.state == "settled" for receipt in client.receipts())

            until("the payments are settled", is_decided)
            assert len(client.receipts()) == at
    assert sandbox.balance(sandbox.merchant, "USDC") - before == 3 * PRICE


def test_runs_five_statements_for_a_warm_payment(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in TypeScript: a read, the reservation, the signed payment, its answer, its settlement."""
    statements: list[str] = []
    query = Connection._query

    def noted(connection: Connection, text: str, values: Any, end: float) -> Any:
        statements.append(text)
        return query(connection, text, values, end)

    address = sandbox.call("createDatabase")
    wallet = sandbox.wallet(USDC="1")
    with postgres_journal(address) as journal, Client(
        **sandbox.options(wallet, journal=journal)
    ) as client:
        client.settled(client.get(f"{sandbox.api_url}/usdc"), timeout=60)
        monkeypatch.setattr(Connection, "_query", noted)
        client.settled(client.get(f"{sandbox.api_url}/usdc?warm"), timeout=60)
        pattern = r"reserve|put|from found|similar|account, record"
        kinds = [re.findall(pattern, statement) for statement in statements]
    assert [found[0] for found in kinds] == ["account, record", "reserve", "put", "put", "put"]


def test_reconnects_and_claims_again_after_the_database_restarts(sandbox: Sandbox) -> None:
    """The new connection takes the claims again, and other processes see them."""
    place = {"connectionString": sandbox.call("createDatabase")}
    wallet = sandbox.wallet(USDC="1")
    other = start(place)
    with journal_of(place) as journal, Client(**sandbox.options(wallet, journal=journal)) as client:
        client.get(f"{sandbox.api_url}/usdc")
        sandbox.call("restartPostgres")
        assert buy(client, f"{sandbox.api_url}/usdc?again") == "answered"
        claims = journal.shared.coordination(OWNER).claims
        until("the other claims again", lambda: threads.run(claims.live(["theirs"])) != set())
        other.communicate()
        until("the claim ends", lambda: threads.run(claims.live(["theirs"])) == set())
        assert client.spent()[0].used == "0.02"


def test_counts_however_often_postgres_undoes_a_deadlock(sandbox: Sandbox) -> None:
    """A new count deletes old ones, which other processes lock in another order."""
    address, end = sandbox.call("createDatabase"), time.monotonic() + 300
    with postgres_journal(address, timeout_ms=300_000) as journal:
        count = journal.shared.coordination(OWNER).next
        for name in ("a", "b"):
            threads.run(count(name))
        wire = Connection(address, end)
        third = Connection(address, end)

        def lock(name: str) -> str:
            return f"select from exact_change.counters where name = '{name}' for update"

        def is_waiting() -> bool:
            text = "select count(*)::text as n from pg_locks where not granted"
            return bool(third.query(text, [], end=end)[0]["n"] == "1")

        def is_locked() -> bool:
            text = "select name from exact_change.counters where name = 'a' for update skip locked"
            return third.query(text, [], end=end) == []

        wire.query("update exact_change.counters set used_at = now() - interval '2 days'", end=end)
        # The count waits for "b" last, so it finds the deadlock, unless this session looks later.
        wire.query(f"set deadlock_timeout = '1h'; begin; {lock('b')}", end=end)
        wire.query(f"savepoint without_a; {lock('a')}", end=end)
        counting = begin(threads, count("c"))
        for _ in range(2):
            until("the count waits", is_waiting)
            wire.query("rollback to without_a", end=end)
            until("the count holds a", is_locked)
            wire.query(lock("a"), end=end)
        wire.query("commit", end=end)
        wire.close()
        third.close()
        until("it has ended", lambda: counting.is_settled)
        assert counting.result() == 1


def test_ends_changes_of_one_balance_in_time_while_the_database_is_silent(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They run one by one, and each waits for the one before."""
    with postgres_journal(sandbox.call("createDatabase")) as journal:
        ledger = journal.shared.coordination(OWNER).ledger
        threads.run(ledger.forget("account"))
        # Only now, because a busy database may need longer to answer.
        hurry(monkeypatch, journal.shared, 2_000)

        def silent(_self: Connection, _text: str, _values: Any, end: float) -> Any:
            time.sleep(max(0.0, end - time.monotonic()))
            raise TimeoutError

        monkeypatch.setattr(Connection, "_query", silent)
        begun = time.monotonic()
        changes = [begin(threads, ledger.forget("account")) for _ in range(10)]
        until("all have ended", lambda: all(change.is_settled for change in changes))
        # One after the other, they would take 20 s.
        assert time.monotonic() - begun < 15
        assert {getattr(change.error, "code", None) for change in changes} == {
            "journal_unavailable"
        }
        monkeypatch.undo()


@pytest.mark.parametrize("step", ["reserve", "put"])
def test_keeps_no_write_that_was_still_waiting_for_a_lock_when_its_call_failed(
    step: str, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, end = sandbox.call("createDatabase"), time.monotonic() + 60
    with postgres_journal(address) as journal:
        shared = journal.shared
        if step == "put":
            threads.run(shared.reserve(attempt("one"), []))
        before = threads.run(shared.attempts(OWNER))
        wire = Connection(address, end)
        wire.query("begin; lock table exact_change.attempts", end=end)
        idle = Pool._idle_one

        def late(pool: Pool) -> Any:
            """Spends most of the call's time before its statement reaches the database."""
            time.sleep(3)
            return idle(pool)

        with monkeypatch.context() as patch:
            # Long: a tenth of what is left after the wait is for the way to the database.
            hurry(patch, shared, 4_000)
            patch.setattr(Pool, "_idle_one", late)
            writing = (
                shared.put(attempt("one", state="signed"))
                if step == "put"
                else shared.reserve(attempt("one"), [])
            )
            failure_of(lambda: threads.run(writing), "journal_unavailable")
        # A busy database may begin its wait late. A wait for the whole time would not be over by
        # then.
        time.sleep(2)
        wire.query("commit", end=end)
        running = """select count(*)::text as n from pg_stat_activity where state = 'active'
            and datname = current_database() and pid <> pg_backend_pid()"""
        until("it is done", lambda: wire.query(running, [], end=end)[0]["n"] == "0")
        wire.close()
        assert threads.run(shared.attempts(OWNER)) == before


def test_refuses_schemas_of_other_versions_and_invalid_options(sandbox: Sandbox) -> None:
    address = sandbox.call("createDatabase")
    with postgres_journal(address, schema="other") as journal:
        threads.run(journal.shared.reserve(attempt("a"), []))

        def execute(text: str) -> None:
            end = time.monotonic() + 60
            wire = Connection(address, end)
            wire.query(text, end=end)
            wire.close()

        # Another process may add the events of webhooks to the schema at any time.
        execute('create table "other"."endpoints" (seq int, id text, record text)')
        put = journal.shared.put(full("a", "signed"))
        failure_of(lambda: threads.run(put), "missing_dependency")
    with postgres_journal(address, schema="other") as journal:
        failure_of(lambda: threads.run(journal.shared.attempts(OWNER)), "missing_dependency")
    execute('drop table "other"."endpoints"; update "other"."version" set version = 9')
    with postgres_journal(address, schema="other") as journal:
        failure_of(lambda: threads.run(journal.shared.attempts(OWNER)), "invalid_option")
    for wrong in ({"schema": "Other"}, {"schema": "pg_x"}, {"timeout_ms": 0}, {"timeout_ms": True}):
        options: Any = wrong
        failure_of(lambda options=options: postgres_journal(address, **options), "invalid_option")  # type: ignore[misc]
    failure_of(lambda: postgres_journal("mysql://x"), "invalid_option")
    unreachable = postgres_journal("postgres://me:canary@127.0.0.1:1/db", timeout_ms=2_000)
    error = failure_of(
        lambda: threads.run(unreachable.shared.attempts(OWNER)), "journal_unavailable"
    )
    assert "canary" not in f"{error!r}{error.__cause__!r}{unreachable!r}"
    unreachable.close()


def test_pays_after_postgres_ended_all_connections(sandbox: Sandbox) -> None:
    wallet = sandbox.wallet(USDC="1")
    journal = journal_of({"connectionString": sandbox.call("createDatabase")})
    with journal, Client(**sandbox.options(wallet), journal=journal) as client:
        threads = [
            threading.Thread(target=client.get, args=(f"{sandbox.api_url}/usdc?n={number}",))
            for number in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sandbox.call("restartPostgres")
        answers = [client.get(f"{sandbox.api_url}/usdc?again={number}") for number in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 200]


def test_keeps_its_locks_in_a_database_that_ends_idle_sessions(sandbox: Sandbox) -> None:
    address, end = sandbox.call("createDatabase"), time.monotonic() + 60
    name = address.rpartition("/")[2]
    admin = Connection(address, end)
    admin.query(f"alter database {name} set idle_session_timeout = '500ms'", end=end)

    def holders() -> list[str]:
        return [row["pid"] for row in admin.query(LOCK_HOLDERS, end=end)]

    def work() -> Steps[None]:
        before = holders()
        idle = Connection(address, end)
        # It was idle after the journal was.
        until("an idle connection has ended", lambda: not idle.is_usable())
        assert before
        assert holders() == before
        idle.close()
        yield from done(None)

    with journal_of({"connectionString": address}) as journal:
        threads.run(journal.shared.coordination(OWNER).locks.hold(["lock"], work))
    admin.close()
