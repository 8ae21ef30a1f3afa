"""Lists the transactions of an account page by page, only as far back as needed."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from ..._kernel.steps import quiet
from ..._kernel.task import Steps
from ..._kernel.work_queue import WorkQueue
from ..._solana.address import Address
from ..._solana.rpc.rpc import Rpc
from ..._solana.rpc.types import SignatureInfo

# The most entries that nodes give in one answer.
_PAGE = 1_000
# Enough for far more transactions than a token account has in the life of a blockhash. Later
# transactions need pages too if the account was not looked at for long.
_MAX_PAGES = 100


class Listing(NamedTuple):
    """The transactions of an account from a slot on, as one node lists them."""

    # Newest first.
    entries: Sequence[SignatureInfo]
    # The newest entry before that slot; None if the node lists none.
    older: SignatureInfo | None
    # Whether all entries are here: an account may have more than `_MAX_PAGES` hold.
    is_complete: bool


class Pages:
    """The pages of an account's transactions at one node."""

    def __init__(self, rpc: Rpc, account: Address, min_slot: int) -> None:
        self._rpc = rpc
        self._account = account
        self._min_slot = min_slot
        self._entries: list[SignatureInfo] = []
        self._pages = 0
        self._is_whole = False
        self._line = WorkQueue()

    def since(self, slot: int) -> Steps[Listing]:
        """Lists the transactions of a slot or later; calls wait for each other."""
        return self._line.turn(lambda: self._load(slot))

    def _load(self, slot: int) -> Steps[Listing]:
        entries = self._entries
        while not self._reaches(slot) and self._pages < _MAX_PAGES:
            before = entries[-1].signature if entries else None
            page = yield from self._rpc.signatures_for(
                self._account, limit=_PAGE, before=before, min_slot=self._min_slot
            )
            self._pages += 1
            entries.extend(page)
            # Only an empty page is the last, because some nodes give less than a full page.
            self._is_whole = not page
        # Cut after the last entry of the slot or later: the first entry with a smaller slot may
        # have a wrong slot.
        places = (at for at in range(len(entries), 0, -1) if entries[at - 1].slot >= slot)
        end = next(places, 0)
        older = entries[end] if end < len(entries) else None
        return Listing(entries[:end], older, self._reaches(slot))

    def _reaches(self, slot: int) -> bool:
        return self._is_whole or (bool(self._entries) and self._entries[-1].slot < slot)


def newest_indexed(rpc: Rpc, busy: Sequence[Address], enough: int) -> Steps[int]:
    """Returns the newest slot that a node's index shows for busy accounts; -1 if it shows none.

    It stops at a slot of ``enough`` or later.
    """
    newest = -1
    for address in busy:
        # Some nodes list nothing for very busy accounts.
        empty: list[SignatureInfo] = []
        page = yield from quiet(rpc.signatures_for(address, limit=1), empty)
        newest = max(newest, page[0].slot if page else -1)
        if newest >= enough:
            break
    return newest
