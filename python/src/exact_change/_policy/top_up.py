"""Options of the top-up: a float of a dollar token, so that calls need not wait for a swap."""

from __future__ import annotations

from typing import NamedTuple

from typing_extensions import TypedDict

from .._base.amounts import parse_ui_amount
from .._base.network import PinnedMint, pinned_mint
from .._base.options import refuse, refuse_unknown


class TopUpOptions(TypedDict):
    """The float to keep, for example ``{"token": "USDC", "below": "0.50", "to": "2.00"}``."""

    # A pinned dollar token, by its symbol or mint.
    token: str
    # A swap starts after a paid call if the wallet can spend less than this. Decimal text.
    below: str
    # The balance that the swap brings the wallet to. Decimal text.
    to: str


class TopUp(NamedTuple):
    """The checked float to keep; amounts in base units."""

    pinned: PinnedMint
    below: int
    to: int


def read_top_up(top_up: object, network: str) -> TopUp | None:
    """Checks the options; returns None without any. Raises ``ConfigError`` (``invalid_option``)."""
    if top_up is None:
        return None
    options = refuse_unknown(top_up, tuple(TopUpOptions.__annotations__), "policy.top_up")
    token = options.get("token")
    pinned = pinned_mint(network, token) if isinstance(token, str) else None
    if pinned is None or not pinned.dollar:
        raise refuse("policy.top_up.token", 'must be a pinned dollar token such as "USDC".')
    amounts: list[int] = []
    for name in ("below", "to"):
        amount = parse_ui_amount(options.get(name), pinned.decimals)
        if not amount:
            rule = f'must be an amount of {pinned.symbol} above 0 as text such as "0.50".'
            raise refuse(f"policy.top_up.{name}", rule)
        amounts.append(amount)
    below, to = amounts
    if below >= to:
        raise refuse("policy.top_up.below", "must be less than policy.top_up.to.")
    return TopUp(pinned, below, to)
