"""What tokens are worth in dollars, by quotes of the client's own Jupiter."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .._base.amounts import U64_MAX, USD_DECIMALS, ceil_div, parse_amount
from .._base.network import PinnedMint, pinned_mint, pinned_mints
from .._base.runtime import since_then
from .._config.swap_request import ResolvedRequest
from .._kernel.signals import Signal, check, is_low_priority, void
from .._kernel.steps import join, start
from .._kernel.task import Steps, Task
from .._solana.address import Address
from .._swap.check_quote import check_fields, check_quote
from .._swap.types import QuoteIntent
from ..errors import ExactChangeError, is_code
from .context import PaymentContext
from .memory import PriceSeen, make_room

# What a token costs to buy is above what it sells for by the spread of its market, which no quote
# tells.
_SPREAD_BPS = 100
_WHOLE = 10_000
# Caps bound spending, they do not trade: a price of the last minute will do.
_PRICE_MAX_AGE_MS = 60_000
# Longer than a payment waits between its choice and its swap.
PRICE_MEMORY_MS = 5 * 60_000
_MAX_QUOTES = 3
# What has no route to the first dollar token mostly has none to the second; and sellers name tokens
# by the dozen.
_MAX_DOLLARS_PINNED = 2
_MAX_DOLLARS_OTHER = 1
_MICRO_USD = 10**USD_DECIMALS
# Small enough to move no price worth the name, large enough that rounding to a millionth of a
# dollar is nothing.
_LEAST = _MICRO_USD // 10
_MOST = 10_000 * _MICRO_USD
_WANTED = _MICRO_USD
_MOST_WITH_UNKNOWN_IMPACT = 10 * _MICRO_USD
_MAX_IMPACT_BPS = 100
_MAX_DECIMALS = 18
# Only if the search for a reference starts.
_USUAL_DECIMALS = 6


class UsdPrice(NamedTuple):
    """What base units of one mint are worth, in millionths of a dollar.

    What arrives counts by the lowest price of the last minutes: a payment is counted before its
    swap, and a seller that moves the price of its own token in between could have the caps count
    little and the swap take much.
    """

    last: PriceSeen
    low: PriceSeen
    # A dollar token, whose price is no quote.
    is_par: bool = False

    def most(self, amount: int) -> int:
        """What leaves the wallet, as caps count it: rounded up.

        A token that is no dollar counts above its selling price, by the spread of markets.
        """
        about = self.about(amount)
        return about if self.is_par else ceil_div(about * (_WHOLE + _SPREAD_BPS), _WHOLE)

    def about(self, amount: int) -> int:
        """At the selling price, rounded up: a quote was rounded down."""
        micro_usd = self.last.micro_usd + (0 if self.is_par else 1)
        return ceil_div(amount * micro_usd, self.last.reference)

    def least(self, amount: int) -> int:
        """What arrives, rounded down."""
        return amount * self.low.micro_usd // self.low.reference

    def amount_of(self, micro_usd: int) -> int:
        """Base units that are worth so many millionths of a dollar."""
        return ceil_div(micro_usd * self.last.reference, self.last.micro_usd)


def at_par(decimals: int) -> UsdPrice:
    """What a dollar token is worth."""
    one = PriceSeen(10**decimals, _MICRO_USD, 0)
    return UsdPrice(one, one, True)


def usd_value_of(
    context: PaymentContext, mint: Address, amount: int, decimals: int, signal: Signal | None
) -> Steps[int | None]:
    """What an amount is worth in millionths of a dollar, rounded up.

    Par for pinned dollar tokens, a quote to one of them for others. None if there is no price;
    raises if Jupiter could not be asked.
    """
    price = yield from usd_price_of(context, mint, signal, decimals)
    return None if price is None else price.most(amount)


def usd_price_of(
    context: PaymentContext,
    mint: Address,
    signal: Signal | None,
    decimals: int | None = None,
    max_age_ms: float | None = None,
) -> Steps[UsdPrice | None]:
    """What a mint is worth: its selling price for an amount of our own choosing.

    A seller chooses the amount that it asks for, and the price of a huge or tiny amount is not that
    of another one. A large amount sells for less than this says, which is the safe side.
    ``decimals``: where the search for a fair amount starts, if they are known.
    """
    known = _known(context, mint, _PRICE_MAX_AGE_MS if max_age_ms is None else max_age_ms)
    if known is not None or _is_unpriced(context, mint):
        return known
    price = yield from _search_together(context, mint, decimals, signal)
    return None if price is None else _worth_at(price, _lows_of(context, mint))


def is_price_unknown(context: PaymentContext, mint: Address, signal: Signal | None) -> bool:
    """Whether the next call with a mint has to ask for its price, with no other that asks."""
    return (
        _known(context, mint, _PRICE_MAX_AGE_MS) is None
        and not _is_unpriced(context, mint)
        and (mint, is_low_priority(signal)) not in context.memory.prices_asked
    )


def _is_unpriced(context: PaymentContext, mint: Address) -> bool:
    found_at = context.memory.unpriced.get(mint)
    if found_at is None:
        return False
    return since_then(context.config.runtime, found_at) <= _PRICE_MAX_AGE_MS


def _known(context: PaymentContext, mint: Address, max_age_ms: float) -> UsdPrice | None:
    """The price of a mint, if no quote is needed for it."""
    pinned = pinned_mint(context.config.network, mint)
    if pinned is not None and pinned.dollar:
        return at_par(pinned.decimals)
    recent = _recent(context, mint)
    if not recent or since_then(context.config.runtime, recent[-1].at) > max_age_ms:
        return None
    return _worth_at(recent[-1], _lows_of(context, mint))


def _lows_of(context: PaymentContext, mint: Address) -> Sequence[PriceSeen]:
    """No seller moves the price of a pinned token."""
    return () if pinned_mint(context.config.network, mint) else _recent(context, mint)


def _worth_at(last: PriceSeen, known: Sequence[PriceSeen]) -> UsdPrice:
    low = last
    for one in known:
        if one.micro_usd * low.reference < low.micro_usd * one.reference:
            low = one
    return UsdPrice(last, low)


def _search_together(
    context: PaymentContext, mint: Address, decimals: int | None, signal: Signal | None
) -> Steps[PriceSeen | None]:
    """Calls that ask for a price at the same time share its quotes, unless the first gives up.

    Questions that give way to others are no help to one that does not.
    """
    asked = context.memory.prices_asked
    name = mint, is_low_priority(signal)
    while name in asked:
        try:
            return (yield from join(asked[name], signal))
        except ExactChangeError:
            raise
        except Exception:
            check(signal)
    own: Task[PriceSeen | None] = yield from start(_search(context, mint, decimals, signal))
    if not own.is_settled:
        asked[name] = own
        own.then(lambda: void(asked.pop(name, None)))
    return (yield from join(own))


def _search(
    context: PaymentContext, mint: Address, decimals: int | None, signal: Signal | None
) -> Steps[PriceSeen | None]:
    """The price in the first dollar token that has a route."""
    network = context.config.network
    pinned = pinned_mint(network, mint)
    dollars = _MAX_DOLLARS_OTHER if pinned is None else _MAX_DOLLARS_PINNED
    begin = decimals
    if begin is None:
        begin = _USUAL_DECIMALS if pinned is None else pinned.decimals
    for dollar in pinned_mints(network)[:dollars]:
        price = yield from _ask_price(context, mint, dollar, begin, signal)
        if price is None:
            continue
        known = _recent(context, mint)
        make_room(context.memory.prices)
        context.memory.prices[mint] = (*known, price)
        return price
    make_room(context.memory.unpriced)
    context.memory.unpriced[mint] = context.now()
    return None


def _ask_price(
    context: PaymentContext,
    mint: Address,
    dollar: PinnedMint,
    decimals: int,
    signal: Signal | None,
) -> Steps[PriceSeen | None]:
    """A price without a noticeable impact, by as many quotes as it takes; mostly one."""
    reference = 10 ** min(decimals, _MAX_DECIMALS)
    found: PriceSeen | None = None
    for _ in range(_MAX_QUOTES):
        answer = yield from _ask_once(context, mint, dollar, reference, signal)
        if answer is None:
            break
        out_amount, impact = answer
        micro_usd = _scale(out_amount, dollar.decimals)
        # A price impact that is not known is small if the amount is.
        if impact is None:
            is_smooth = micro_usd <= _MOST_WITH_UNKNOWN_IMPACT
        else:
            is_smooth = impact <= _MAX_IMPACT_BPS
        if is_smooth and micro_usd > 0:
            found = PriceSeen(reference, micro_usd, context.now())
        if _LEAST <= micro_usd <= _MOST if is_smooth else found is not None:
            break
        following = min(U64_MAX, max(1, _next_reference(reference, micro_usd, is_smooth)))
        if following == reference:
            break
        reference = following
    return found


def _next_reference(reference: int, micro_usd: int, is_smooth: bool) -> int:
    if not is_smooth and micro_usd <= _WANTED:
        return reference // 100
    return reference * 1_000_000 if micro_usd == 0 else reference * _WANTED // micro_usd


def _ask_once(
    context: PaymentContext, mint: Address, dollar: PinnedMint, amount: int, signal: Signal | None
) -> Steps[tuple[int, float | None] | None]:
    slippage = context.config.policy.max_slippage_bps
    request = ResolvedRequest(mint, dollar.mint, amount, "ExactIn", slippage)
    try:
        quote = yield from context.prices.quote(request, signal)
        check_fields(quote)
        # Too little to sell for anything is an answer, though no quote.
        if parse_amount(quote.out_amount) == 0:
            return 0, 0
        check_quote(quote, QuoteIntent(*request))
        return int(quote.out_amount), quote.price_impact_bps
    except ExactChangeError as error:
        if is_code(error, "no_route"):
            return None
        raise


def _scale(amount: int, decimals: int) -> int:
    return amount * int(10**USD_DECIMALS) // int(10**decimals)


def _recent(context: PaymentContext, mint: Address) -> tuple[PriceSeen, ...]:
    """Prices of the last minutes, oldest first."""
    since = context.now() - PRICE_MEMORY_MS
    return tuple(one for one in context.memory.prices.get(mint, ()) if one.at >= since)
