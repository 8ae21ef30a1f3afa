"""What a landed swap did, as a node shows it."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from ..._base.network import WSOL_MINT
from ..._journal.types import SignedSwap
from ..._kernel.steps import quiet, sleep
from ..._kernel.task import Steps
from ..._receipt import RelayFee
from ..._solana.address import Address
from ..._solana.rpc.types import LandedTransaction
from ..._solana.tokens import decode_token_account
from ..context import PaymentContext

# A node may show a transaction as confirmed a moment before it can give it.
_TRIES = 10
_WAIT_MS = 200


class Sides(NamedTuple):
    """What a swap takes from and brings to: mints, and the wallet's own accounts."""

    input_mint: Address
    output_mint: Address
    source: Address
    output: Address
    # Whether a relayer paid the fee and the rents.
    is_relayed: bool = False


def own_fee(landed: LandedTransaction, is_relayed: bool) -> int:
    """What the wallet paid of the network fee: nothing if a relayer did."""
    return 0 if is_relayed else landed.fee_lamports


def relay_fee_of(swap: SignedSwap) -> RelayFee | None:
    """What a relayer took, as records of a swap have it."""
    relay = swap.get("relay")
    return None if relay is None else RelayFee(relay["mint"], relay["fee"])


def read_landed(context: PaymentContext, signature: str) -> Steps[LandedTransaction | None]:
    """The landed swap; None if the node does not give it."""
    for _ in range(_TRIES):
        if context.closing.aborted:
            break
        landed = yield from quiet(context.rpc.transaction(signature))
        # A version above 0 is never ours.
        if landed is not None and not isinstance(landed, str):
            return landed
        yield from sleep(_WAIT_MS)
    return None


def swap_amounts_of(landed: LandedTransaction, wallet: Address, sides: Sides) -> tuple[int, int]:
    """What the landed transaction took from the wallet's own accounts, and brought."""
    # Lamports on all own accounts together: rent moves between them and cancels out, what SOL was
    # swapped does not.
    own = dict.fromkeys((wallet, sides.source, sides.output))
    fee = own_fee(landed, sides.is_relayed)
    lamports = fee + sum(_lamport_change(landed, one) for one in own)
    taken, brought = -_token_change(landed, sides.source), _token_change(landed, sides.output)
    return (
        -lamports if sides.input_mint == WSOL_MINT else taken,
        lamports if sides.output_mint == WSOL_MINT else brought,
    )


def rent_in(landed: LandedTransaction, wallet: Address, sides: Sides) -> int | None:
    """Rent of own token accounts that a landed swap made and that stay.

    Lamports on them that are no wrapped SOL. None if what a node gave of it does not agree with
    itself: then nothing of it may lower what is counted.
    """
    own = {sides.source: sides.input_mint, sides.output: sides.output_mint}
    own.pop(wallet, None)
    if landed.error is not None or not _is_whole(landed):
        return None
    if not all(_is_kept(landed, account, mint) for account, mint in own.items()):
        return None
    rent = 0
    for account, mint in own.items():
        wrapped = _token_change(landed, account) if mint == WSOL_MINT else 0
        rent += _lamport_change(landed, account) - wrapped
    # If no SOL is swapped, all that leaves the wallet is fee and rent, whatever it went into.
    if WSOL_MINT in (sides.input_mint, sides.output_mint):
        return 0 if sides.is_relayed else max(0, rent)
    left = -_lamport_change(landed, wallet) - own_fee(landed, sides.is_relayed)
    return max(0, 0 if sides.is_relayed else rent, left)


def failure_fee(
    landed: LandedTransaction | None, wallet: Address, is_relayed: bool = False
) -> int | None:
    """The fee of a transaction that landed and failed, which is all that it took.

    None if what a node gave of it does not agree with that.
    """
    if landed is None or landed.error is None or not _is_whole(landed):
        return None
    fee = own_fee(landed, is_relayed)
    has_moved = _lamport_change(landed, wallet) != -fee or any(
        one.before != one.after for one in landed.token_changes
    )
    return None if has_moved else fee


def remember_after(
    context: PaymentContext,
    landed: LandedTransaction,
    accounts: tuple[Address, Address],
    busy: frozenset[Address],
) -> Steps[None]:
    """Remembers what own accounts hold after it.

    ``busy``: the accounts that payments in flight could leave from since it was sent.
    """
    at = context.now()
    changes: Mapping[Address, tuple[int, int]] = {
        one.account: (one.before, one.after) for one in landed.token_changes
    }
    for account in accounts:
        if account not in changes:
            yield from context.ledger.forget(account)
            continue
        before, after = changes[account]
        known: tuple[int, int] | None = after, landed.slot
        if account in busy:
            known = yield from quiet(_read_since(context, account, landed.slot), None)
        # Forgotten, the next payment reads it.
        if known is None:
            yield from context.ledger.forget(account)
        else:
            yield from context.ledger.see(account, known[0], at, known[1], after - before)


def _read_since(context: PaymentContext, account: Address, slot: int) -> Steps[tuple[int, int]]:
    """What an account holds at the end of a slot, and of which.

    A payment that landed in the same slot as the swap may be known to have left, and no slot tells
    whether the swap has found it gone.
    """
    read = yield from context.rpc.accounts([account], min_slot=slot)
    found = read.accounts[0]
    decoded = None if found is None else decode_token_account(found)
    if decoded is None:
        raise LookupError("no token account")
    return decoded.amount, read.slot


def _is_whole(landed: LandedTransaction) -> bool:
    """No lamport comes or goes but for the fee: one wrong number of an answer does not add up."""
    gone = sum(before - after for before, after in landed.lamports.values())
    return gone == landed.fee_lamports


def _is_kept(landed: LandedTransaction, account: Address, mint: Address) -> bool:
    """Whether what an own account took of a mint, or gave, is what the other accounts say.

    Wrapped SOL comes from lamports too, which are whole.
    """
    if sum(one.after - one.before for one in landed.token_changes if one.mint == mint) == 0:
        return True
    before, after = landed.lamports.get(account, (0, 0))
    return (
        mint == WSOL_MINT
        and (before > 0) == (after > 0)
        and after - before == _token_change(landed, account)
    )


def _lamport_change(landed: LandedTransaction, account: Address) -> int:
    before, after = landed.lamports.get(account, (0, 0))
    return after - before


def _token_change(landed: LandedTransaction, account: Address) -> int:
    for one in landed.token_changes:
        if one.account == account:
            return one.after - one.before
    return 0
