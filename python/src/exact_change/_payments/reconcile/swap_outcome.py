"""Reads the amounts, fee and rent of a landed swap from a node's answer."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from ..._base.network import WSOL_MINT
from ..._journal.types import SignedSwap
from ..._kernel.steps import all_of, quiet, sleep
from ..._kernel.task import Steps
from ..._receipt import RelayFee
from ..._solana.address import Address
from ..._solana.rpc.types import LandedTransaction
from ..._solana.tokens import decode_token_account
from ..context import PaymentContext

# A node may confirm a transaction a moment before it can return it.
_TRIES = 10
_WAIT_MS = 200


class Sides(NamedTuple):
    """The input and output of a swap: mints, and the wallet's accounts."""

    input_mint: Address
    output_mint: Address
    source: Address
    output: Address
    # Whether a relayer paid the fee and the rents.
    is_relayed: bool = False


def own_fee(landed: LandedTransaction, is_relayed: bool) -> int:
    """Returns the network fee that the wallet paid; 0 if a relayer paid it."""
    return 0 if is_relayed else landed.fee_lamports


def relay_fee_of(swap: SignedSwap) -> RelayFee | None:
    """Returns the relayer's fee of a swap on record; None without a relayer."""
    relay = swap.get("relay")
    return None if relay is None else RelayFee(relay["mint"], relay["fee"])


def read_landed(context: PaymentContext, signature: str) -> Steps[LandedTransaction | None]:
    """Returns the landed transaction; None if the node does not give it."""
    for _ in range(_TRIES):
        if context.closing.aborted:
            break
        landed = yield from quiet(context.rpc.transaction(signature))
        # A string stands for a version above 0, which this library never signs.
        if landed is not None and not isinstance(landed, str):
            return landed
        yield from sleep(_WAIT_MS)
    return None


def swap_amounts_of(landed: LandedTransaction, wallet: Address, sides: Sides) -> tuple[int, int]:
    """Returns the amounts that a landed swap took from the wallet's accounts, and brought."""
    # Sum the lamports of the wallet's accounts: rent that moves between them cancels out, and
    # swapped SOL remains.
    own_accounts = dict.fromkeys((wallet, sides.source, sides.output))
    fee = own_fee(landed, sides.is_relayed)
    lamports = fee + sum(_lamport_change(landed, account) for account in own_accounts)
    taken, brought = -_token_change(landed, sides.source), _token_change(landed, sides.output)
    # Rent that a relayer paid came with no swap.
    given = _rent_kept(landed, wallet, sides) if sides.is_relayed else 0
    return (
        -lamports if sides.input_mint == WSOL_MINT else taken,
        lamports - given if sides.output_mint == WSOL_MINT else brought,
    )


def _token_accounts_of(sides: Sides, wallet: Address) -> dict[Address, Address]:
    accounts = {sides.source: sides.input_mint, sides.output: sides.output_mint}
    accounts.pop(wallet, None)
    return accounts


def _rent_kept(landed: LandedTransaction, wallet: Address, sides: Sides) -> int:
    """Sums the lamports of a swap's token accounts that are not wrapped SOL."""
    rent = 0
    for account, mint in _token_accounts_of(sides, wallet).items():
        wrapped = _token_change(landed, account) if mint == WSOL_MINT else 0
        rent += _lamport_change(landed, account) - wrapped
    return rent


def rent_in(landed: LandedTransaction, wallet: Address, sides: Sides) -> int | None:
    """Returns the rent of the wallet's token accounts that a landed swap created.

    None if the numbers of the node's answer contradict each other: then they must not lower the
    counted cost.
    """
    own_accounts = _token_accounts_of(sides, wallet)
    if landed.error is not None or not _is_whole(landed):
        return None
    if not all(_is_kept(landed, account, mint) for account, mint in own_accounts.items()):
        return None
    rent = _rent_kept(landed, wallet, sides)
    # If no SOL is swapped, all lamports that leave the wallet are fee and rent.
    if WSOL_MINT in (sides.input_mint, sides.output_mint):
        return 0 if sides.is_relayed else max(0, rent)
    spent = -_lamport_change(landed, wallet) - own_fee(landed, sides.is_relayed)
    return max(0, 0 if sides.is_relayed else rent, spent)


def failure_fee(landed: LandedTransaction | None, wallet: Address, is_relayed: bool) -> int | None:
    """Returns the wallet's network fee of a transaction that landed and failed.

    A failed transaction takes nothing else. None if the node's answer contradicts that.
    """
    if landed is None or landed.error is None or not _is_whole(landed):
        return None
    fee = own_fee(landed, is_relayed)
    has_moved = _lamport_change(landed, wallet) != -fee or any(
        change.before != change.after for change in landed.token_changes
    )
    return None if has_moved else fee


def remember_after(
    context: PaymentContext,
    landed: LandedTransaction,
    accounts: tuple[Address, Address],
    busy: frozenset[Address],
) -> Steps[None]:
    """Notes the balances of the wallet's accounts after a landed swap in the ledger.

    ``busy``: accounts that payments may have left from since the swap was sent.
    """
    at = context.now()
    changes: Mapping[Address, tuple[int, int]] = {
        change.account: (change.before, change.after) for change in landed.token_changes
    }
    for account in accounts:
        if account not in changes:
            yield from context.ledger.forget(account)
            continue
        before, after = changes[account]
        if account in busy:
            yield from _see_since(context, account, landed.slot, after - before)
        else:
            yield from context.ledger.see(account, after, at, landed.slot, after - before)


def read_after(context: PaymentContext, swap: SignedSwap, slot: int = 0) -> Steps[None]:
    """Corrects the known balances of a decided swap's accounts; the swap is from another call.

    The balance of the output is read after ``slot``, not forgotten: the swap's own call may have
    noted it, and payments may have left since. If a reading follows no known balance, the holds of
    these payments subtract them a second time.
    """
    yield from context.ledger.forget(swap["source"])
    yield from _see_since(context, swap["output"], slot)


def _see_since(context: PaymentContext, account: Address, slot: int, moved: int = 0) -> Steps[None]:
    """Notes the balance of an account after a slot. ``moved``: as for the ledger.

    If no node gives it, it is forgotten, and the next payment reads it.
    """
    known = yield from quiet(_read_since(context, account, slot), None)
    if known is None:
        yield from context.ledger.forget(account)
    else:
        yield from context.ledger.see(account, known[0], context.now(), known[1], moved)


def forget_accounts(context: PaymentContext, swap: SignedSwap) -> Steps[None]:
    """Forgets the known balances of a swap's accounts, because the swap may have changed them."""
    context.wallet.outdated.update((swap["source"], swap["output"]))
    yield from forget_outdated(context)


def forget_outdated(context: PaymentContext) -> Steps[None]:
    """Forgets the balances that ``forget_accounts`` could not forget."""

    def forget(account: str) -> Steps[None]:
        yield from context.ledger.forget(account)
        context.wallet.outdated.discard(account)

    yield from all_of([forget(account) for account in tuple(context.wallet.outdated)])


def remember_since(context: PaymentContext, account: Address, slot: int, least: int) -> Steps[None]:
    """Notes the balance of an account after a slot.

    If no node gives it, notes the least balance that the guard of the slot's swap has proved. A
    node that is behind would show less later, and cause a second swap.
    """
    known = yield from quiet(_read_since(context, account, slot), None)
    amount, seen = (least, None) if known is None else known
    yield from context.ledger.see(account, amount, context.now(), seen)


def _read_since(context: PaymentContext, account: Address, slot: int) -> Steps[tuple[int, int]]:
    """Returns the balance of an account at the end of a slot, and that slot.

    A busy account needs this read: a payment may land in the slot of the swap, and the slot does
    not show their order.
    """
    read = yield from context.rpc.accounts([account], min_slot=slot)
    found = read.accounts[0]
    decoded = None if found is None else decode_token_account(found)
    if decoded is None:
        raise LookupError("no token account")
    return decoded.amount, read.slot


def _is_whole(landed: LandedTransaction) -> bool:
    """Returns whether all lamport changes add up to the fee; a wrong number would break the sum."""
    missing = sum(before - after for before, after in landed.lamports.values())
    return missing == landed.fee_lamports


def _is_kept(landed: LandedTransaction, account: Address, mint: Address) -> bool:
    """Returns whether the changes of a mint's token accounts cancel out.

    Wrapped SOL also comes from lamports. Then the account's token change must equal its lamport
    change.
    """
    if (
        sum(change.after - change.before for change in landed.token_changes if change.mint == mint)
        == 0
    ):
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
    for change in landed.token_changes:
        if change.account == account:
            return change.after - change.before
    return 0
