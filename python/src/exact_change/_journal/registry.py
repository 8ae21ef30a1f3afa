"""What all clients of one wallet in this process share."""

from __future__ import annotations

from typing import Any, Callable

from .._kernel.fork import after_fork
from .._kernel.signals import void
from .._kernel.steps import Forget, park
from .._kernel.task import Host, Steps, Task, Wake
from .coordination import MemoryCoordination
from .let_go import LetGo
from .memory import MemoryJournal
from .types import Attempt, Claims, SignedPayment


class OpenPayment:
    """A payment that is signed, as this process knows it."""

    def __init__(self, attempt: Attempt, *, is_foreign: bool = False) -> None:
        # With its payment and its receipt.
        self.attempt: Attempt = attempt
        # Taken from the journal, so others may know more of it by now.
        self.is_foreign = is_foreign
        # The last write of it, done or under way.
        self.last_write: Task[None] | None = None
        # The transaction id that the seller claimed last, and whether it is this payment's.
        self.claim: tuple[str, bool] | None = None

    @property
    def payment(self) -> SignedPayment:
        """What was signed."""
        payment = self.attempt.get("payment")
        if payment is None:
            raise TypeError("An open payment is a signed one.")
        return payment

    @property
    def receipt(self) -> dict[str, Any]:
        """Its receipt, as it is on record."""
        receipt: dict[str, Any] = self.attempt.get("receipt") or {}
        return receipt


class Monitored:
    """A payment that is followed, by each context that follows it."""

    def __init__(self, open_: OpenPayment) -> None:
        self.open = open_
        self.monitors: dict[Any, Task[None]] = {}


class Crowd:
    """Calls that are choosing what to pay: one that swaps waits until they have said."""

    def __init__(self) -> None:
        self._count = 0
        self._waiting: dict[Wake, None] = {}

    def enter(self) -> Callable[[], None]:
        """Announces a call; returns how to say that it is known what it needs."""
        self._count += 1
        is_in = True

        def leave() -> None:
            nonlocal is_in
            if not is_in:
                return
            is_in = False
            self._count -= 1
            if self._count == 0:
                waiting, self._waiting = self._waiting, {}
                for wake in waiting:
                    wake()

        return leave

    @property
    def is_empty(self) -> bool:
        """Whether none is in."""
        return self._count == 0

    def gone(self) -> Steps[None]:
        """Waits until all that are in have left."""
        if self._count == 0:
            return

        def register(_host: Host, wake: Wake) -> list[Forget]:
            self._waiting[wake] = None
            return [lambda: void(self._waiting.pop(wake, None))]

        yield park(register)


class Waiting:
    """Payments that wait for a swap, each for an amount: one swap serves all of a mint."""

    def __init__(self) -> None:
        self._calls: dict[object, tuple[Host, str, int]] = {}

    def enter(self, host: Host, mint: str, amount: int) -> Callable[[], None]:
        """Counts a payment; returns how to count it no more."""
        call = object()
        self._calls[call] = host, mint, amount
        return lambda: void(self._calls.pop(call, None))

    def needed(self, mint: str) -> int:
        """What all of a mint need, but for those whose event loop was closed: they never pay."""
        for call, (host, _, _) in list(self._calls.items()):
            if host.is_gone:
                del self._calls[call]
        return sum([amount for _, of, amount in self._calls.values() if of == mint])


class OwnClaim:
    """What a call of this process has claimed at once, or is claiming."""

    def __init__(
        self, host: Host, taking: Task[Any] | None, journal: object, claims: Claims
    ) -> None:
        # Of the call: if it is gone, so is the call, though its process lives.
        self.host = host
        # None if it was taken at once.
        self.taking = taking
        # That it is on record in; None for the wallet's own.
        self.journal = journal
        self.claims = claims
        # What ends it once its call is gone.
        self.dropping: Task[None] | None = None


class Wallet:
    """The shared state of a wallet on a network."""

    def __init__(self, counts: dict[str, int]) -> None:
        # For journals that bring none of their own.
        self.coordination = MemoryCoordination(counts)
        self.journal = MemoryJournal()
        self.waiting = Waiting()
        self.arriving = Crowd()
        # Signed payments that are followed until the chain decides, by attempt id.
        self.monitored: dict[str, Monitored] = {}
        # What the next call waits for: calls that have ended and are letting go.
        self.releasing: dict[Task[Any], None] = {}
        # Purchases that go on though their callers have given up: each one's fingerprint and key.
        self.given_up: dict[Task[Any], tuple[str, str | None]] = {}
        # The claims of its calls until they are dropped, by name.
        self.claims: dict[str, OwnClaim] = {}
        # Those of them that were dropped, and that a journal may not know of yet.
        self.let_go: LetGo = {}
        # Idempotency keys of purchases that a call in this process is making right now, and where.
        self.keys: dict[str, Host] = {}


class _Shared:
    def __init__(self) -> None:
        self.wallets: dict[tuple[str, str], Wallet] = {}
        # How far is counted on each blockhash, for all wallets.
        self.counts: dict[str, int] = {}

    def in_child(self) -> None:
        """What is on record counts on; whatever was under way is the parent's."""
        wallets, self.wallets, self.counts = self.wallets, {}, {}
        for key, parents in wallets.items():
            wallet = self.wallets[key] = Wallet(self.counts)
            wallet.journal = parents.journal
            # Its parent is at work on what is claimed: a call of the child's is one beside it.
            wallet.coordination.claims = parents.coordination.claims


_shared = _Shared()
after_fork(_shared.in_child)


def wallet_of(address: str, network: str) -> Wallet:
    """The shared state of a wallet on a network: one for the process."""
    key = (address, network)
    wallet = _shared.wallets.get(key)
    if wallet is None:
        wallet = _shared.wallets[key] = Wallet(_shared.counts)
    return wallet
