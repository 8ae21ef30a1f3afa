"""Reads the answers of Jupiter in the terms of this library."""

from __future__ import annotations

import math
import re
from typing import Any, Sequence

from .._base.amounts import parse_amount
from .._base.base64_text import decode_base64
from .._base.js import ANSWER_DEPTH, MAX_SAFE, js_number, parse_json
from .._base.json_types import is_list, is_number, is_record, record_of
from .._base.text import clean_text
from .._solana.address import is_address
from .._solana.types import AccountMeta, Instruction
from .._swap.check_quote import platform_fee_of
from .._swap.types import QuoteIntent, SwapBuild, SwapMode, SwapQuote, least_out, most_in
from ..errors import ExactChangeError, failure

_MAX_ROUTE = 50
_MAX_ACCOUNTS = 256
_MAX_DATA_BYTES = 1232
_MAX_TABLES = 64
_FRACTION = re.compile(r"-?[0-9]{1,4}(\.[0-9]{1,40})?(e-?[0-9]{1,2})?", re.IGNORECASE)


def invalid_answer(reason: str, cause: Exception | None = None) -> ExactChangeError:
    """Returns the error for an unusable answer of Jupiter; ``reason`` is our own text."""
    return failure(
        "invalid_response",
        f"Jupiter's answer cannot be used: {reason}. Try again, and check jupiter_url.",
        {"service": "jupiter", "reason": reason},
        cause=cause,
    )


def foreign_quote(reason: str = "the quote is not one of this service") -> ExactChangeError:
    """Returns the error for a quote that the service did not make and cannot build."""
    return failure(
        "quote_mismatch",
        f"The swap cannot be built: {reason}. Quote again.",
        {"reason": reason},
    )


def parse_object(body: bytes) -> dict[str, Any]:
    """Parses a body as a JSON object."""
    try:
        value = parse_json(body, ANSWER_DEPTH)
    except ValueError as cause:
        raise invalid_answer("it is not JSON", cause)
    if not is_record(value):
        raise invalid_answer("it is not an object")
    return value


def read_quote(
    raw: dict[str, Any], intent: QuoteIntent, provider: str, quoted_at: int
) -> SwapQuote:
    """Reads a quote in the terms of this library. ``check_quote`` judges if it fits the intent."""
    input_mint, output_mint = raw.get("inputMint"), raw.get("outputMint")
    in_amount, out_amount = parse_amount(raw.get("inAmount")), parse_amount(raw.get("outAmount"))
    threshold = parse_amount(raw.get("otherAmountThreshold"))
    if not is_address(input_mint) or not is_address(output_mint):
        raise invalid_answer("a mint is not an address")
    if in_amount is None or out_amount is None or threshold is None:
        raise invalid_answer("an amount is not a decimal string")
    # v2 quotes `ExactIn` only, and once left the field out.
    swap_mode = raw.get("swapMode")
    mode: SwapMode = "ExactOut" if swap_mode == "ExactOut" else "ExactIn"
    if swap_mode not in (None, mode):
        raise invalid_answer("its swap mode is unknown")
    slippage = raw.get("slippageBps")
    if not is_number(slippage) or slippage != int(slippage) or not 0 <= slippage <= 10_000:
        raise invalid_answer("its slippage is not basis points")
    if platform_fee_of(raw) != 0:
        raise failure(
            "quote_mismatch",
            "The quote carries a platform fee, which was not asked for. Check jupiter_url: Jupiter "
            "itself adds none.",
            {"reason": "platform fee"},
        )
    # The threshold is the service's arithmetic, so take the more cautious of it and of our own.
    min_out = min(threshold, least_out(out_amount, intent.slippage_bps))
    max_in = max(threshold, most_in(in_amount, intent.slippage_bps))
    return SwapQuote(
        input_mint,
        output_mint,
        mode,
        str(in_amount),
        str(out_amount),
        str(out_amount if mode == "ExactOut" else min_out),
        str(in_amount if mode == "ExactIn" else max_in),
        int(slippage),
        _impact_bps(raw.get("priceImpactPct")),
        0,
        _route_of(raw.get("routePlan")),
        provider,
        quoted_at,
        raw,
    )


def _impact_bps(fraction: object) -> int | None:
    """Converts Jupiter's fraction to basis points, rounded up; None if it cannot be read."""
    text = js_number(float(fraction)) if is_number(fraction) else fraction
    if not isinstance(text, str) or _FRACTION.fullmatch(text) is None:
        return None
    bps = math.ceil(float(text) * 10_000 - 1e-9)
    return bps if abs(bps) <= MAX_SAFE else None


def _route_of(plan: object) -> list[str]:
    if not is_list(plan):
        raise invalid_answer("it has no route")
    labels: list[str] = []
    for step in plan[:_MAX_ROUTE]:
        info = record_of(record_of(step).get("swapInfo"))
        label = info.get("label")
        label = info.get("ammKey") if label is None else label
        labels.append(clean_text(label) if isinstance(label, str) else "unknown")
    return labels


def read_build(instruction: object, tables: object) -> SwapBuild:
    """Reads a build: the swap instruction, and the addresses of its lookup tables.

    It is the only instruction that is taken from the service.
    """
    if tables is None:
        tables = []
    if not is_list(tables) or len(tables) > _MAX_TABLES:
        raise invalid_answer("its lookup tables are not a list")
    if not all(map(is_address, tables)):
        raise invalid_answer("a lookup table is not an address")
    fields = record_of(instruction)
    program, accounts = fields.get("programId"), fields.get("accounts")
    if not is_address(program) or not is_list(accounts) or len(accounts) > _MAX_ACCOUNTS:
        raise invalid_answer("it has no swap instruction")
    metas: Sequence[AccountMeta] = [_read_meta(account) for account in accounts]
    return SwapBuild(
        Instruction(program, metas, _read_data(fields.get("data"))), list(dict.fromkeys(tables))
    )


def _read_meta(value: object) -> AccountMeta:
    fields = record_of(value)
    address, signer, writable = (fields.get(name) for name in ("pubkey", "isSigner", "isWritable"))
    if not is_address(address) or not isinstance(signer, bool) or not isinstance(writable, bool):
        raise invalid_answer("an account of the swap instruction is malformed")
    return AccountMeta(address, signer, writable)


def _read_data(value: object) -> bytes:
    if not isinstance(value, str) or len(value) > 2 * _MAX_DATA_BYTES:
        raise invalid_answer("the swap instruction has no data")
    data = decode_base64(value)
    if data is None:
        raise invalid_answer("the data of the swap instruction is not base64")
    return data
