"""The second witness that a transaction never landed: the balance of its source lacks nothing."""

from __future__ import annotations

from typing import Sequence

from ..._journal.balances import Reading
from ..._kernel.signals import Signal
from ..._kernel.task import Steps
from ..._solana.rpc.types import SignatureInfo
from .account_history import AccountHistory, SeenTransaction
from .history_pages import Listing
from .sent import SentTransaction

# The most transactions that one look reads at a node; the next look continues.
READS_A_LOOK = 32
# After so many listed transactions that the node does not give, stop and ask again later.
MAX_UNREADABLE = 5
# An account with more transactions than this in the life of a blockhash is flooded with dust. Not
# all of them are read.
_FLOOD = 1_000


def is_explained(
    node: AccountHistory,
    listing: Listing,
    sent: SentTransaction,
    as_of: int,
    is_indexed: bool,
    signal: Signal,
) -> Steps[bool]:
    """Returns whether the history explains the source's balance at the final slot ``as_of``.

    The slot is past the life of the blockhash. The balance is explained if it equals an earlier
    balance and all changes that the history shows since.
    """
    now = yield from node.balance(as_of, signal)

    def is_explained_from(before: Reading) -> Steps[bool]:
        # A failed transaction moves no tokens, but its payer pays the fee.
        moves = [
            entry
            for entry in listing.entries
            if before.slot < entry.slot <= now.slot
            and (entry.error is None or sent.source.unit == "lamports")
        ]
        moved = yield from _moved_by(node, moves, signal)
        if moved is None:
            return False
        expected = (yield from _held_after(node, listing, before, signal)) + moved
        # A larger balance is not explained either: an unseen deposit may hide a smaller payment. In
        # a flood, unread dust may only add to the balance.
        is_whole = now.amount >= expected if len(moves) > _FLOOD else now.amount == expected
        # A node may have given a wrong number, so read the transactions again. If they need more
        # than one look, keep them, else the looks would never finish.
        if not is_whole and is_indexed and len(moves) <= READS_A_LOOK:
            for entry in moves:
                node.forget(entry.signature)
        return is_whole

    before = sent.before
    if before is not None and (yield from is_explained_from(before)):
        return True
    # The balance read before the signature may be from a fork, or from a node that was behind. If
    # the index is complete, the last transaction before the signature shows the balance too.
    if before is not None and not is_indexed:
        return False
    base = yield from _base_of(node, listing, sent, signal)
    return base is not None and (yield from is_explained_from(base))


def _held_after(
    node: AccountHistory, listing: Listing, reading: Reading, signal: Signal
) -> Steps[int]:
    """Returns the balance of a reading at the end of its slot.

    The node may have read the balance in the middle of the slot.
    """
    last: int | None = None
    is_in_slot = False
    same_slot = [entry for entry in listing.entries if entry.slot == reading.slot]
    for entry in same_slot[:READS_A_LOOK]:
        found = yield from _look(node, entry, signal)
        if found is None or found.amounts is None:
            continue
        before, after = found.amounts
        # Entries are newest first, so the first entry with amounts ends the slot.
        last = after if last is None else last
        is_in_slot = is_in_slot or before == reading.amount
    return last if is_in_slot and last is not None else reading.amount


def _moved_by(
    node: AccountHistory, entries: Sequence[SignatureInfo], signal: Signal
) -> Steps[int | None]:
    """Returns the sum of the changes by transactions; None if too few can be read yet."""
    reads, moved = 0, 0
    for entry in entries:
        is_known = node.known(entry.signature) is not None
        if not is_known and reads >= READS_A_LOOK:
            # In a flood, skip the unread dust: it only adds to the balance, and must not delay the
            # decision.
            if len(entries) <= _FLOOD:
                return None
            continue
        reads += 0 if is_known else 1
        found = yield from _look(node, entry, signal)
        if found is None:
            return None
        if found.amounts is not None:
            moved += found.amounts[1] - found.amounts[0]
    return moved


def _base_of(
    node: AccountHistory, listing: Listing, sent: SentTransaction, signal: Signal
) -> Steps[Reading | None]:
    """Returns the source's balance after its last transaction before ours could land."""
    before = [entry for entry in every_of(listing) if entry.slot < sent.slot]
    # An account without earlier transactions began empty.
    if not before:
        return Reading(0, -1)
    for entry in before[:MAX_UNREADABLE]:
        found = yield from _look(node, entry, signal)
        if found is not None and found.amounts is not None:
            return Reading(found.amounts[1], entry.slot)
    return None


def every_of(listing: Listing) -> list[SignatureInfo]:
    """Returns all entries of a listing, newest first."""
    return [*listing.entries, *([] if listing.older is None else [listing.older])]


def _look(
    node: AccountHistory, entry: SignatureInfo, signal: Signal
) -> Steps[SeenTransaction | None]:
    """Returns the transaction of an entry; None if the node does not give it.

    None also if the node gives two slots for it, because one of them is wrong.
    """
    found = yield from node.read(entry.signature, signal)
    if found is None or found.slot in (None, entry.slot):
        return found
    node.forget(entry.signature)
    return None
