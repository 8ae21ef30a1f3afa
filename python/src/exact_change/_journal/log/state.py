"""The state that the records of a journal give, the same for each process that reads them."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ..balances import EMPTY, AccountBalance, balance_of, changed
from ..spending import spent_of
from ..spent_keys import SpentKeys
from ..store import AttemptStore
from ..store_types import Archive
from ..types import Owner
from .outbox import Outbox
from .records import LogRecord

# The name of the lock on a rewrite of the file. All other lock names begin with an owner.
REWRITING = "rewriting"
_MOST_COUNTS = 2_048


class State:
    """The state of a journal after the last record that was applied."""

    def __init__(self, archive: Archive | None = None, keys: SpentKeys | None = None) -> None:
        self.attempts = AttemptStore(archive, keys)
        self.outbox = Outbox()
        # Balances of accounts, by owner and account.
        self.balances: dict[tuple[Owner, str], AccountBalance] = {}
        # Process ids of the claimers, by claimed id.
        self.claims: dict[str, set[str]] = {}
        # Process id of the holder, by lock name.
        self.locks: dict[str, str] = {}
        # The current number of each counter, by name; the oldest counter first.
        self.counts: dict[str, int] = {}
        # Processes that use the file and may live, by id.
        self.seats: dict[str, Mapping[str, Any]] = {}
        # Jobs that each process took: job id and end of the lease, in milliseconds since the epoch.
        self.taken: dict[str, dict[str, float]] = {}
        # Bytes of the history.
        self.history = 0
        # Id of the process that sealed the file: no more lines count, because a new file comes.
        self.sealed_by: str | None = None

    def apply(self, by: str, records: Sequence[LogRecord]) -> None:
        """Applies records that a process wrote."""
        for record in records:
            self._apply(by, record)

    def balance(self, owner: Owner, account: str) -> AccountBalance:
        return self.balances.get((owner, account), EMPTY)

    def _apply(self, by: str, record: LogRecord) -> None:
        ((name, said),) = record.items()
        if name == "put":
            self.attempts.keep(said)
        elif name == "release":
            self.attempts.remove(said)
        elif name == "claim":
            for id_ in said:
                self.claims.setdefault(id_, set()).add(by)
        elif name == "drop":
            for id_ in said:
                self._drop(id_, by)
        elif name == "lock":
            self.locks[said] = by
        elif name == "unlock":
            self.locks.pop(said, None)
        elif name == "count":
            self._count(*said[:2])
        elif name == "balance":
            wallet, network, account, change = said
            key = Owner(wallet, network), account
            self.balances[key] = changed(self.balances.get(key, EMPTY), change)
        elif name == "seat":
            self.seats[by] = said
        elif name == "gone":
            self._end_process(said)
        elif name == "sealed":
            self.sealed_by = by if said else None
        else:
            self._apply_content(by, name, said, record)

    def _apply_content(self, by: str, name: str, said: Any, record: LogRecord) -> None:
        """Applies a record at the beginning of a rewritten file, or a record of the outbox."""
        if name == "made":
            self.attempts.count(said)
        elif name == "spent":
            self.attempts.spending.restore(spent_of(said))
        elif name == "keys":
            owner = Owner(said["wallet"], said["network"])
            for key, purchase, at in (fields[:3] for fields in said["keys"]):
                self.attempts.spend(owner, key, purchase, at)
        elif name == "book":
            wallet, network, account, balance = said
            self.balances[Owner(wallet, network), account] = balance_of(balance)
        elif name == "history":
            self.history = said
        elif name == "taken":
            for id_ in said[1:]:
                self._end_job(id_)
                self.taken.setdefault(by, {})[id_] = said[0]
        elif name != "synced":
            if name == "jobDone":
                self._end_job(said)
            self.outbox.apply(record)

    def _drop(self, id_: str, by: str) -> None:
        holders = self.claims.get(id_)
        if holders is not None:
            holders.discard(by)
            if not holders:
                del self.claims[id_]

    def _end_process(self, process: str) -> None:
        self.seats.pop(process, None)
        for id_ in list(self.claims):
            self._drop(id_, process)
        for name in [name for name, by in self.locks.items() if by == process]:
            del self.locks[name]
        self.taken.pop(process, None)
        if self.sealed_by == process:
            self.sealed_by = None

    def _end_job(self, id_: str) -> None:
        for ids in self.taken.values():
            ids.pop(id_, None)

    def _count(self, name: str, number: int) -> None:
        # Names are blockhashes; about 150 are valid at a time.
        if len(self.counts) >= _MOST_COUNTS and name not in self.counts:
            del self.counts[next(iter(self.counts))]
        self.counts[name] = number
