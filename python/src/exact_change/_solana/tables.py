"""Address lookup tables, read from the caller's own node."""

from __future__ import annotations

from collections import OrderedDict
from typing import Mapping, NamedTuple, Sequence

from typing_extensions import Literal

from .._base.amounts import U64_MAX
from .._base.network import LOOKUP_TABLE_PROGRAM
from .._base.runtime import Runtime, since_then, system_runtime
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .address import Address, address_of
from .rpc.types import Account, Reads
from .types import LookupTable

_HEADER_BYTES = 56
_MAX_KEYS = 256
# Milliseconds that a copy is used. A table only grows, and it is deactivated long before it is
# closed. So an old copy may be smaller, but never wrong.
_MAX_AGE_MS = 5 * 60_000
_CACHE_ENTRIES = 256


class ReadTable(NamedTuple):
    """A lookup table with its state; ``none`` if there is no lookup table at the address."""

    table: LookupTable
    state: Literal["none", "inactive", "active"]


class TableCache:
    """Reads lookup tables from one node, and keeps copies of active tables for five minutes."""

    def __init__(self, runtime: Runtime = system_runtime) -> None:
        self._runtime = runtime
        self._known: OrderedDict[Address, tuple[ReadTable, int]] = OrderedDict()

    def read(
        self,
        reader: Reads,
        addresses: Sequence[Address],
        *,
        fresh: bool = False,
        signal: Signal | None = None,
    ) -> Steps[list[ReadTable]]:
        """Reads up to 100 lookup tables, in the order of ``addresses``.

        ``fresh`` asks the node for cached tables too.
        """
        missing = [address for address in addresses if fresh or self._is_old(address)]
        read: dict[Address, ReadTable] = {}
        if missing:
            slot, accounts = yield from reader.accounts(missing, signal=signal)
            for address, account in zip(missing, accounts):
                read[address] = read_table(address, account, slot)
        found = [read[key] if key in read else self._known[key][0] for key in addresses]
        self._remember(read)
        return found

    def _is_old(self, address: Address) -> bool:
        known = self._known.get(address)
        return known is None or since_then(self._runtime, known[1]) >= _MAX_AGE_MS

    def _remember(self, read: Mapping[Address, ReadTable]) -> None:
        for address, table in read.items():
            if table.state == "active":
                self._known[address] = (table, self._runtime.now())
                self._known.move_to_end(address)
        while len(self._known) > _CACHE_ENTRIES:
            self._known.popitem(last=False)


def read_table(address: Address, account: Account | None, slot: int) -> ReadTable:
    """Decodes a lookup table, without keys that can be used only from the next slot on."""
    data = b"" if account is None else account.data
    count, remainder = divmod(len(data) - _HEADER_BYTES, 32)
    is_table = account is not None and account.owner == LOOKUP_TABLE_PROGRAM
    # Layout: u32 state 1, u64 deactivation slot, u64 last extended slot, u8 start of the extension.
    if not is_table or remainder or not 0 <= count <= _MAX_KEYS or data[:4] != b"\1\0\0\0":
        return ReadTable(LookupTable(address, ()), "none")
    if int.from_bytes(data[4:12], "little") != U64_MAX:
        return ReadTable(LookupTable(address, ()), "inactive")
    usable = count if int.from_bytes(data[12:20], "little") < slot else min(count, data[20])
    starts = range(_HEADER_BYTES, _HEADER_BYTES + 32 * usable, 32)
    keys = tuple(address_of(data[at : at + 32]) for at in starts)
    return ReadTable(LookupTable(address, keys), "active")
