"""Reads and checks the options of a client, and fills in their defaults."""

from __future__ import annotations

import logging
from typing import Any, Mapping, NamedTuple, Sequence

from typing_extensions import Literal, TypedDict

from .._base.hidden import Hidden
from .._base.json_types import is_integer, is_number
from .._base.network import SOLANA_MAINNET, named_network
from .._base.options import refuse, refuse_unknown
from .._base.runtime import Runtime, system_runtime
from .._journal.durable import DurableJournal
from .._journal.types import SharedJournal
from .._policy.policy import POLICY_NAMES, Policy, PolicyOptions, parse_policy
from .._policy.read import read_list, read_mint
from .._solana.keys import AnySigner
from .._spec import table
from .addresses import parse_jupiter_url, parse_presign, parse_rpc_urls, parse_service_url
from .keys import parse_key
from .relayer import RelayerConfig, RelayerOptions, parse_relayer
from .wallet import parse_signer

# The longest milliseconds that timers of both languages take.
_MOST_MS = 2**31 - 1
_defaults: Mapping[str, Any] = table("defaults")["client"]


class TimeoutOptions(TypedDict, total=False):
    """Deadlines in milliseconds, each at least 1."""

    # One call of an RPC node; default 10000.
    rpc: float
    # One call of Jupiter; default 10000.
    jupiter: float
    # One call of the service at `api_url`, with its retries, or of a relayer; default 30000.
    service: float
    # Reading the body of a 402; default 10000.
    terms: float
    # The paid request, during which a facilitator settles; default 120000.
    payment: float
    # One answer of the signer, or of `policy.approve`, which may ask a person; default 120000.
    signer: float
    # One call of the journal; default 10000.
    journal: float


class Timeouts(NamedTuple):
    """Deadlines in milliseconds."""

    rpc: float
    jupiter: float
    service: float
    terms: float
    payment: float
    signer: float
    journal: float


class ClientOptions(TypedDict, total=False):
    """Options of a client. Wrong options raise ``ConfigError`` at construction."""

    # The paying wallet: the 64 bytes of its keypair, as base58, the text of a JSON array, or bytes.
    # The key never leaves this process.
    wallet_secret_key: str | bytes | Sequence[int]
    # Instead of `wallet_secret_key`: the 32 bytes that the keypair is derived from. Only as bytes,
    # because a seed as text looks like an address.
    wallet_seed: bytes
    # Instead of a key: a signer for the wallet; also a `Keypair` of solders.
    signer: Any
    # Base address of a service that quotes and builds swaps and reads balances. The client judges
    # the service's answers in this process, against prices of `jupiter_url` and over `rpc_url`.
    # Default: Jupiter and the RPC node, in this process.
    api_url: str
    # The service's key, if it needs one: sent only to `api_url`, as `Authorization: Bearer`.
    api_key: str
    # RPC nodes: the first is primary, the rest fail over. Default: the network's public node.
    rpc_url: str | Sequence[str]
    # Default `https://api.jup.ag`.
    jupiter_url: str
    jupiter_api_key: str
    # `mainnet` (the default), `devnet`, `testnet`, or a CAIP-2 id.
    network: str
    # Pays with the first request if the terms of its address are known from an earlier call, which
    # saves a round trip. Addresses: for calls to them and to paths below them, by terms that are at
    # most five minutes old. True: for each GET or HEAD if its 402 said by `Cache-Control: max-age`
    # how long its terms hold. If the terms have changed, such a call takes up to two minutes
    # longer, because the chain first decides the payment that was sent. Default: never.
    presign: bool | Sequence[str]
    # Swaps a held token if the payment's token is short; default False.
    auto_swap: bool
    # Mints or pinned symbols to swap from, in order; default: any held token.
    swap_from: Sequence[str]
    # A relayer that pays the fees and rents of a swap, for a fee in tokens, if the wallet has too
    # little SOL for them. Default: none.
    relayer: RelayerOptions
    policy: PolicyOptions
    # Keeps attempts and their costs: `file_journal(path)` or `postgres_journal(address)`. Close it
    # after its clients. Default: a journal in memory for each wallet in the process.
    journal: DurableJournal
    # Milliseconds after the first `already_spent` of a purchase, in which an equal call gets that
    # error again. Later, an equal call buys again. Default 60000.
    retry_window: float
    # How often a GET or HEAD is sent again after a 503 or a lost connection; from 0 (off) to 10,
    # default 2. The client waits for a `Retry-After` of up to 10 s. It sends again only before a
    # payment header was sent, never after.
    retries: int
    timeouts: TimeoutOptions
    # Gets a line of text at DEBUG for each step of each call; default: the logger `exact_change`.
    logger: logging.Logger
    # Sends the requests: an httpx transport, sync for `Client`, async for `AsyncClient`. Default:
    # httpx's own transport for each process and event loop.
    http_transport: Any
    # Whether requests use proxies and certificates of the environment; default False.
    trust_env: bool


class Config(NamedTuple):
    """Options, checked and complete. The key is not among them: only the signer is."""

    rpc_urls: Sequence[Hidden]
    jupiter_url: Hidden
    jupiter_api_key: Hidden | None
    network: str
    swap_from: Sequence[str] | None
    policy: Policy
    journal: SharedJournal | None
    timeouts: Timeouts
    runtime: Runtime
    signer: AnySigner
    api_url: Hidden | None
    api_key: Hidden | None
    auto_swap: bool
    relayer: RelayerConfig | None
    # Addresses of calls that are paid ahead; `stated`: every address if its seller allows that.
    presign: Sequence[str] | Literal["stated"]
    retry_window: float
    retries: int
    logger: logging.Logger | None
    http_transport: Any
    trust_env: bool

    @property
    def wallet(self) -> str:
        """The address of the wallet that pays."""
        return self.signer.address


_NAMES = tuple(ClientOptions.__annotations__)


def take_options(options: Any, sends: str = "handle_request") -> Config:
    """Checks options as :func:`parse_options` does, and empties the mapping ``options``.

    So no frame of a traceback holds a key: some loggers print the values of frames. ``sends`` names
    the method that ``http_transport`` must have.
    """
    copied: dict[str, Any] = dict(options)
    options.clear()
    try:
        config = parse_options(copied)
        transport = config.http_transport
        if transport is not None and not callable(getattr(transport, sends, None)):
            raise refuse("http_transport", f"must be a transport of httpx that has {sends}.")
        return config
    except BaseException as error:
        # The caller's own mapping or text type may raise anything.
        copied.clear()
        raise error.with_traceback(None) from None


def parse_options(options: Mapping[str, Any]) -> Config:
    """Checks options and fills in the defaults.

    Raises ``ConfigError`` (``invalid_option``, ``invalid_key``).
    """
    given = refuse_unknown(options, _NAMES, inner={"policy": POLICY_NAMES})
    values = {name: value for name, value in given.items() if value is not None}
    network = parse_network(values)
    api_url = values.get("api_url")
    api_key = parse_key("api_key", values.get("api_key"))
    if api_key is not None and api_url is None:
        raise refuse("api_key", "is for the service at api_url. Give its address too.")
    logger = values.get("logger")
    if logger is not None and not isinstance(logger, logging.Logger):
        raise refuse("logger", "must be a logging.Logger.")
    policy = parse_policy(values.get("policy", {}), network)
    auto_swap = parse_bool("auto_swap", values.get("auto_swap", _defaults["autoSwap"]))
    if policy.top_up is not None and not auto_swap:
        raise refuse("policy.top_up", "needs auto_swap=True, for it swaps.")
    return Config(
        parse_rpc_urls(values.get("rpc_url"), network),
        parse_jupiter_url(values.get("jupiter_url", _defaults["jupiterUrl"])),
        parse_key("jupiter_api_key", values.get("jupiter_api_key")),
        network,
        parse_swap_from(values.get("swap_from"), network),
        policy,
        _parse_journal(values.get("journal")),
        parse_timeouts(values.get("timeouts", {})),
        system_runtime,
        parse_signer(values),
        None if api_url is None else parse_service_url("api_url", api_url),
        api_key,
        auto_swap,
        parse_relayer(values.get("relayer")),
        parse_presign(values.get("presign", _defaults["presign"])),
        parse_ms("retry_window", values.get("retry_window", _defaults["retryWindow"]), 0),
        _parse_retries(values.get("retries", _defaults["retries"])),
        logger,
        values.get("http_transport"),
        parse_bool("trust_env", values.get("trust_env", False)),
    )


def parse_network(options: Mapping[str, Any]) -> str:
    """Reads the network, by default mainnet. Raises ``ConfigError`` (``invalid_option``)."""
    name = options.get("network", SOLANA_MAINNET)
    network = named_network(name) if isinstance(name, str) else None
    if network is None:
        raise refuse("network", "must be mainnet, devnet, testnet or a CAIP-2 id.")
    return network


def parse_swap_from(mints: object, network: str) -> Sequence[str] | None:
    """Reads the mints to swap from, in order. Raises ``ConfigError`` (``invalid_option``)."""
    if mints is None:
        return None
    return read_list("swap_from", mints, lambda option, mint: read_mint(option, mint, network))


def parse_ms(option: str, value: object, least: int = 1) -> float:
    """Reads milliseconds. Raises ``ConfigError`` (``invalid_option``).

    0 is no limit in other libraries; here a payment would leave, and its answer would come too
    late.
    """
    if not is_number(value) or not least <= value <= _MOST_MS:
        raise refuse(
            option,
            f"must be milliseconds from {least} to {_MOST_MS}. Leave it out for the default.",
        )
    return value


def parse_seconds(option: str, value: object) -> float:
    """Reads a time limit in seconds, as httpx takes it, and returns its milliseconds.

    Raises ``ConfigError`` (``invalid_option``).
    """
    if not is_number(value) or not 1 <= value * 1000 <= _MOST_MS:
        raise refuse(
            option,
            f"must be seconds from 0.001 to {_MOST_MS // 1000}. Leave it out for the default.",
        )
    return value * 1000


def _parse_retries(value: object) -> int:
    if not is_integer(value) or not 0 <= value <= 10:
        raise refuse("retries", "must be a whole number from 0 to 10.")
    return value


def parse_bool(option: str, value: object) -> bool:
    """Reads a switch. Raises ``ConfigError`` (``invalid_option``)."""
    if not isinstance(value, bool):
        raise refuse(option, "must be True or False.")
    return value


def _parse_journal(journal: object) -> SharedJournal | None:
    if journal is not None and not isinstance(journal, DurableJournal):
        raise refuse("journal", "must be made by file_journal or postgres_journal.")
    return None if journal is None else journal.shared


def parse_timeouts(timeouts: object) -> Timeouts:
    """Reads the deadlines. Raises ``ConfigError`` (``invalid_option``)."""
    values = refuse_unknown(timeouts, Timeouts._fields, "timeouts")
    return Timeouts(
        *(
            parse_ms(f"timeouts.{name}", values.get(name, _defaults["timeouts"][name]))
            for name in Timeouts._fields
        )
    )
