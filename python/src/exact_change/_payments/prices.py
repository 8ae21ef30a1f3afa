"""Dollar prices of tokens, by quotes of the client's own Jupiter."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .._base.amounts import U64_MAX, USD_DECIMALS, WHOLE_BPS, ceil_div, parse_amount
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

# Basis points between the buying and the selling price of a token. No quote shows the buying price.
_SPREAD_BPS = 100
# A price for caps need not be exact, so it may be a minute old.
_PRICE_MAX_AGE_MS = 60_000
# A pinned token without a route soon has one again, and payments that only count fees need none.
_PINNED_WITHOUT_MS = 5_000
# A payment takes less time from its choice to its swap.
PRICE_MEMORY_MS = 5 * 60_000
# The most quotes for one price.
_MAX_QUOTES = 3
# Dollar tokens to try. A token without a route to the first mostly has none to the second, and
# sellers may name many tokens.
_MAX_DOLLARS_PINNED = 2
_MAX_DOLLARS_OTHER = 1
# Millionths of a dollar in a dollar.
_MICRO_USD = 10**USD_DECIMALS
# A quote must bring between these values: small enough not to move the market, and large enough
# that rounding to a millionth of a dollar does not matter.
_LEAST = _MICRO_USD // 10
_MOST = 10_000 * _MICRO_USD
# The value that the next quote aims at.
_WANTED = _MICRO_USD
_MOST_WITH_UNKNOWN_IMPACT = 10 * _MICRO_USD
_MAX_IMPACT_BPS = 100
_MAX_DECIMALS = 18
# The search for an amount to quote starts here if the decimals are unknown.
_USUAL_DECIMALS = 6


class UsdPrice(NamedTuple):
    """The price of a mint; values are in millionths of a dollar.

    Tokens that arrive count at the lowest price of the last minutes. A payment is counted before
    its swap, so a seller could move the price of its own token in between. The caps would then
    count little, and the swap would take much.
    """

    last: PriceSeen
    # The lowest price of the last minutes.
    low: PriceSeen
    # Whether the mint is a dollar token, which counts at par and needs no quote.
    is_par: bool = False

    def most(self, amount: int) -> int:
        """Returns the value of tokens that leave the wallet, as caps count it, rounded up.

        A token that is not a dollar counts above its selling price, by the spread of its market.
        """
        about = self.about(amount)
        return about if self.is_par else ceil_div(about * (WHOLE_BPS + _SPREAD_BPS), WHOLE_BPS)

    def about(self, amount: int) -> int:
        """Returns the value at the selling price, rounded up, because a quote is rounded down."""
        micro_usd = self.last.micro_usd + (0 if self.is_par else 1)
        return ceil_div(amount * micro_usd, self.last.reference)

    def least(self, amount: int) -> int:
        """Returns the value of tokens that arrive, rounded down."""
        return amount * self.low.micro_usd // self.low.reference

    def amount_of(self, micro_usd: int) -> int:
        """Returns the most base units that are worth no more than this value."""
        return micro_usd * self.last.reference // self.last.micro_usd


def at_par(decimals: int) -> UsdPrice:
    """Returns the price of a dollar token with these decimals."""
    par = PriceSeen(10**decimals, _MICRO_USD, 0)
    return UsdPrice(par, par, True)


def usd_value_of(
    context: PaymentContext, mint: Address, amount: int, decimals: int, signal: Signal | None
) -> Steps[int | None]:
    """Returns the value of an amount in millionths of a dollar, rounded up.

    A pinned dollar token counts at par; any other token is quoted to a dollar token. None if there
    is no price. Raises if Jupiter cannot be asked.
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
    """Returns the selling price of a mint for an amount that this module chooses; None if none.

    The offer's amount is not used, because the seller chooses it, and a huge or tiny amount has
    another price. A large amount sells for less than this price says, which is the safe side. The
    search for an amount starts at ``decimals``, if they are known.
    """
    known = _known(context, mint, _PRICE_MAX_AGE_MS if max_age_ms is None else max_age_ms)
    if known is not None or _is_unpriced(context, mint):
        return known
    price = yield from _search_together(context, mint, decimals, signal)
    return None if price is None else _usd_price(price, _lows_of(context, mint))


def is_price_unknown(context: PaymentContext, mint: Address, signal: Signal | None) -> bool:
    """Returns whether a price must be asked for, and no call of this priority asks for it now."""
    return (
        _known(context, mint, _PRICE_MAX_AGE_MS) is None
        and not _is_unpriced(context, mint)
        and (mint, is_low_priority(signal)) not in context.memory.prices_asked
    )


def _is_unpriced(context: PaymentContext, mint: Address) -> bool:
    found_at = context.memory.unpriced.get(mint)
    if found_at is None:
        return False
    is_pinned = pinned_mint(context.config.network, mint) is not None
    max_age_ms = _PINNED_WITHOUT_MS if is_pinned else _PRICE_MAX_AGE_MS
    return since_then(context.config.runtime, found_at) <= max_age_ms


def _known(context: PaymentContext, mint: Address, max_age_ms: float) -> UsdPrice | None:
    """Returns the price of a mint if no quote is needed for it, else None."""
    pinned = pinned_mint(context.config.network, mint)
    if pinned is not None and pinned.dollar:
        return at_par(pinned.decimals)
    recent = _recent(context, mint)
    if not recent or since_then(context.config.runtime, recent[-1].at) > max_age_ms:
        return None
    return _usd_price(recent[-1], _lows_of(context, mint))


def _lows_of(context: PaymentContext, mint: Address) -> Sequence[PriceSeen]:
    """Returns recent prices; none for a pinned token, because no seller can move its price."""
    return () if pinned_mint(context.config.network, mint) else _recent(context, mint)


def _usd_price(last: PriceSeen, recent: Sequence[PriceSeen]) -> UsdPrice:
    low = last
    for price in recent:
        if price.micro_usd * low.reference < low.micro_usd * price.reference:
            low = price
    return UsdPrice(last, low)


def _search_together(
    context: PaymentContext, mint: Address, decimals: int | None, signal: Signal | None
) -> Steps[PriceSeen | None]:
    """Searches a price; calls that search it at the same time share the quotes.

    If the first call gives up, the next starts a search. Calls of low priority do not share with
    other calls, which would have to wait for them.
    """
    searches = context.memory.prices_asked
    name = mint, is_low_priority(signal)
    while name in searches:
        try:
            return (yield from join(searches[name], signal))
        except ExactChangeError:
            raise
        except Exception:
            check(signal)
    search: Task[PriceSeen | None] = yield from start(_search(context, mint, decimals, signal))
    if not search.is_settled:
        searches[name] = search
        search.then(lambda: void(searches.pop(name, None)))
    return (yield from join(search))


def _search(
    context: PaymentContext, mint: Address, decimals: int | None, signal: Signal | None
) -> Steps[PriceSeen | None]:
    """Returns the price in the first dollar token that has a route, and remembers it."""
    network = context.config.network
    pinned = pinned_mint(network, mint)
    dollars = _MAX_DOLLARS_OTHER if pinned is None else _MAX_DOLLARS_PINNED
    start_decimals = decimals
    if start_decimals is None:
        start_decimals = _USUAL_DECIMALS if pinned is None else pinned.decimals
    for dollar in pinned_mints(network)[:dollars]:
        price = yield from _ask_price(context, mint, dollar, start_decimals, signal)
        if price is None:
            continue
        recent = _recent(context, mint)
        make_room(context.memory.prices)
        context.memory.prices[mint] = (*recent, price)
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
    """Quotes until an amount has no large price impact, mostly once; None if no amount has one."""
    reference = 10 ** min(decimals, _MAX_DECIMALS)
    found: PriceSeen | None = None
    for _ in range(_MAX_QUOTES):
        answer = yield from _ask_once(context, mint, dollar, reference, signal)
        if answer is None:
            break
        out_amount, impact = answer
        micro_usd = _scale(out_amount, dollar.decimals)
        # An unknown price impact counts as small if the value is small.
        if impact is None:
            is_smooth = micro_usd <= _MOST_WITH_UNKNOWN_IMPACT
        else:
            is_smooth = impact <= _MAX_IMPACT_BPS
        if is_smooth and micro_usd > 0:
            found = PriceSeen(reference, micro_usd, context.now())
        if _LEAST <= micro_usd <= _MOST if is_smooth else found is not None:
            break
        next_reference = min(U64_MAX, max(1, _next_reference(reference, micro_usd, is_smooth)))
        if next_reference == reference:
            break
        reference = next_reference
    return found


def _next_reference(reference: int, micro_usd: int, is_smooth: bool) -> int:
    if not is_smooth and micro_usd <= _WANTED:
        return reference // 100
    return reference * 1_000_000 if micro_usd == 0 else reference * _WANTED // micro_usd


def _ask_once(
    context: PaymentContext, mint: Address, dollar: PinnedMint, amount: int, signal: Signal | None
) -> Steps[tuple[int, float | None] | None]:
    """Returns the output and the price impact in basis points; None if there is no route."""
    slippage = context.config.policy.max_slippage_bps
    request = ResolvedRequest(mint, dollar.mint, amount, "ExactIn", slippage)
    try:
        quote = yield from context.prices.quote(request, signal)
        check_fields(quote)
        # The amount is too small to sell. That is an answer, but not a valid quote.
        if parse_amount(quote.out_amount) == 0:
            return 0, 0
        check_quote(quote, QuoteIntent(*request))
        return int(quote.out_amount), quote.price_impact_bps
    except ExactChangeError as error:
        if is_code(error, "no_route"):
            return None
        raise


def _scale(amount: int, decimals: int) -> int:
    """Converts base units of a dollar token to millionths of a dollar, rounded down."""
    return amount * int(10**USD_DECIMALS) // int(10**decimals)


def _recent(context: PaymentContext, mint: Address) -> tuple[PriceSeen, ...]:
    """Returns the prices of the last minutes, oldest first."""
    since = context.now() - PRICE_MEMORY_MS
    return tuple(price for price in context.memory.prices.get(mint, ()) if price.at >= since)
