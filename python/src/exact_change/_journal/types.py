"""Records of a journal. Both languages read their JSON, so fields have the names of JSON.

Amounts are decimal strings of base units; times are milliseconds since the epoch.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence, Union

from typing_extensions import Literal, NotRequired, Protocol, TypedDict

from .._kernel.task import Steps
from .._policy.caps import Cap
from .._policy.cost import SwapCost
from .balances import Fresh, Taken
from .ledger import Ledger
from .locks import Locks

State = Literal["reserved", "abandoned", "unpaid", "signed", "settled", "unsettled"]


class ReadingJson(TypedDict):
    """The balance of an account, as of a slot."""

    amount: str
    slot: int


class HeaderJson(TypedDict):
    name: str
    value: str


class SignedPayment(TypedDict):
    """A signed payment, with the data to present it again and to find it on chain."""

    header: HeaderJson
    # Our own signature, base58.
    payerSignature: str
    # The token account that the payment leaves from.
    source: str
    # Text of the payment's memo: it finds the payment among the account's transactions.
    memo: NotRequired[str]
    # Balance of `source` before the payment was signed.
    before: NotRequired[ReadingJson]
    # The payment cannot have landed before this slot.
    slot: int
    blockhash: str
    # The blockhash was valid as of this slot.
    blockhashSlot: int
    lastValidBlockHeight: str
    # Whether the header carries a payment id that the seller asked for.
    hasPaymentId: NotRequired[bool]


class SwapAmounts(TypedDict):
    """Amounts that a swap takes and brings."""

    inAmount: str
    outAmount: str
    feeLamports: str


class SwapOutcome(TypedDict):
    """The outcome of a swap: ``confirmed`` with its amounts, or ``failed`` with its code."""

    state: Literal["confirmed", "failed"]
    inAmount: NotRequired[str]
    outAmount: NotRequired[str]
    feeLamports: NotRequired[str]
    rentLamports: NotRequired[str]
    code: NotRequired[str]


class SwapRelay(TypedDict):
    """The fee of a relayer that paid a swap's lamports, and our signature of the transaction."""

    payerSignature: str
    mint: str
    fee: str


class SignedSwap(TypedDict):
    """A swap that an attempt signed; its outcome is added later."""

    signature: str
    # Base64 of the signed transaction.
    transaction: str
    inputMint: str
    outputMint: str
    provider: str
    # The wallet's own token accounts that the swap takes from and brings to.
    source: str
    output: str
    # Balance of `source` before the swap was signed; the wallet's lamports if the swap sells SOL.
    before: NotRequired[ReadingJson]
    blockhash: str
    blockhashSlot: int
    lastValidBlockHeight: str
    # Quoted amounts, which are reported if no node gives the amounts that the swap moved.
    quoted: SwapAmounts
    # Set if a relayer paid the swap's lamports: `signature` is its own then. Absent: we paid them.
    relay: NotRequired[SwapRelay]
    # Absent until the chain has decided.
    outcome: NotRequired[SwapOutcome]


class Attempt(TypedDict):
    """One attempt to pay, from its reservation until the chain has decided."""

    id: str
    wallet: str
    network: str
    state: State
    # Whether the purchase reached the caller.
    delivered: bool
    # When a repeated call was first about to report that the payment is spent (`tellingAt`), and
    # when it had reported that (`toldAt`).
    tellingAt: NotRequired[int]
    toldAt: NotRequired[int]
    url: str
    method: str
    host: str
    # Equal for requests with the same method, URL and body.
    fingerprint: str
    idempotencyKey: NotRequired[str]
    # Id of the earlier attempt at the same purchase, after which `policy.resign` lets sign again.
    resigns: NotRequired[str]
    at: int
    payTo: str
    mint: str
    amount: str
    # Millionths of a dollar; absent if the mint has no price.
    microUsd: NotRequired[str]
    # When the chain had shown what left: caps count the attempt from then. Absent: from `at`.
    leftAt: NotRequired[int]
    # Cost of the attempt's swaps, as the chain showed it.
    swapped: NotRequired[SwapCost]
    # The most that a swap takes that was about to be signed, or is signed and not decided.
    swapping: NotRequired[SwapCost]
    # The swap that was signed last.
    swap: NotRequired[SignedSwap]
    payment: NotRequired[SignedPayment]
    # Why the seller's answer does not show what became of the payment.
    doubt: NotRequired[str]
    # Absent until a payment is signed; see `receipts.py`.
    receipt: NotRequired[Any]


class Owner(NamedTuple):
    """The owner of attempts: one wallet on one network (CAIP-2)."""

    wallet: str
    network: str


class CapBlock(NamedTuple):
    """A cap without room; ``used`` is in the cap's unit."""

    cap: Cap
    used: int


class KeyTaken(NamedTuple):
    """An earlier attempt with the same key is reserved, signed or settled."""

    taken: Attempt


class Hold(NamedTuple):
    """Tokens of an account that are to be held for an attempt."""

    account: str
    # The time range in which the account's balance must have been read.
    fresh: Fresh
    # Name of a lock: while it is held, nothing may be taken from the account.
    unless: str


class Along(NamedTuple):
    """Changes that happen in one step with the write of an attempt, or not at all."""

    # Attempt ids that the writer claims, and ids that it no longer claims: see `Claims`.
    claim: Sequence[str] = ()
    drop: Sequence[str] = ()
    # Ends the attempt's hold on an account: the tokens left, in a slot as the chain shows it.
    spend: tuple[str, int] | None = None
    # Ends the attempt's holds on accounts: the tokens stayed.
    free: Sequence[str] = ()


ALONE = Along()
# The result of a reservation: why it was refused, or the tokens that it took. None if it was made
# and took no tokens.
Reserved = Union[CapBlock, KeyTaken, Taken, None]


class Claims(Protocol):
    """Marks the attempts that calls work on. A claim ends with its process, however that ends."""

    def take(self, ids: Sequence[str]) -> Steps[None]:
        """Claims attempts."""
        ...

    def drop(self, ids: Sequence[str]) -> Steps[None]:
        """Releases claims."""
        ...

    def live(self, ids: Sequence[str]) -> Steps[set[str]]:
        """Returns the ids that are claimed."""
        ...


class Coordination(Protocol):
    """State that the payers of one wallet share, besides its attempts."""

    @property
    def ledger(self) -> Ledger:
        """Balances of accounts, and the holds on them."""
        ...

    @property
    def locks(self) -> Locks:
        """Locks by name."""
        ...

    @property
    def claims(self) -> Claims:
        """Claims on the wallet's attempts."""
        ...

    def next(self, name: str) -> Steps[int]:
        """Counts up under a name, from 1 or more, and never gives a number twice."""
        ...


class Journal(Protocol):
    """Keeps attempts and their costs. A write has happened when its step returns."""

    def reserve(
        self,
        attempt: Attempt,
        caps: Sequence[Cap],
        along: Along = ALONE,
        hold: Hold | None = None,
    ) -> Steps[Reserved]:
        """Writes a new attempt if its key is free and every cap has room, as one step.

        ``hold`` names tokens to hold in the same step, if they are free.
        """
        ...

    def put(self, attempt: Attempt, along: Along = ALONE) -> Steps[None]:
        """Replaces an attempt as a whole.

        If the new state may not follow, a decided attempt stays as it is; for any other attempt the
        write raises. It also raises if the attempt was released, or would drop a signed swap.
        """
        ...

    def raise_(self, attempt: Attempt, caps: Sequence[Cap]) -> Steps[CapBlock | None]:
        """Does :meth:`put` if each cap has room for what the attempt takes more than before."""
        ...

    def release(self, id_: str, along: Along = ALONE) -> Steps[None]:
        """Forgets an attempt that signed no payment and whose swaps cost nothing."""
        ...

    def similar(
        self, owner: Owner, fingerprint: str, idempotency_key: str | None
    ) -> Steps[list[Attempt]]:
        """Returns attempts under the key, or else at the request, in the order they were made."""
        ...

    def attempts(
        self, owner: Owner, *, state: State | None = None, since: int | None = None
    ) -> Steps[list[Attempt]]:
        """Returns an owner's attempts in the order in which they were made."""
        ...

    def used(self, owner: Owner, caps: Sequence[Cap], now: int) -> Steps[list[int]]:
        """Returns the used amount of each cap at a time, in the cap's unit."""
        ...


class SharedJournal(Journal, Protocol):
    """A journal that several processes may use at once."""

    def coordination(self, owner: Owner) -> Coordination:
        """Returns the coordination of an owner's payers in all processes."""
        ...

    def close(self) -> Steps[None]:
        """Frees the journal's claims and locks, even if work under the locks goes on."""
        ...
