"""What a file has to say that is written anew, as of one moment."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from ..attempts import entry_of
from ..balances import balance_json
from ..spending import SpentAt
from ..spent_keys import SpentKey, lean_of, spent_key_of
from ..states import OPEN_STATES, counted_at
from ..store_types import Made, StoreContent
from .records import LogRecord, Said
from .state import REWRITING, State
from .steps import owner_of

# A balance that nothing holds is read anew after a while.
_FORGOTTEN_MS = 10 * 60 * 1000
# Of the names that are counted under, so many are kept: more blockhashes are never valid.
_COUNTS = 512
# Long enough that a line costs little, short enough that none takes long.
_RECORDS_A_LINE = 100


class Snapshot(NamedTuple):
    """Taken down at once."""

    content: StoreContent
    spent: Sequence[SpentAt]
    others: Sequence[Said]


def snapshot_of(state: State, now: int) -> Snapshot:
    """What is to be written."""
    spending = state.attempts.spending
    content = state.attempts.content()
    decided = [one.attempt for one in content.kept if one.attempt["state"] not in OPEN_STATES]
    entries = [entry_of(attempt) for attempt in decided]
    # What attempts took that the file has is not to be in its sums too.
    for one in entries:
        spending.subtract(one.owner, one.place, one.at, one.cost)
    spent = spending.content()
    for one in entries:
        spending.add(one.owner, one.place, one.at, one.cost)
    books: list[LogRecord] = []
    for (owner, account), balance in state.balances.items():
        is_old = balance.known is None or balance.known.at < now - _FORGOTTEN_MS
        if not is_old or balance.held > 0:
            books.append({"book": [*owner, account, balance_json(balance)]})
    counts = list(state.counts.items())[-_COUNTS:]
    others = [
        *(Said(by, [{"seat": seat}]) for by, seat in state.seats.items()),
        Said("", books),
        Said("", [{"count": list(count)} for count in counts]),
        Said("", state.outbox.content()),
        *(Said(by, [{"claim": [id_]}]) for id_, all_ in state.claims.items() for by in all_),
        *(Said(by, [{"lock": name}]) for name, by in state.locks.items() if name != REWRITING),
        *(Said(by, _taken(jobs, now)) for by, jobs in state.taken.items()),
    ]
    closed = [Made(made, lean_of(attempt)) for made, attempt in content.closed]
    return Snapshot(content._replace(closed=closed), spent, others)


def _taken(jobs: Mapping[str, float], now: int) -> list[LogRecord]:
    return [{"taken": [until, id_]} for id_, until in jobs.items() if until > now]


def lines_of(snapshot: Snapshot, places: Sequence[int], history: int) -> list[Said]:
    """The lines of a file.

    ``places``: where each closed attempt is in the history; ``history``: how long that is.
    """
    made, kept, closed, keys = snapshot.content
    new_keys = [
        SpentKey(owner_of(one.attempt), key, place, counted_at(one.attempt))
        for one, place in zip(closed, places)
        for key in [spent_key_of(one.attempt)]
        if key is not None
    ]
    records: list[LogRecord] = [
        {"history": history},
        *({"spent": one.to_json()} for one in snapshot.spent),
        *_key_records([*keys, *new_keys]),
    ]
    for one in kept:
        records += [{"made": one.made}, {"put": one.attempt}]
    records.append({"made": made})
    lines = _in_lines(Said("", records))
    for said in snapshot.others:
        lines += _in_lines(said)
    return lines


def _in_lines(said: Said) -> list[Said]:
    starts = range(0, len(said.records), _RECORDS_A_LINE)
    return [Said(said.by, said.records[at : at + _RECORDS_A_LINE]) for at in starts]


def _key_records(keys: Sequence[SpentKey]) -> list[LogRecord]:
    """Keys in their order, those of an owner that follow each other in one record."""
    records: list[dict[str, Any]] = []
    for owner, key, one, at in keys:
        last = records[-1] if records else None
        is_same = last is not None and (last["wallet"], last["network"]) == owner
        if last is None or not is_same or len(last["keys"]) >= _RECORDS_A_LINE:
            empty: list[Any] = []
            last = {**owner._asdict(), "keys": empty}
            records.append(last)
        last["keys"].append([key, one, at])
    return [{"keys": one} for one in records]
