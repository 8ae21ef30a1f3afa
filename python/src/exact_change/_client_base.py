"""The part that clients for threads and clients for asyncio share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from ._events import EventName, Listener
from ._payer import Payer

if TYPE_CHECKING:
    from typing_extensions import Literal, Self

    from ._x402.types import PaymentRequired


class ClientBase:
    """A client over a payer."""

    _payer: Payer

    @classmethod
    def of(cls, payer: Payer) -> Self:
        """Creates a client over an existing payer."""
        client = cls.__new__(cls)
        client._begin(payer)
        return client

    def _begin(self, payer: Payer) -> None:
        self._payer = payer

    @property
    def address(self) -> str:
        """The paying wallet, base58."""
        return self._payer.config.wallet

    def parse(self, response: Any) -> PaymentRequired | None:
        """Returns the payment terms of a response; None if it asks for no payment.

        The body of an ``AsyncClient``'s response must have been read.
        """
        from ._http.terms import terms_in

        return terms_in(response)

    def on(self, event: EventName | Literal["*"], listener: Listener) -> Callable[[], None]:
        """Listens to an event, or to all (``"*"``). Returns a function that stops listening.

        A call waits for a plain function, at most ``timeouts.signer``, but an event loop is blocked
        as long as it runs. A coroutine function needs an ``AsyncClient``, and no call waits for it.
        """
        return self._payer.events.on(event, listener)

    def __repr__(self) -> str:
        # A tool that prints a frame's values may find a client that is not initialised yet.
        wallet = self.address if hasattr(self, "_payer") else ""
        return f"{type(self).__name__}({wallet})"

    def __reduce__(self) -> str:
        raise TypeError("A client is not pickled: it has a key. Make one in each process.")
