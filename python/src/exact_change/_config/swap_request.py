"""Reads and checks the swap requests of a caller."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Union

from typing_extensions import TypedDict

from .._base.amounts import to_amount
from .._base.json_types import is_integer
from .._base.options import refuse, refuse_unknown
from .._policy.policy import Units
from .._policy.read import read_mint
from .._solana.address import Address
from .._swap.types import SwapMode, SwapQuote
from .options import Config


class SwapRequest(TypedDict, total=False):
    """A swap to quote, by ``amount`` or ``ui_amount``."""

    # A mint, or a pinned symbol ("SOL", "USDC"). SOL means native SOL.
    input_mint: str
    output_mint: str
    # Base units: of the input for `ExactIn`, of the output for `ExactOut`.
    amount: Units
    # Instead of `amount`: the amount as people write it, decimal text such as "0.25".
    ui_amount: str
    # Default `ExactIn`. `ExactOut` falls back to an input with a least output that covers the
    # amount.
    swap_mode: SwapMode
    # Basis points; default, and at most: `policy.max_slippage_bps`.
    slippage_bps: int
    # Accounts that the route may use: fewer accounts make a smaller transaction and a worse price.
    # Default: the provider decides.
    max_accounts: int


# An approved quote, or its `max_in_amount` and `min_out_amount`.
ApprovedQuote = Union[SwapQuote, Mapping[str, str]]


class SwapOptions(SwapRequest, total=False):
    """A swap to make, and its bounds."""

    # Counts the swap against the caps, as a swap for a payment. Network fees and rent count, and
    # the value that it takes beyond the value that it brings in a pinned token. If it brings
    # another token, its whole input counts. Set it for swaps that a party with less trust than the
    # caller orders, such as a model. Default False.
    counted: bool
    # The approved quote: no more may leave and no less may arrive, whatever the market did since.
    # Raises `approval_refused` if the price has moved past it.
    no_worse_than: ApprovedQuote


_NAMES = tuple(SwapRequest.__annotations__)


class ResolvedRequest(NamedTuple):
    """A swap request with addresses as its mints, and with its amount, mode and slippage set."""

    input_mint: Address
    output_mint: Address
    amount: int
    swap_mode: SwapMode
    slippage_bps: int
    max_accounts: int | None = None


def check_names(request: object) -> Mapping[str, Any]:
    """Returns the fields of a request that are set. Raises ``ConfigError`` for an unknown field."""
    given = refuse_unknown(request, _NAMES)
    return {name: value for name, value in given.items() if value is not None}


def parse_swap_request(request: Mapping[str, Any], config: Config) -> ResolvedRequest:
    """Checks a swap request and fills in the defaults.

    Raises ``ConfigError`` (``invalid_option``).
    """
    most = config.policy.max_slippage_bps
    amount = to_amount(request.get("amount"))
    if not amount:
        raise refuse("amount", "must be base units above 0, as an int or a whole number as text.")
    mode: SwapMode = request.get("swap_mode", "ExactIn")
    if mode not in ("ExactIn", "ExactOut"):
        raise refuse("swap_mode", 'must be "ExactIn" or "ExactOut".')
    slippage = request.get("slippage_bps", most)
    if not is_integer(slippage) or not 0 <= slippage <= most:
        raise refuse(
            "slippage_bps",
            f"must be a whole number from 0 to policy.max_slippage_bps ({most}).",
        )
    accounts = request.get("max_accounts")
    if accounts is not None and not (is_integer(accounts) and 1 <= accounts <= 64):
        raise refuse("max_accounts", "must be a whole number from 1 to 64.")
    input_mint = read_mint("input_mint", request.get("input_mint"), config.network)
    output_mint = read_mint("output_mint", request.get("output_mint"), config.network)
    if input_mint == output_mint:
        raise refuse("output_mint", "must be another token than input_mint.")
    return ResolvedRequest(input_mint, output_mint, amount, mode, slippage, accounts)
