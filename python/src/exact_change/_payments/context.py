"""What every step of a payment works with: options, node, journal, wallet, memory."""

from __future__ import annotations

import copy

from .._config.options import Config
from .._events import Events
from .._firewall.decoders import Decoders
from .._http.own import HttpPort
from .._journal.along import AlongMemory
from .._journal.registry import wallet_of
from .._journal.released_claims import ClaimsWithReleases
from .._journal.types import Claims, Coordination, Journal, Owner
from .._jupiter.connect import connect_jupiter
from .._jupiter.decoder import jupiter_decoder
from .._kernel.signals import Signal
from .._kernel.task import Steps, Task
from .._solana.rpc.blockhash import BlockhashSource
from .._solana.rpc.fault import wrong_network
from .._solana.rpc.node import network_of
from .._solana.rpc.rpc import connect
from .._solana.tables import TableCache
from .._transport.local import LocalTransport
from .._transport.remote import RemoteTransport
from .._transport.types import Transport
from ..errors import failure
from .journal_timeouts import timed_journal
from .memory import Memory, Recovery
from .reconcile.account_history import Histories

_ID_BYTES = 12


class PaymentContext:
    """The context of one client, in one process and on at most one event loop."""

    def __init__(self, config: Config, events: Events, http: HttpPort) -> None:
        self.config = config
        self.events = events
        self.http = http
        self.decoders: Decoders = (jupiter_decoder,)
        runtime, timeouts, network = config.runtime, config.timeouts, config.network
        self.rpc = connect(config.rpc_urls, http, runtime, timeouts.rpc, network)
        provider = connect_jupiter(
            config.jupiter_url,
            config.jupiter_api_key,
            http,
            timeouts.jupiter,
            runtime,
            config.wallet,
        )
        # Prices for caps and swaps come from the client's own Jupiter, even if `transport` is a
        # service of another operator.
        self.prices: Transport = LocalTransport(self.rpc, provider)
        self.transport: Transport = self.prices
        if config.api_url is not None:
            self.transport = RemoteTransport.of(config, http)
        self.owner = Owner(config.wallet, network)
        self.wallet = wallet_of(config.wallet, network)
        journal = config.journal
        if journal is None:
            coordination: Coordination = self.wallet.coordination
            self.journal: Journal = AlongMemory(self.wallet.journal, self.wallet.coordination)
        else:
            self.journal, coordination = timed_journal(
                journal,
                journal.coordination(self.owner),
                timeouts.journal,
                self.wallet.released_claims,
            )
        self.ledger = coordination.ledger
        self.locks = coordination.locks
        # Fires when the client closes, and ends its background work.
        self.closing = Signal()
        # Answers that are being disposed of: the client closes its connections after them.
        self.disposals: dict[Task[None], None] = {}
        self.claims: Claims = ClaimsWithReleases(coordination.claims, self.wallet.released_claims)
        self.next = coordination.next
        self.memory = Memory()
        self.recovery = Recovery()
        # On-chain histories of the accounts that payments leave from.
        self.histories = Histories(self.rpc, runtime)
        self.blockhashes = BlockhashSource(self.rpc, runtime)
        self.tables = TableCache(runtime)
        self._is_ready = False

    def now(self) -> int:
        """Milliseconds since the epoch."""
        return self.config.runtime.now()

    def new_id(self) -> str:
        """Returns the id for a new attempt."""
        return self.config.runtime.random_bytes(_ID_BYTES).hex()

    def without_swaps(self) -> PaymentContext:
        """Returns a copy of this context that never swaps."""
        copied = copy.copy(self)
        copied.config = self.config._replace(auto_swap=False)
        return copied

    def ready(self, signal: Signal | None) -> Steps[None]:
        """Checks that the node serves the client's network; asks until one check has passed."""
        if self._is_ready:
            return
        actual = network_of((yield from self.rpc.genesis_hash(signal=signal)))
        if actual != self.config.network:
            raise wrong_network(self.config.network, actual)
        self._is_ready = True

    def close(self) -> None:
        """Ends background work. Open payments stay in the journal."""
        self.closing.abort(
            failure("client_closed", "This client was closed meanwhile. Create a new one.")
        )
        # With this reason, so that no error says that a node failed.
        self.rpc.close(self.closing.reason)
