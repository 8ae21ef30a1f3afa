"""The attempts of a journal in tables that exist."""

from __future__ import annotations

import json
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from ..._base.js import stringify, stringify_ascii
from ..._kernel.task import Steps
from ..._policy.caps import Cap, taken_of
from ..._policy.hosts import plain_host, portless
from ..attempts import copy_of, owner_of
from ..balances import Taken, reading_of
from ..process_locks import lock_name
from ..states import (
    OPEN_STATES,
    STATES,
    Counted,
    cost_in,
    counted_at,
    drops_swap,
    first_full,
    keeps_swap,
    may_follow,
)
from ..types import (
    ALONE,
    Along,
    Attempt,
    CapBlock,
    Hold,
    KeyTaken,
    Owner,
    Reserved,
    State,
)
from .balances import Balances, balances_in
from .batch import BatchedReserve
from .claims import SharedClaims
from .connection import LOCK_MS, Query, Row, Value
from .database import Database
from .failures import has_outbox
from .keys import digest, lock_key
from .statements import Statements

# Attempts that one statement of `spec/` fetches.
_PAGE = 500
_HOUR_MS = 60 * 60 * 1000
_NEVER = float("-inf")
# Answers of the stored functions, besides states.
_WRITTEN = "written"
_TELL = "tell"
_RELEASABLE = [state for state in STATES if STATES[state]["release"]]


class _Written(NamedTuple):
    """The result of a write: the state now on record, if any; or the cap that has no room."""

    standing: str | None
    block: CapBlock | None = None

    @property
    def is_done(self) -> bool:
        """Whether it is written, or not needed because the attempt on record is decided."""
        if self.standing is None or self.block is not None:
            return False
        return self.standing == _WRITTEN or bool(STATES[self.standing]["decided"])


class Attempts:
    """The calls of :class:`Journal` on attempts in tables."""

    def __init__(
        self, database: Database, statements: Statements, claims: SharedClaims, balances: Balances
    ) -> None:
        self._database = database
        self._statements = statements
        self._claims = claims
        self._balances = balances
        self._reserve = BatchedReserve(database, statements)

    def reserve(
        self,
        attempt: Attempt,
        caps: Sequence[Cap],
        along: Along = ALONE,
        hold: Hold | None = None,
    ) -> Steps[Reserved]:
        attempt = copy_of(attempt)
        owner, schema = owner_of(attempt), self._statements.schema
        checks = [(cap, cost) for cap in caps for cost in [taken_of(cap, attempt)] if cost > 0]
        key = self._lock_for(owner)
        values: list[Value] = [
            *owner,
            *cap_values(checks, attempt["at"]),
            attempt.get("resigns"),
            attempt["id"],
            *columns_of(attempt),
            key,
            LOCK_MS,
        ]
        held: Mapping[str, Any] = {}
        if hold is not None:
            held = {
                "hold": {
                    "account": hold.account,
                    "amount": attempt["amount"],
                    "from": hold.fresh.begin,
                    "to": hold.fresh.end,
                    "lock": lock_key(schema, "lock", lock_name(owner, hold.unless)),
                }
            }

        def write(beside: Mapping[str, Any]) -> Steps[Row]:
            return self._reserve(key, [*values, stringify({**beside, **held})])

        def is_made(row: Row) -> bool:
            return "taken" not in row and "n" not in row

        row = yield from self._balances.changing(lambda: self._claims.along(along, write, is_made))
        if "taken" in row:
            return KeyTaken(json.loads(row["taken"]))
        if "n" in row:
            return CapBlock(checks[int(row["n"])][0], int(row["used"]))
        if "held" not in row:
            return None
        before = json.loads(row["held"])["before"]
        return Taken(None if before is None else reading_of(before))

    def put(self, attempt: Attempt, along: Along = ALONE) -> Steps[None]:

        def write(values: Sequence[Value]) -> Steps[_Written]:
            # An attempt that ends unpaid must not drop an open swap, so read the record first.
            if attempt["state"] in ("abandoned", "unpaid"):
                return self._put_within("put", attempt, values, ())
            return self._put_once(values)

        def replace() -> Steps[CapBlock | None]:
            return self._replace(attempt, along, write)

        is_end = along.spend is not None or bool(along.free)
        yield from self._balances.changing(replace) if is_end else replace()

    def raise_(self, attempt: Attempt, caps: Sequence[Cap]) -> Steps[CapBlock | None]:
        return self._replace(
            attempt, ALONE, lambda values: self._put_within("raise", attempt, values, caps)
        )

    def release(self, id_: str, along: Along = ALONE) -> Steps[None]:

        def write(beside: Mapping[str, Any]) -> Steps[None]:
            values: list[Value] = [id_, _RELEASABLE, stringify(beside), False]
            text = self._statements["release"]
            (row,) = yield from self._database.query("release", text, values)
            if row.get("record") == _TELL:
                raise has_outbox(self._statements.schema)

        return self._balances.changing(lambda: self._claims.along(along, write, lambda _: True))

    def similar(
        self, owner: Owner, fingerprint: str, idempotency_key: str | None
    ) -> Steps[list[Attempt]]:
        statement, name = "similarByRequest", fingerprint
        if idempotency_key is not None:
            statement, name = "similarByKey", idempotency_key
        changes = self._balances.changes
        values = [*owner, digest(name)]
        rows = yield from self._database.query("similar", self._statements[statement], values)
        self._balances.note(owner, changes, balances_in(rows))
        return [json.loads(row["record"]) for row in rows if "record" in row]

    def attempts(
        self, owner: Owner, *, state: State | None = None, since: int | None = None
    ) -> Steps[list[Attempt]]:
        text = self._statements["openAttempts" if state in OPEN_STATES else "attempts"]
        begin_at = _NEVER if since is None else since
        found: list[Attempt] = []
        last = "0"
        while True:
            values = [*owner, last, state, begin_at]
            rows = yield from self._database.query("attempts", text, values)
            listed = [json.loads(row["record"]) for row in rows]
            # The column says when the attempt counts as spent, which may be long after it was made.
            found += [attempt for attempt in listed if attempt["at"] >= begin_at]
            if len(rows) < _PAGE:
                return found
            last = rows[-1]["place"]

    def used(self, owner: Owner, caps: Sequence[Cap], now: int) -> Steps[list[int]]:
        values = [*owner, *cap_values([(cap, 0) for cap in caps], now)]
        rows = yield from self._database.query("used", self._statements["used"], values)
        return [int(row["used"]) for row in rows]

    def _lock_for(self, owner: Owner) -> str:
        return lock_key(self._statements.schema, "reserve", *owner)

    def _put_once(self, values: Sequence[Value]) -> Steps[_Written]:
        told = [*values, False, LOCK_MS]
        (row,) = yield from self._database.query("put", self._statements["put"], told)
        return self._written(row)

    def _put_within(
        self, step: str, after: Attempt, values: Sequence[Value], caps: Sequence[Cap]
    ) -> Steps[_Written]:
        """Puts by the record in the database. With caps, it blocks reservations of the owner."""
        attempt, statements = copy_of(after), self._statements
        owner = owner_of(attempt)

        def write(query: Query) -> _Written:
            if caps:
                query(statements["lockOwner"], [self._lock_for(owner)])
            rows = query(statements["standing"], [attempt["id"]])
            if not rows:
                return _Written(None)
            before: Attempt = json.loads(rows[0]["record"])
            if drops_swap(before, attempt):
                return _Written(before["state"])
            if caps:
                checks = cap_values([(cap, 0) for cap in caps], attempt["at"])
                used = [int(row["used"]) for row in query(statements["used"], [*owner, *checks])]
                new, old = (Counted(record, cost_in(record)) for record in (attempt, before))
                block = first_full(caps, used, new, old)
                if block is not None:
                    return _Written(None, block)
            (row,) = query(statements["put"], [*values, False, LOCK_MS])
            return self._written(row)

        return self._database.transaction(step, digest("attempt", attempt["id"]), write)

    def _written(self, row: Row) -> _Written:
        standing = row.get("standing")
        if standing == _TELL:
            raise has_outbox(self._statements.schema)
        return _Written(standing)

    def _replace(
        self,
        after: Attempt,
        along: Along,
        put: Callable[[Sequence[Value]], Steps[_Written]],
    ) -> Steps[CapBlock | None]:
        attempt = copy_of(after)
        id_ = attempt["id"]
        before = [state for state in STATES if may_follow(state, attempt["state"])]
        columns = columns_of(attempt)

        def write(beside: Mapping[str, Any]) -> Steps[_Written]:
            values: list[Value] = [*owner_of(attempt), id_, before, *columns, stringify(beside)]
            return put(values)

        result = yield from self._claims.along(along, write, lambda written: written.is_done)
        if result.block is not None or result.is_done:
            return result.block
        if result.standing is None:
            raise RuntimeError(f"The attempt {id_} is not in the journal: it was released.")
        raise RuntimeError(f"The attempt {id_} is something else by now: it must not go on.")


def columns_of(attempt: Attempt) -> list[Value]:
    """Returns the columns of an attempt in the order of FORMAT.md: state, keep, at, ..., record."""
    cost = cost_in(attempt)
    key = attempt.get("idempotencyKey")
    is_found = not attempt["delivered"] or "resigns" in attempt
    return [
        attempt["state"],
        keeps_swap(attempt),
        counted_at(attempt),
        plain_host(attempt["host"]),
        portless(attempt["host"]),
        attempt["payTo"],
        attempt["mint"],
        list(cost),
        [str(value) for value in cost.values()],
        None if key is None else digest(key),
        digest(attempt["fingerprint"]) if is_found else None,
        stringify_ascii(attempt),
    ]


def cap_values(checks: Sequence[tuple[Cap, int]], now: float) -> list[Value]:
    """Returns ten lists with an entry for each cap. Each cap comes with the cost of an attempt."""
    caps = [cap for cap, _ in checks]
    since = [_NEVER if cap.window_ms is None else now - cap.window_ms for cap in caps]
    hours = [_NEVER if at == _NEVER else at // _HOUR_MS for at in since]
    return [
        list(range(len(caps))),
        [cap.unit for cap in caps],
        [str(cap.limit) for cap in caps],
        [str(cost) for _, cost in checks],
        since,
        hours,
        # End of the hour in which the window begins.
        [(hour + 1) * _HOUR_MS for hour in hours],
        [cap.host for cap in caps],
        [cap.pay_to for cap in caps],
        [cap.mint for cap in caps],
    ]
