"""What a client has learned of the chain and of its services, and need not ask again."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from .._kernel.task import Task
from .._receipt import FreedReceipt
from .._solana.address import Address
from .._swap.candidates import Holdings
from .._x402.types import PaymentRequired

K = TypeVar("K")
V = TypeVar("V")
# Of mints and accounts, each: sellers may name any number of them.
_MOST = 1_000


class PriceSeen(NamedTuple):
    """``reference`` base units of a mint sold for ``micro_usd`` millionths of a dollar."""

    reference: int
    micro_usd: int
    # Milliseconds since the epoch.
    at: int


class KnownMint(NamedTuple):
    """What payments need to know of a mint."""

    token_program: Address
    decimals: int


class StableTerms(NamedTuple):
    """Terms that hold for the next call too."""

    terms: PaymentRequired
    # Since when, in milliseconds since the epoch, and for how many milliseconds.
    at: int
    ms: int


class SharedHoldings(NamedTuple):
    """All that the wallet holds, as it was asked for last."""

    at: int
    read: Task[Holdings]


class TopUpState:
    """What is known of top-ups."""

    # The one that is under way.
    running: Task[None] | None = None
    # How many failed in a row, the last of them when, and for how long none is tried then. In
    # milliseconds, the time since the epoch.
    failures = 0
    failed_at = 0
    rest_ms: float = 0


class Memory:
    """Of one context."""

    def __init__(self) -> None:
        self.mints: dict[Address, KnownMint] = {}
        # Payees' token accounts that are there, by address.
        self.payees: set[Address] = set()
        # Prices of the last minutes, oldest first.
        self.prices: dict[Address, tuple[PriceSeen, ...]] = {}
        # When a mint was found to have no price. Milliseconds since the epoch.
        self.unpriced: dict[Address, int] = {}
        # When a swap out of a token that is not pinned came to nothing. Milliseconds since the
        # epoch.
        self.failed_inputs: dict[Address, int] = {}
        # Prices that are being asked for, by mint and whether the question gives way to others.
        self.prices_asked: dict[tuple[Address, bool], Task[PriceSeen | None]] = {}
        # Origins that were paid before.
        self.charging: set[str] = set()
        # Terms to pay the next call ahead by, by its method and address.
        self.stable_terms: dict[str, StableTerms] = {}
        self.holdings: SharedHoldings | None = None
        self.top_up = TopUpState()
        # When the service failed to plan a swap last. Milliseconds since the epoch.
        self.service_plan_failed_at = 0


class Recovery:
    """What a client does about the attempts that earlier processes left."""

    def __init__(self) -> None:
        # The one look that comes before the first payment; None if the next payment has to look.
        self.started: Task[Any] | None = None
        # Ids of attempts whose swap is waited for.
        self.awaited_swaps: set[str] = set()
        # Attempts that were taken up and may still change, by id: when each was made.
        self.open: dict[str, int] = {}
        # What was freed and is yet to be told, by id, the newest last.
        self.freed: dict[str, FreedReceipt] = {}


def make_room(kept: dict[K, V] | set[K]) -> None:
    """Makes room for one more, if need be by forgetting all.

    What is asked for again is soon there again.
    """
    if len(kept) >= _MOST:
        kept.clear()
