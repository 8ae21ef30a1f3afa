"""The content of a rewritten file, as of one moment."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from ..attempts import entry_of
from ..balances import balance_json
from ..spending import SpentAt
from ..spent_keys import SpentKey, lean_of
from ..states import OPEN_STATES
from ..store_types import Made, StoreContent
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


def lines_of(snapshot: Snapshot, new_keys: Sequence[SpentKey], history: int) -> list[LogLine]:
    """Returns the lines of a rewritten file.

    ``new_keys`` are the keys of the closed attempts, and ``history`` is the bytes of the history.
    """
    count, kept, _, keys = snapshot.content
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
