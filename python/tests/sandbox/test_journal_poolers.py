"""Poolers before the database of a journal in Postgres."""

from __future__ import annotations

from typing import Callable, Iterator

import pytest

from exact_change._journal.types import Along
from exact_change._kernel.hosts import threads
from exact_change._kernel.steps import done

from ..buyer import journal_of
from ..holder import OWNER, attempt
from ..node import Sandbox
from ..payer import failure_of


@pytest.fixture
def pooled(sandbox: Sandbox) -> Iterator[Callable[[int, str], str]]:
    """Starts a pooler before a new database, which keeps sessions until it is told to share."""
    yield lambda size, next_: sandbox.call(
        "startPooler", sandbox.call("createDatabase"), size, next_
    )
    sandbox.call("closePooler")


@pytest.mark.parametrize(("size", "next_"), [(1, "last"), (2, "first"), (5, "last"), (5, "first")])
def test_refuses_a_pooler_that_shares_connections_before_anything_is_held(
    size: int, next_: str, sandbox: Sandbox, pooled: Callable[[int, str], str]
) -> None:
    address = pooled(size, next_)
    sandbox.call("sharePooler")
    with journal_of({"connectionString": address}) as journal:
        shared = journal.shared.coordination(OWNER)
        error = failure_of(lambda: threads.run(shared.claims.take(["one"])), "invalid_option")
        assert error.funds == "untouched"
        assert "session mode" in str(error)
        work = shared.locks.hold(["lock"], lambda: done(None))
        failure_of(lambda: threads.run(work), "invalid_option")
        along = Along(["theirs"])
        write = journal.shared.reserve(attempt("theirs"), [], along)
        failure_of(lambda: threads.run(write), "invalid_option")
        assert threads.run(journal.shared.attempts(OWNER)) == []


def test_refuses_a_pooler_that_begins_to_share_the_connections_of_an_open_journal(
    sandbox: Sandbox, pooled: Callable[[int, str], str]
) -> None:
    with journal_of({"connectionString": pooled(5, "first")}) as journal:
        shared = journal.shared.coordination(OWNER)
        threads.run(shared.locks.hold(["lock"], lambda: done(None)))
        sandbox.call("sharePooler")
        work = shared.locks.hold(["lock"], lambda: done(None))
        failure_of(lambda: threads.run(work), "invalid_option")
        failure_of(lambda: threads.run(shared.claims.take(["one"])), "invalid_option")
