"""The transactions of an account, asked for page by page, and no further back than is needed."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from ..._kernel.line import Line
from ..._kernel.steps import quiet
from ..._kernel.task import Steps
from ..._solana.address import Address
from ..._solana.rpc.rpc import Rpc
from ..._solana.rpc.types import SignatureInfo

# The most that nodes give in one answer.
_PAGE = 1_000
# Many more than a token account sees in the life of a blockhash; also what came since, if it was
# not looked at for long.
_MAX_PAGES = 100


class Listing(NamedTuple):
    """The transactions of an account from a slot on, as one node lists them."""

    # Newest first.
    entries: Sequence[SignatureInfo]
    # The newest entry that is older; None if the node lists none.
    older: SignatureInfo | None
    # Whether all of it is here: an account may have more than is looked through.
    is_complete: bool


class Pages:
    """What one node lists of an account."""

    def __init__(self, rpc: Rpc, account: Address, min_slot: int) -> None:
        self._rpc = rpc
        self._account = account
        self._min_slot = min_slot
        self._entries: list[SignatureInfo] = []
        self._pages = 0
        self._is_whole = False
        self._line = Line()

    def since(self, slot: int) -> Steps[Listing]:
        """One page after the other, whichever call asks."""
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
            # A page that is not full may still not be the last: some nodes give fewer.
            self._is_whole = not page
        # After the last of them: one entry with a wrong slot would cut off what stands behind it.
        places = (at for at in range(len(entries), 0, -1) if entries[at - 1].slot >= slot)
        end = next(places, 0)
        older = entries[end] if end < len(entries) else None
        return Listing(entries[:end], older, self._reaches(slot))

    def _reaches(self, slot: int) -> bool:
        return self._is_whole or (bool(self._entries) and self._entries[-1].slot < slot)


def newest_indexed(rpc: Rpc, busy: Sequence[Address], enough: int) -> Steps[int]:
    """The newest slot that a node's index shows of accounts that many transactions name.

    -1 if it shows nothing of them.
    """
    newest = -1
    for address in busy:
        # Some nodes list none of what is as busy as that.
        none: list[SignatureInfo] = []
        page = yield from quiet(rpc.signatures_for(address, limit=1), none)
        newest = max(newest, page[0].slot if page else -1)
        if newest >= enough:
            break
    return newest
