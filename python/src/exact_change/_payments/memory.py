"""Facts about the chain and the services that a client keeps, so that it need not ask again."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from .._kernel.task import Task
from .._receipt import FreedReceipt
from .._solana.address import Address
from .._swap.candidates import Holdings
from .._x402.types import PaymentRequired

K = TypeVar("K")
V = TypeVar("V")
# The most entries of each cache of mints or accounts, because sellers may name any number of them.
_MOST = 1_000


class PriceSeen(NamedTuple):
    """``reference`` base units of a mint sold for ``micro_usd`` millionths of a dollar."""

    reference: int
    micro_usd: int
    # Milliseconds since the epoch.
    at: int


class KnownMint(NamedTuple):
    """The facts of a mint that payments need."""

    token_program: Address
    decimals: int


class StableTerms(NamedTuple):
    """Terms that the seller declares valid for later calls too."""

    terms: PaymentRequired
    # When they were received. Milliseconds since the epoch.
    at: int
    # How long they stay valid. Milliseconds.
    ms: int


class SharedHoldings(NamedTuple):
    """The last read of everything that the wallet holds."""

    # When the read began. Milliseconds since the epoch.
    at: int
    read: Task[Holdings]


class TopUpState:
    # The top-up that is under way.
    running: Task[None] | None = None
    # Failures in a row.
    failures = 0
    # Time of the last failure. Milliseconds since the epoch.
    failed_at = 0
    # Milliseconds after the last failure in which no top-up starts.
    rest_ms: float = 0


class Memory:
    def __init__(self) -> None:
        self.mints: dict[Address, KnownMint] = {}
        # Addresses of payees' token accounts that exist.
        self.payees: set[Address] = set()
        # Prices of the last minutes by mint, oldest first.
        self.prices: dict[Address, tuple[PriceSeen, ...]] = {}
        # When a mint was found to have no price. Milliseconds since the epoch.
        self.unpriced: dict[Address, int] = {}
        # When a swap out of a token that is not pinned failed. Milliseconds since the epoch.
        self.failed_inputs: dict[Address, int] = {}
        # Price requests under way, by mint and by whether they have low priority.
        self.prices_asked: dict[tuple[Address, bool], Task[PriceSeen | None]] = {}
        # Origins that this client has paid.
        self.charging: set[str] = set()
        # Terms to pay a later call with before a 402, by method and URL.
        self.stable_terms: dict[str, StableTerms] = {}
        self.holdings: SharedHoldings | None = None
        self.top_up = TopUpState()
        # When the service last failed to plan a swap. Milliseconds since the epoch.
        self.service_plan_failed_at = 0

    def outdate_offers(self) -> None:
        """Makes the next payment read mints and payees again: the chain may have changed."""
        self.mints.clear()
        self.payees.clear()


class Recovery:
    """The state of a client's work on attempts that earlier processes left."""

    def __init__(self) -> None:
        # The search that runs before the first payment; None if the next payment must start it.
        self.started: Task[Any] | None = None
        # Ids of attempts that a background task follows until their swap is decided.
        self.awaited_swaps: set[str] = set()
        # Times of attempts that were taken up and may still change, by id. Milliseconds since the
        # epoch.
        self.open: dict[str, int] = {}
        # Freed attempts that the caller has not been told of, by id, the newest last.
        self.freed: dict[str, FreedReceipt] = {}


def make_room(kept: dict[K, V] | set[K]) -> None:
    """Makes room for one more entry. A full cache is cleared, because it soon fills again."""
    if len(kept) >= _MOST:
        kept.clear()
