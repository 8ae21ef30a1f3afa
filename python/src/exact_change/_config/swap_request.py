"""Swaps that a caller asks for, checked."""

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
    """What to swap, by ``amount`` or ``ui_amount``."""

    # A mint, or a pinned symbol ("SOL", "USDC"). SOL means native SOL.
    input_mint: str
    output_mint: str
    # Base units: of the input for `ExactIn`, of the output for `ExactOut`.
    amount: Units
    # Instead of it: as people write it, decimal text such as "0.25".
    ui_amount: str
    # Default `ExactIn`. `ExactOut` falls back to an input whose least output covers the amount.
    swap_mode: SwapMode
    # Basis points; default, and at most: `policy.max_slippage_bps`.
    slippage_bps: int
    # Accounts that the route may use: fewer make a smaller transaction and a worse price. Default:
    # as many as the provider likes.
    max_accounts: int


# A quote that was approved, or its `max_in_amount` and `min_out_amount`.
ApprovedQuote = Union[SwapQuote, Mapping[str, str]]


class SwapOptions(SwapRequest, total=False):
    """What to swap, and how it is bound."""

    # It counts against the caps as a swap for a payment does: what it takes beyond what it brings
    # in a pinned token (into any other its whole input), network fees and rent. For swaps that
    # something less trusted than the caller orders, such as a model. Default False.
    counted: bool
    # No more leaves and no less arrives than by a quote that was approved, whatever the market did
    # since. Raises `approval_refused` if the price has moved past it.
    no_worse_than: ApprovedQuote


_NAMES = tuple(SwapRequest.__annotations__)


class ResolvedRequest(NamedTuple):
    """A swap whose mints are addresses and whose amount, mode and slippage are set."""

    input_mint: Address
    output_mint: Address
    amount: int
    swap_mode: SwapMode
    slippage_bps: int
    max_accounts: int | None = None


def check_names(request: object) -> Mapping[str, Any]:
    """The request, if all its fields are known."""
    given = refuse_unknown(request, _NAMES)
    return {name: value for name, value in given.items() if value is not None}


def parse_swap_request(request: Mapping[str, Any], config: Config) -> ResolvedRequest:
    """Checks a swap request and fills in the defaults. Raises ``ConfigError``."""
    most = config.policy.max_slippage_bps
    amount = to_amount(request.get("amount"))
    if not amount:
        raise refuse("amount", "must be base units above 0, as an int or a decimal string.")
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
