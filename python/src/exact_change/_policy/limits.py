"""The caller's ``limits``: caps beyond those with an option of their own."""

from __future__ import annotations

from typing import Any, Mapping

from typing_extensions import Literal, TypedDict

from .._base.json_types import is_integer
from .._base.options import refuse, refuse_unknown
from .caps import Cap
from .cost import USD
from .hosts import read_host
from .periods import PERIODS
from .read import read_address, read_list, read_mint, read_units, read_usd


class LimitOptions(TypedDict, total=False):
    """A cap. Exactly one of the first five fields sets the limit."""

    # US dollars as decimal text.
    usd: str
    # Base units of `mint`: of payments in it, and of swaps out of it.
    amount: int | str
    # Number of payments; not with `per: "payment"`.
    payments: int
    # Number of swaps for payments, failed swaps included; not with `per: "payment"`.
    swaps: int
    # Lamports of network fees and rent.
    lamports: int | str
    # `minute`, `hour` and `day` are the last 60 seconds, 60 minutes and 24 hours, at any instant;
    # `total` is everything that the journal knows.
    per: Literal["payment", "minute", "hour", "day", "total"]
    # Address or pinned symbol. With `amount`: the mint that the cap counts. Else the cap counts
    # only payments in this mint, with their swaps.
    mint: str
    # Counts only payments to this host; "*": a cap for each host, with all its ports together.
    host: str
    # Counts only payments to this address; "*": a cap for each payee.
    payee: str


_MEASURES = ("usd", "amount", "payments", "swaps", "lamports")
_FIELDS = (*_MEASURES, "per", "mint", "host", "payee")


def read_limits(limits: object, network: str) -> tuple[Cap, ...]:
    """Checks the limits. Raises ``ConfigError`` (``invalid_option``)."""
    return read_list(
        "policy.limits", limits, lambda option, limit: _read_limit(option, limit, network)
    )


def _read_limit(option: str, value: object, network: str) -> Cap:
    limit = refuse_unknown(value, _FIELDS, option)
    measures = [name for name in _MEASURES if limit.get(name) is not None]
    if len(measures) != 1:
        raise refuse(option, f"must have exactly one of {', '.join(_MEASURES)}.")
    (measure,) = measures
    per = limit.get("per")
    if not isinstance(per, str) or per not in PERIODS:
        raise refuse(f"{option}.per", f"must be one of {', '.join(PERIODS)}.")
    if measure in ("payments", "swaps") and per == "payment":
        raise refuse(f"{option}.per", f"must be longer than one payment, to count {measure}.")
    mint, host, payee = limit.get("mint"), limit.get("host"), limit.get("payee")
    # `read_mint` also refuses an amount without a mint.
    needs_mint = mint is not None or measure == "amount"
    mint_address = read_mint(f"{option}.mint", mint, network) if needs_mint else None
    return Cap(
        option.replace("policy.", ""),
        {"usd": USD, "amount": mint_address or ""}.get(measure, measure),
        _read_measure(f"{option}.{measure}", limit, measure),
        PERIODS[per],
        host if host in (None, "*") else read_host(f"{option}.host", host),
        payee if payee in (None, "*") else read_address(f"{option}.payee", payee),
        mint_address,
    )


def _read_measure(option: str, limit: Mapping[str, Any], measure: str) -> int:
    value = limit[measure]
    if measure == "usd":
        return read_usd(option, value)
    if measure == "amount":
        return read_units(option, value, "base units")
    if measure == "lamports":
        return read_units(option, value, "lamports")
    if is_integer(value) and value >= 0:
        return value
    raise refuse(option, f"must be how many {measure}, a whole number from 0.")
