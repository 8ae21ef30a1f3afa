"""The content of a rewritten file, as of one moment."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from ..attempts import entry_of, is_from_service, owner_of, request_name
from ..balances import balance_json
from ..spending import SpentAt
from ..spent_keys import SpentKey, lean_of, spent_key_of
from ..states import OPEN_STATES, counted_at
from ..store_types import Made, StoreContent
from ..types import Attempt
from .records import LogLine, LogRecord
from .state import REWRITING, State

# Age at which a balance without holds is left out: by then it must be read again anyway.
_FORGOTTEN_MS = 10 * 60 * 1000
# Counters that are kept, the newest: more blockhashes are never valid at a time.
_COUNTS = 512
# Enough records that a line costs little, and few enough that no line takes long.
_RECORDS_A_LINE = 100


class Snapshot(NamedTuple):
    """The content of a rewritten file, as of one moment."""

    content: StoreContent
    spent: Sequence[SpentAt]
    others: Sequence[LogLine]


def snapshot_of(state: State, now: int) -> Snapshot:
    """Takes the snapshot of a state, in one turn."""
    spending = state.attempts.spending
    content = state.attempts.content()
    decided = [made.attempt for made in content.kept if made.attempt["state"] not in OPEN_STATES]
    entries = [entry_of(attempt) for attempt in decided]
    # The file keeps these attempts, so its sums must not count them as well.
    for entry in entries:
        spending.subtract(entry.owner, entry.place, entry.at, entry.cost)
    spent = spending.content()
    for entry in entries:
        spending.add(entry.owner, entry.place, entry.at, entry.cost)
    books: list[LogRecord] = []
    for (owner, account), balance in state.balances.items():
        is_old = balance.known is None or balance.known.at < now - _FORGOTTEN_MS
        if not is_old or balance.held > 0:
            books.append({"book": [*owner, account, balance_json(balance)]})
    counts = list(state.counts.items())[-_COUNTS:]
    others = [
        *(LogLine(by, [{"seat": seat}]) for by, seat in state.seats.items()),
        LogLine("", books),
        LogLine("", [{"count": list(count)} for count in counts]),
        LogLine("", state.outbox.content()),
        *(LogLine(by, [{"claim": [id_]}]) for id_, ids in state.claims.items() for by in ids),
        *(LogLine(by, [{"lock": name}]) for name, by in state.locks.items() if name != REWRITING),
        *(LogLine(by, _taken(jobs, now)) for by, jobs in state.taken.items()),
    ]
    closed = [Made(made, lean_of(attempt)) for made, attempt in content.closed]
    return Snapshot(content._replace(closed=closed), spent, others)


def _taken(jobs: Mapping[str, float], now: int) -> list[LogRecord]:
    return [{"taken": [until, id_]} for id_, until in jobs.items() if until > now]


def lines_of(snapshot: Snapshot, places: Sequence[int], history: int) -> list[LogLine]:
    """Returns the lines of a rewritten file.

    ``places`` are the places of the closed attempts in the history, and ``history`` is the bytes of
    the history.
    """
    count, kept, closed, keys = snapshot.content
    new_keys = [
        SpentKey(owner_of(made.attempt), key, place, counted_at(made.attempt))
        for made, place in zip(closed, places)
        for key in _spent_names(made.attempt)
    ]
    records: list[LogRecord] = [
        {"history": history},
        *({"spent": spent.to_json()} for spent in snapshot.spent),
        *_key_records([*keys, *new_keys]),
    ]
    for made in kept:
        records += [{"made": made.made}, {"put": made.attempt}]
    records.append({"made": count})
    lines = _in_lines(LogLine("", records))
    for line in snapshot.others:
        lines += _in_lines(line)
    return lines


def _spent_names(attempt: Attempt) -> list[str]:
    """Returns the names by which an attempt must still be found once it is in the history."""
    key = spent_key_of(attempt)
    names = [] if key is None else [key]
    # The caller of a service may repeat a payment's step, which needs no idempotency key.
    return [*names, request_name(attempt["fingerprint"])] if is_from_service(attempt) else names


def _in_lines(line: LogLine) -> list[LogLine]:
    starts = range(0, len(line.records), _RECORDS_A_LINE)
    return [LogLine(line.by, line.records[at : at + _RECORDS_A_LINE]) for at in starts]


def _key_records(keys: Sequence[SpentKey]) -> list[LogRecord]:
    """Returns records of keys in their order. Successive keys of an owner share a record."""
    records: list[dict[str, Any]] = []
    for owner, key, purchase, at in keys:
        last = records[-1] if records else None
        is_same = last is not None and (last["wallet"], last["network"]) == owner
        if last is None or not is_same or len(last["keys"]) >= _RECORDS_A_LINE:
            empty: list[Any] = []
            last = {**owner._asdict(), "keys": empty}
            records.append(last)
        last["keys"].append([key, purchase, at])
    return [{"keys": record} for record in records]
