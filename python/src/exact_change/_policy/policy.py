"""The caller's rules about money, checked."""

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
# Asked with a plan of exactly what would be signed. Only True lets it go on.
Approve = Callable[[Any], Union[bool, Awaitable[bool]]]


class ListOptions(TypedDict, total=False):
    """Each list that is given is held to; an empty one names nothing."""

    # Such as `api.example.com`; `*.example.com` names its subdomains, and not itself.
    hosts: Sequence[str]
    # Wallets that are paid, base58.
    payees: Sequence[str]
    # Addresses or pinned symbols.
    mints: Sequence[str]
    # CAIP-2 ids or names of Solana clusters.
    networks: Sequence[str]
    # Payment schemes such as `exact`, in any case.
    schemes: Sequence[str]


class PolicyOptions(TypedDict, total=False):
    """Dollars are decimal text such as ``"0.25"``, with at most six decimals.

    Caps count all that leaves the wallet for payments: prices, what swaps take beyond what they
    bring in a pinned token, network fees and rent.
    """

    # US dollars that one payment may cost, its swap included. Default "1.00".
    max_per_payment: str
    # US dollars in any 60 minutes.
    max_per_hour: str
    # US dollars in any 24 hours. Default "10.00".
    max_per_day: str
    # US dollars in all that the journal knows of.
    max_total: str
    # US dollars in any 24 hours for each host. Without a port it stands for all ports.
    max_per_host: Mapping[str, str]
    # Lamports of network fees and rent in any 24 hours. Default 50000000.
    max_lamports_per_day: Units
    # Base units that may leave for one payment, by mint or pinned symbol. A mint without a price
    # can be paid only with such a cap.
    max_amount: Mapping[str, Units]
    # More caps. All caps hold, each by itself.
    limits: Sequence[LimitOptions]
    # What alone may be paid: each list that is given has to name it.
    allow: ListOptions
    # What may not be paid, also if `allow` names it.
    deny: ListOptions
    # Asked before anything is signed.
    approve: Approve
    # How many more payments may be signed for a call whose paid request was answered with 402, if
    # that answer shows that nothing was settled. 0 or 1; default 0.
    resign: int
    # Base units that one swap may take, by mint or pinned symbol: a bound that no quote can move.
    max_in_amount: Mapping[str, Units]
    # US dollars that a swap gets at least. Default "0.05".
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
    # Keeps a float of a dollar token by swaps between calls, within these rules. Needs `auto_swap`.
    top_up: TopUpOptions


class Policy(NamedTuple):
    """The rules, checked. Dollars are millionths of a dollar."""

    caps: CapRules
    # What denies comes first.
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


_NAMES = tuple(PolicyOptions.__annotations__)
_defaults: dict[str, Any] = table("defaults")["policy"]


def parse_policy(given: object, network: str) -> Policy:
    """Checks the rules and fills in the defaults. Raises ``ConfigError`` (``invalid_option``)."""
    options = refuse_unknown(given, _NAMES, "policy")
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

    daily = next(cap for cap in _defaults["caps"] if cap["name"] == "maxLamportsPerDay")
    over_time = [
        *_dollar_caps("max_per_hour", options.get("max_per_hour"), HOUR_MS),
        *_dollar_caps("max_per_day", options.get("max_per_day", "10.00"), DAY_MS),
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


def _host_caps(given: object) -> list[Cap]:
    limits = _read_table("max_per_host", given, read_host, read_usd)
    return [
        Cap(f"max_per_host['{host}']", USD, limit, DAY_MS, host) for host, limit in limits.items()
    ]


def _read_table(
    name: str,
    given: object,
    read_key: Callable[[str, object], str],
    read_value: Callable[[str, object], int],
) -> dict[str, int]:
    """Caps by name. Two names of one thing would silently lose one cap."""
    caps: dict[str, int] = {}
    if given is None:
        return caps
    entries = mapping_of(given)
    if entries is None:
        raise refuse(f"policy.{name}", "must be a mapping.")
    for key, value in entries.items():
        option = f"policy.{name}['{key}']"
        known = read_key(option, key)
        if known in caps:
            raise refuse(option, "is there already under another spelling. Give one.")
        caps[known] = read_value(option, value)
    return caps
