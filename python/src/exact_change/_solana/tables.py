"""Address lookup tables, read from the caller's own node."""

from __future__ import annotations

from collections import OrderedDict
from typing import Mapping, NamedTuple, Sequence

from typing_extensions import Literal, Protocol

from .._base.amounts import U64_MAX
from .._base.network import LOOKUP_TABLE_PROGRAM
from .._base.runtime import Runtime, since_then, system_runtime
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .address import Address, address_of
from .rpc.types import Account, Accounts
from .types import LookupTable

_HEADER_BYTES = 56
_MAX_KEYS = 256
# Tables only grow and are deactivated long before they are gone, so an old copy is a smaller one,
# never a wrong one.
_MAX_AGE_MS = 5 * 60_000
_CACHE_ENTRIES = 256


class ReadTable(NamedTuple):
    """A lookup table as it lies on the chain; ``none`` if there is none at the address."""

    table: LookupTable
    state: Literal["none", "inactive", "active"]


class AccountReader(Protocol):
    """What tables are read from."""

    def accounts(
        self, addresses: Sequence[Address], *, signal: Signal | None = None
    ) -> Steps[Accounts]:
        """Accounts at ``confirmed``."""
        ...


class TableCache:
    """The tables of one node, those that are active kept for a while."""

    def __init__(self, runtime: Runtime = system_runtime) -> None:
        self._runtime = runtime
        self._known: OrderedDict[Address, tuple[ReadTable, int]] = OrderedDict()

    def read(
        self,
        reader: AccountReader,
        addresses: Sequence[Address],
        *,
        fresh: bool = False,
        signal: Signal | None = None,
    ) -> Steps[list[ReadTable]]:
        """Tables in the order asked for, at most 100; ``fresh``: also those read before."""
        missing = [one for one in addresses if fresh or self._is_old(one)]
        read: dict[Address, ReadTable] = {}
        if missing:
            slot, accounts = yield from reader.accounts(missing, signal=signal)
            for address, account in zip(missing, accounts):
                read[address] = read_table(address, account, slot)
        found = [read[one] if one in read else self._known[one][0] for one in addresses]
        self._remember(read)
        return found

    def _is_old(self, address: Address) -> bool:
        known = self._known.get(address)
        return known is None or since_then(self._runtime, known[1]) >= _MAX_AGE_MS

    def _remember(self, read: Mapping[Address, ReadTable]) -> None:
        for address, one in read.items():
            if one.state == "active":
                self._known[address] = (one, self._runtime.now())
                self._known.move_to_end(address)
        while len(self._known) > _CACHE_ENTRIES:
            self._known.popitem(last=False)


def read_table(address: Address, account: Account | None, slot: int) -> ReadTable:
    """A table as an account has it, of which what was added in this very slot cannot be used."""
    data = b"" if account is None else account.data
    count, rest = divmod(len(data) - _HEADER_BYTES, 32)
    is_table = account is not None and account.owner == LOOKUP_TABLE_PROGRAM
    # u32 state 1, u64 deactivation slot, u64 last extended slot, u8 where that extension starts.
    if not is_table or rest or not 0 <= count <= _MAX_KEYS or data[:4] != b"\1\0\0\0":
        return ReadTable(LookupTable(address, ()), "none")
    if int.from_bytes(data[4:12], "little") != U64_MAX:
        return ReadTable(LookupTable(address, ()), "inactive")
    usable = count if int.from_bytes(data[12:20], "little") < slot else min(count, data[20])
    starts = range(_HEADER_BYTES, _HEADER_BYTES + 32 * usable, 32)
    keys = tuple(address_of(data[at : at + 32]) for at in starts)
    return ReadTable(LookupTable(address, keys), "active")
