"""The second witness: whether the balance of a source lacks nothing."""

from __future__ import annotations

from typing import Sequence

from ..._journal.balances import Reading
from ..._kernel.signals import Signal
from ..._kernel.task import Steps
from ..._solana.rpc.types import SignatureInfo
from .account_history import AccountHistory, LookedAt
from .history_pages import Listing
from .sent import Sent

# Transactions that one look reads at a node; the next look goes on from there.
READS_A_LOOK = 32
# A node that does not give so many of its own transactions is asked again later.
MAX_UNREADABLE = 5
# An account with more transactions than this in the life of a blockhash is flooded: not all of them
# are read.
_FLOOD = 1_000


def is_explained(
    node: AccountHistory,
    listing: Listing,
    sent: Sent,
    as_of: int,
    is_indexed: bool,
    signal: Signal,
) -> Steps[bool]:
    """Whether the source lacks nothing, at a final slot past the life of the blockhash.

    What it held before, and all that its history shows since, leave what it holds.
    """
    now = yield from node.balance(as_of, signal)

    def is_left(before: Reading) -> Steps[bool]:
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
        left = (yield from _held_after(node, listing, before, signal)) + moved
        # More than that is not explained either: what brought it may hide what took less. Of a
        # flood, not all of the dust was read.
        is_whole = now.amount >= left if len(moves) > _FLOOD else now.amount == left
        # One number of them may have been wrong; of more than one look reads, it would never be
        # through with them.
        if not is_whole and is_indexed and len(moves) <= READS_A_LOOK:
            for entry in moves:
                node.forget(entry.signature)
        return is_whole

    before = sent.before
    if before is not None and (yield from is_left(before)):
        return True
    # What was read at the time may have been on a fork, or of a node that was behind: the last
    # transaction before it says it too, if none is missing.
    if before is not None and not is_indexed:
        return False
    base = yield from _base_of(node, listing, sent, signal)
    return base is not None and (yield from is_left(base))


def _held_after(
    node: AccountHistory, listing: Listing, reading: Reading, signal: Signal
) -> Steps[int]:
    """What a reading is at the end of its slot.

    A node may have read in the middle of it, and given that slot all the same.
    """
    last: int | None = None
    is_in = False
    same = [one for one in listing.entries if one.slot == reading.slot]
    for entry in same[:READS_A_LOOK]:
        found = yield from _look(node, entry, signal)
        if found is None or found.amounts is None:
            continue
        before, after = found.amounts
        # Newest first: the first one with amounts ends the slot.
        last = after if last is None else last
        is_in = is_in or before == reading.amount
    return last if is_in and last is not None else reading.amount


def _moved_by(
    node: AccountHistory, entries: Sequence[SignatureInfo], signal: Signal
) -> Steps[int | None]:
    """What transactions moved in all; None if too little of it can be read yet."""
    reads, moved = 0, 0
    for entry in entries:
        is_known = node.known(entry.signature) is not None
        if not is_known and reads >= READS_A_LOOK:
            # Dust by the thousand only adds to the balance: it must not keep the question open.
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
    node: AccountHistory, listing: Listing, sent: Sent, signal: Signal
) -> Steps[Reading | None]:
    """What the source held after its last transaction before ours could land."""
    before = [one for one in every_of(listing) if one.slot < sent.slot]
    # An account without a past has begun with nothing.
    if not before:
        return Reading(0, -1)
    for entry in before[:MAX_UNREADABLE]:
        found = yield from _look(node, entry, signal)
        if found is not None and found.amounts is not None:
            return Reading(found.amounts[1], entry.slot)
    return None


def every_of(listing: Listing) -> list[SignatureInfo]:
    """All that is listed, newest first."""
    return [*listing.entries, *([] if listing.older is None else [listing.older])]


def _look(node: AccountHistory, entry: SignatureInfo, signal: Signal) -> Steps[LookedAt | None]:
    """An entry's transaction.

    None if the node does not give it, or tells two slots of it, of which one is wrong.
    """
    found = yield from node.read(entry.signature, signal)
    if found is None or found.slot in (None, entry.slot):
        return found
    node.forget(entry.signature)
    return None
