"""State that all clients of one wallet in this process share."""

from __future__ import annotations

from typing import Any, Callable

from .._kernel.fork import after_fork
from .._kernel.signals import void
from .._kernel.steps import Forget, park
from .._kernel.task import Host, Steps, Task, Wake
from .coordination import MemoryCoordination
from .memory import MemoryJournal
from .released_claims import ReleasedClaims
from .types import Attempt, Claims, SignedPayment


class OpenPayment:
    """A signed payment, as this process knows it."""

    def __init__(self, attempt: Attempt, *, is_shared: bool = False) -> None:
        # The attempt, with its payment and its receipt.
        self.attempt: Attempt = attempt
        # Whether other processes may know more of it by now: it comes from the journal, or its
        # answer did not arrive here.
        self.is_shared = is_shared
        # Whether its answer has reached its caller in this process.
        self.is_delivered_here = False
        # Whether the journal may still say so, though the caller gave up: that write has not ended.
        self.is_taken_back = False
        # The last write of the attempt, done or under way.
        self.last_write: Task[None] | None = None
        # The transaction id that the seller claimed last, and whether it is this payment's.
        self.claim: tuple[str, bool] | None = None

    @property
    def payment(self) -> SignedPayment:
        payment = self.attempt.get("payment")
        if payment is None:
            raise TypeError("An open payment is a signed one.")
        return payment

    @property
    def receipt(self) -> dict[str, Any]:
        """The receipt of the attempt, as it is on record."""
        receipt: dict[str, Any] = self.attempt.get("receipt") or {}
        return receipt


class Monitored:
    """An open payment, and its monitors by the context that each works for."""

    def __init__(self, open_: OpenPayment) -> None:
        self.open = open_
        self.monitors: dict[Any, Task[None]] = {}

    @property
    def is_followed(self) -> bool:
        """Whether a monitor runs. Drops those of closed event loops, with their connections."""
        for context, task in list(self.monitors.items()):
            if task.host.is_gone:
                del self.monitors[context]
        return bool(self.monitors)


class ChoosingCalls:
    """Calls that choose what to pay: a call that swaps waits until each call's need is known."""

    def __init__(self) -> None:
        self._hosts: dict[object, Host] = {}
        self._waiting: dict[Wake, None] = {}

    def enter(self, host: Host) -> Callable[[], None]:
        """Announces a call; returns a function to call once the call's need is known."""
        call = object()
        self._hosts[call] = host

        def leave() -> None:
            if self._hosts.pop(call, None) is not None and self.is_empty:
                waiting, self._waiting = self._waiting, {}
                for wake in waiting:
                    wake()

        return leave

    @property
    def is_empty(self) -> bool:
        """Whether no call is choosing. Calls of closed event loops are left out."""
        for call, host in list(self._hosts.items()):
            if host.is_gone:
                self._hosts.pop(call, None)
        return not self._hosts

    def all_chosen(self) -> Steps[None]:
        """Waits until no call is choosing."""
        if self.is_empty:
            return

        def register(_host: Host, wake: Wake) -> list[Forget]:
            self._waiting[wake] = None
            return [lambda: void(self._waiting.pop(wake, None))]

        yield park(register)


class NeededByMint:
    """Payments that wait for a swap, each with an amount: one swap serves all of a mint."""

    def __init__(self) -> None:
        self._calls: dict[object, tuple[Host, str, int]] = {}

    def enter(self, host: Host, mint: str, amount: int) -> Callable[[], None]:
        """Counts a payment; returns a function that ends this."""
        call = object()
        self._calls[call] = host, mint, amount
        return lambda: void(self._calls.pop(call, None))

    def needed(self, mint: str) -> int:
        """Returns the base units that all payments of a mint need.

        Leaves out payments of closed event loops, because they never pay.
        """
        for call, (host, _, _) in list(self._calls.items()):
            if host.is_gone:
                del self._calls[call]
        return sum([amount for _, needed, amount in self._calls.values() if needed == mint])


class OwnClaim:
    """Claims that a call of this process has, or is about to have."""

    def __init__(
        self, host: Host, taking: Task[Any] | None, journal: object, claims: Claims
    ) -> None:
        # The host of the call. If its event loop was closed, the call never ends.
        self.host = host
        # The task that takes the claim; None if the claim was taken at once.
        self.taking = taking
        # The journal that records the claim; None for the wallet's own coordination.
        self.journal = journal
        self.claims = claims
        # The task that drops the claim of a call after its event loop was closed.
        self.dropping: Task[None] | None = None


class Wallet:
    """The shared state of a wallet on a network."""

    def __init__(self, counts: dict[str, int]) -> None:
        # For journals without a coordination of their own.
        self.coordination = MemoryCoordination(counts)
        self.journal = MemoryJournal()
        self.needed_by_mint = NeededByMint()
        self.choosing_calls = ChoosingCalls()
        # Signed payments by attempt id, until the chain decides.
        self.monitored: dict[str, Monitored] = {}
        # Calls that have ended and still release their claims: the next call waits for them.
        self.releasing: dict[Task[Any], None] = {}
        # Fingerprint and key of purchases that go on, although their callers have given up.
        self.given_up: dict[Task[Any], tuple[str, str | None]] = {}
        # Takes back the delivery of an answer, with the host of its reader, while it is recorded.
        self.delivering: dict[Callable[[], Steps[None]], Host] = {}
        # Claims of the wallet's calls until they are released, by attempt id.
        self.claims: dict[str, OwnClaim] = {}
        # Claims that calls have released, and that a journal may still have.
        self.released_claims: ReleasedClaims = {}
        # Idempotency keys of purchases that calls in this process are making now, each with the
        # host of its call.
        self.keys: dict[str, Host] = {}
        # Accounts whose balances the journal may still have from before a swap, because it failed.
        self.outdated: set[str] = set()


class _Shared:
    def __init__(self) -> None:
        self.wallets: dict[tuple[str, str], Wallet] = {}
        # The last count on each blockhash, for all wallets.
        self.counts: dict[str, int] = {}

    def in_child(self) -> None:
        """Keeps journals and claims in a forked child; work under way stays with the parent."""
        wallets, self.wallets, self.counts = self.wallets, {}, {}
        for key, parents in wallets.items():
            wallet = self.wallets[key] = Wallet(self.counts)
            wallet.journal = parents.journal
            # The parent still works on the claimed attempts.
            wallet.coordination.claims = parents.coordination.claims


_shared = _Shared()
after_fork(_shared.in_child)


def wallet_of(address: str, network: str) -> Wallet:
    """Returns the shared state of a wallet on a network: one for the process."""
    key = (address, network)
    known = _shared.wallets.get(key)
    # Two threads may each make a wallet: the first counts.
    return known or _shared.wallets.setdefault(key, Wallet(_shared.counts))
