"""Reads and checks the caller's policy."""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Mapping, NamedTuple, Sequence, Union, cast

from typing_extensions import TypedDict

from .._base.json_types import is_integer, mapping_of
from .._base.options import refuse, refuse_unknown
from .._spec import table
from .caps import Cap, CapRules
from .cost import LAMPORTS, USD
from .hosts import read_host
from .limits import LimitOptions, read_limits
from .lists import PolicyList, read_lists
from .periods import DAY_MS, HOUR_MS
from .read import read_mint, read_units, read_usd
from .top_up import TopUp, TopUpOptions, read_top_up

Units = Union[int, str]
# Called with a plan of exactly what would be signed. Only True lets the payment go on.
Approve = Callable[[Any], Union[bool, Awaitable[bool]]]


class ListOptions(TypedDict, total=False):
    """The lists of ``allow`` or ``deny``. Each list that is set applies, even an empty list."""

    # For example `api.example.com`; `*.example.com` names its subdomains, but not `example.com`.
    hosts: Sequence[str]
    # Wallets that receive payments, base58.
    payees: Sequence[str]
    # Addresses or pinned symbols.
    mints: Sequence[str]
    # CAIP-2 ids or names of Solana clusters.
    networks: Sequence[str]
    # Payment schemes such as `exact`, in any case.
    schemes: Sequence[str]


class PolicyOptions(TypedDict, total=False):
    """The rules of a client. Dollars are decimal text such as ``"0.25"``, up to six decimals.

    Caps count everything that leaves the wallet for payments: prices, network fees, rent, and the
    input of swaps beyond their output in a pinned token.
    """

    # US dollars that a payment may cost, its swap included. Default "1.00".
    max_per_payment: str
    # US dollars in any 60 minutes.
    max_per_hour: str
    # US dollars in any 24 hours. Default "10.00".
    max_per_day: str
    # US dollars in total, over everything that the journal knows.
    max_total: str
    # US dollars in any 24 hours, by host. A host without a port stands for all its ports.
    max_per_host: Mapping[str, str]
    # Lamports of network fees and rent in any 24 hours. Default 50000000.
    max_lamports_per_day: Units
    # Base units that may leave for a payment, by mint or pinned symbol. A mint without a price can
    # be paid only with such a cap.
    max_amount: Mapping[str, Units]
    # More caps. Every cap applies, independently of the other caps.
    limits: Sequence[LimitOptions]
    # A payment is allowed only if each list that is set names it.
    allow: ListOptions
    # A payment that a list names is refused, even if `allow` names it.
    deny: ListOptions
    # Called before anything is signed.
    approve: Approve
    # How many more payments may be signed for a call after a 402 to its paid request. That answer
    # must show that nothing was settled. 0 or 1; default 0.
    resign: int
    # Base units that a swap may take, by mint or pinned symbol. No quote can raise this bound.
    max_in_amount: Mapping[str, Units]
    # US dollars that a swap brings at least. Default "0.05".
    min_swap: str
    # Basis points; default 50.
    max_slippage_bps: int
    # Basis points; default 100.
    max_price_impact_bps: int
    # Basis points that a swap for a payment may cost besides slippage; default 100.
    max_swap_loss_bps: int
    # Lamports for the network and priority fee of one swap; default 250000.
    max_fee_lamports: Units
    # Lamports for the rent of our own new token accounts in one swap; default 10000000.
    max_rent_lamports: Units
    # Keeps a float of a dollar token by swaps between calls. Every rule applies to these swaps.
    # Needs `auto_swap`.
    top_up: TopUpOptions


class Policy(NamedTuple):
    """The checked rules. Dollars are millionths of a dollar."""

    caps: CapRules
    # Deny lists come before allow lists.
    lists: Sequence[PolicyList]
    approve: Approve | None
    resign: int
    max_in_amount: Mapping[str, int]
    min_swap: int
    max_slippage_bps: int
    max_price_impact_bps: int
    max_swap_loss_bps: int
    max_fee_lamports: int
    max_rent_lamports: int
    top_up: TopUp | None = None


POLICY_NAMES = tuple(PolicyOptions.__annotations__)
_defaults: dict[str, Any] = table("defaults")["policy"]


def parse_policy(policy: object, network: str) -> Policy:
    """Checks the rules and fills in the defaults. Raises ``ConfigError`` (``invalid_option``)."""
    options = refuse_unknown(policy, POLICY_NAMES, "policy")
    approve, resign = options.get("approve"), options.get("resign", 0)
    if approve is not None and not callable(approve):
        raise refuse("policy.approve", "must be a function.")
    if not is_integer(resign) or resign not in (0, 1):
        raise refuse("policy.resign", "must be 0 or 1.")
    limits = read_limits(options.get("limits", ()), network)

    def lamports(name: str, preset: str) -> int:
        return read_units(f"policy.{name}", options.get(name, preset), "lamports")

    def bps(name: str, preset: int) -> int:
        value = options.get(name, preset)
        if not is_integer(value) or not 0 <= value <= 10_000:
            raise refuse(f"policy.{name}", "must be basis points, a whole number from 0 to 10000.")
        return value

    def units(name: str) -> Mapping[str, int]:
        return _read_table(
            name,
            options.get(name),
            lambda option, key: read_mint(option, key, network),
            lambda option, value: read_units(option, value, "base units"),
        )

    per_day = options.get("max_per_day", "10.00")
    daily = next(cap for cap in _defaults["caps"] if cap["name"] == "maxLamportsPerDay")
    over_time = [
        *_dollar_caps("max_per_hour", options.get("max_per_hour"), HOUR_MS),
        # Not by `_dollar_caps`: there None means no cap, and the cap of a day has a default.
        Cap("max_per_day", USD, read_usd("policy.max_per_day", per_day), DAY_MS),
        *_dollar_caps("max_total", options.get("max_total"), None),
        *_host_caps(options.get("max_per_host")),
        Cap(
            "max_lamports_per_day",
            LAMPORTS,
            lamports("max_lamports_per_day", daily["limit"]),
            DAY_MS,
        ),
        *(cap for cap in limits if cap.window_ms != 0),
    ]
    return Policy(
        CapRules(
            read_usd("policy.max_per_payment", options.get("max_per_payment", "1.00")),
            units("max_amount"),
            [cap for cap in limits if cap.window_ms == 0],
            over_time,
        ),
        [
            *read_lists("deny", options.get("deny"), network),
            *read_lists("allow", options.get("allow"), network),
        ],
        cast("Approve | None", approve),
        resign,
        units("max_in_amount"),
        read_usd("policy.min_swap", options.get("min_swap", "0.05")),
        bps("max_slippage_bps", _defaults["maxSlippageBps"]),
        bps("max_price_impact_bps", _defaults["maxPriceImpactBps"]),
        bps("max_swap_loss_bps", _defaults["maxSwapLossBps"]),
        lamports("max_fee_lamports", _defaults["maxFeeLamports"]),
        lamports("max_rent_lamports", _defaults["maxRentLamports"]),
        read_top_up(options.get("top_up"), network),
    )


def _dollar_caps(name: str, usd: object, window_ms: int | None) -> list[Cap]:
    return [] if usd is None else [Cap(name, USD, read_usd(f"policy.{name}", usd), window_ms)]


def _host_caps(max_per_host: object) -> list[Cap]:
    limits = _read_table("max_per_host", max_per_host, read_host, read_usd)
    return [
        Cap(f"max_per_host['{host}']", USD, limit, DAY_MS, host) for host, limit in limits.items()
    ]


def _read_table(
    name: str,
    mapping: object,
    read_key: Callable[[str, object], str],
    read_value: Callable[[str, object], int],
) -> dict[str, int]:
    """Reads caps by host or mint.

    Refuses two spellings of the same host or mint, because a cap would silently be lost.
    """
    caps: dict[str, int] = {}
    if mapping is None:
        return caps
    entries = mapping_of(mapping)
    if entries is None:
        raise refuse(f"policy.{name}", "must be a mapping.")
    for key, value in entries.items():
        option = f"policy.{name}['{key}']"
        canonical = read_key(option, key)
        if canonical in caps:
            raise refuse(option, "is there already under another spelling. Give one.")
        caps[canonical] = read_value(option, value)
    return caps
