"""Records of a journal: JSON that both languages read, so their names are those of JSON.

Amounts are decimal strings of base units, times are milliseconds since the epoch.
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
    """What an account held, as of a slot."""

    amount: str
    slot: int


class HeaderJson(TypedDict):
    """A header of a request."""

    name: str
    value: str


class SignedPayment(TypedDict):
    """A signed payment, with all that presenting it again or finding it on chain needs."""

    header: HeaderJson
    # Base58, ours.
    payerSignature: str
    # The token account it leaves from.
    source: str
    # What its memo says, if it has one.
    memo: NotRequired[str]
    # What the source held before it was signed.
    before: NotRequired[ReadingJson]
    # It cannot have landed before this slot.
    slot: int
    blockhash: str
    # The blockhash was valid as of this slot.
    blockhashSlot: int
    lastValidBlockHeight: str
    # The header carries a payment id that the seller asked for.
    hasPaymentId: NotRequired[bool]


class SwapAmounts(TypedDict):
    """What a swap takes and brings."""

    inAmount: str
    outAmount: str
    feeLamports: str


class SwapOutcome(TypedDict):
    """What became of a swap: ``confirmed`` with its amounts, or ``failed`` with its code."""

    state: Literal["confirmed", "failed"]
    inAmount: NotRequired[str]
    outAmount: NotRequired[str]
    feeLamports: NotRequired[str]
    rentLamports: NotRequired[str]
    code: NotRequired[str]


class SwapRelay(TypedDict):
    """A relayer paid a swap's lamports: what it took, and our own signature in the transaction."""

    payerSignature: str
    mint: str
    fee: str


class SignedSwap(TypedDict):
    """A swap that an attempt signed: bytes first, outcome later."""

    signature: str
    # Base64 of the signed transaction.
    transaction: str
    inputMint: str
    outputMint: str
    provider: str
    # The wallet's own token accounts that it takes from and brings to.
    source: str
    output: str
    before: NotRequired[ReadingJson]
    blockhash: str
    blockhashSlot: int
    lastValidBlockHeight: str
    # What it was to take and bring.
    quoted: SwapAmounts
    # A relayer paid its lamports, and `signature` is its own then. Absent: the wallet paid them.
    relay: NotRequired[SwapRelay]
    # Absent until the chain has decided.
    outcome: NotRequired[SwapOutcome]


class Attempt(TypedDict):
    """One attempt to pay, from its reservation to the chain's word."""

    id: str
    wallet: str
    network: str
    state: State
    # What was bought reached the caller.
    delivered: bool
    # When a repeated call was first about to be told that this is spent, and when it had been.
    tellingAt: NotRequired[int]
    toldAt: NotRequired[int]
    url: str
    method: str
    host: str
    # The same for equal requests: method, URL and body.
    fingerprint: str
    idempotencyKey: NotRequired[str]
    # The attempt at the same purchase that this one was signed after (`policy.resign`).
    resigns: NotRequired[str]
    at: int
    payTo: str
    mint: str
    amount: str
    # Millionths of a dollar; absent if the mint has no price.
    microUsd: NotRequired[str]
    # When the chain had shown what left. Absent: from `at`.
    leftAt: NotRequired[int]
    # What its swaps took, as the chain showed it.
    swapped: NotRequired[SwapCost]
    # What a swap takes at most that is about to be signed, or was signed and is not decided.
    swapping: NotRequired[SwapCost]
    # The swap that was signed last.
    swap: NotRequired[SignedSwap]
    payment: NotRequired[SignedPayment]
    # Why the seller's word does not say what became of the payment.
    doubt: NotRequired[str]
    # Absent until a payment is signed; see `receipts.py`.
    receipt: NotRequired[Any]


class Owner(NamedTuple):
    """Whose attempts: one wallet on one network (CAIP-2)."""

    wallet: str
    network: str


class CapBlock(NamedTuple):
    """A cap that has no room; ``used`` in the cap's unit."""

    cap: Cap
    used: int


class KeyTaken(NamedTuple):
    """An earlier attempt bears the key, and has not come to nothing."""

    taken: Attempt


class Hold(NamedTuple):
    """Tokens that an attempt is to hold."""

    account: str
    # Of when the balance has to be that they are taken from.
    fresh: Fresh
    # A lock under which nothing may be taken from it.
    unless: str


class Along(NamedTuple):
    """What happens in one step with the write of an attempt, or not at all."""

    # What this process claims from then on, and what no longer: see `Claims`.
    claim: Sequence[str] = ()
    drop: Sequence[str] = ()
    # Ends its hold on an account: the tokens left, in a slot as the chain shows it.
    spend: tuple[str, int] | None = None
    # Ends its holds on accounts: the tokens stayed.
    free: Sequence[str] = ()


ALONE = Along()
# What a reservation comes to: refused, or made; with what was taken for it, if anything was.
Reserved = Union[CapBlock, KeyTaken, Taken, None]


class Claims(Protocol):
    """Which attempts a call is at. A claim ends with its process, however that ends."""

    def take(self, ids: Sequence[str]) -> Steps[None]:
        """Claims attempts."""
        ...

    def drop(self, ids: Sequence[str]) -> Steps[None]:
        """Lets go of them."""
        ...

    def live(self, ids: Sequence[str]) -> Steps[set[str]]:
        """Those of some attempts that are claimed."""
        ...


class Coordination(Protocol):
    """What the payers of one wallet share, besides its attempts."""

    @property
    def ledger(self) -> Ledger:
        """What accounts hold, and what is promised."""
        ...

    @property
    def locks(self) -> Locks:
        """Locks by name."""
        ...

    @property
    def claims(self) -> Claims:
        """Which attempts a call is at."""
        ...

    def next(self, name: str) -> Steps[int]:
        """Counts up under a name, from 1 or more, never twice the same."""
        ...


class Journal(Protocol):
    """Where attempts and what they cost are kept. What is returned from has happened."""

    def reserve(
        self,
        attempt: Attempt,
        caps: Sequence[Cap],
        along: Along = ALONE,
        hold: Hold | None = None,
    ) -> Steps[Reserved]:
        """Writes a new attempt if its key is free and every cap has room, as one step.

        ``hold``: what to hold for it in the same step, if it is there.
        """
        ...

    def put(self, attempt: Attempt, along: Along = ALONE) -> Steps[None]:
        """Replaces an attempt as a whole.

        If its state cannot follow, a decided attempt stays as it is. Raises if another one is, or
        was released; and if it would end an attempt as if a swap that it has signed were not there.
        """
        ...

    def raise_(self, attempt: Attempt, caps: Sequence[Cap]) -> Steps[CapBlock | None]:
        """As :meth:`put`, if each cap has room for what it takes more than before."""
        ...

    def release(self, id_: str, along: Along = ALONE) -> Steps[None]:
        """Forgets an attempt that signed no payment and whose swaps cost nothing."""
        ...

    def similar(
        self, owner: Owner, fingerprint: str, idempotency_key: str | None
    ) -> Steps[list[Attempt]]:
        """Attempts under the same key, or at the same request, in the order they were made."""
        ...

    def attempts(
        self, owner: Owner, *, state: State | None = None, since: int | None = None
    ) -> Steps[list[Attempt]]:
        """An owner's attempts in the order they were made."""
        ...

    def used(self, owner: Owner, caps: Sequence[Cap], now: int) -> Steps[list[int]]:
        """What is spent or reserved of each cap at a time, in the cap's unit."""
        ...


class SharedJournal(Journal, Protocol):
    """A journal that several processes may use at once."""

    def coordination(self, owner: Owner) -> Coordination:
        """What keeps them out of each other's way."""
        ...

    def close(self) -> Steps[None]:
        """Frees what this journal holds, whatever is still being done under its locks."""
        ...
