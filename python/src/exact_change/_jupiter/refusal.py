"""Turns a refusal of Jupiter into an error."""

from __future__ import annotations

import re

from .._base.js import parse_json
from .._base.json_types import record_of
from .._solana.address import Address
from .._spec import table
from ..errors import ExactChangeError, failure

_NO_ROUTE: frozenset[str] = frozenset(table("jupiter")["noRouteCodes"])
# Some answers with status 400 are plain text.
_NO_ROUTE_TEXT = re.compile(
    "could not find any route|no routes? found|route not found|does not support it|not tradable",
    re.IGNORECASE | re.ASCII,
)
_STALE = "FAILED_TO_GET_SWAP_AND_ACCOUNT_METAS"


def refusal_of(
    status: int, body: bytes, input_mint: Address, output_mint: Address
) -> ExactChangeError:
    """Returns the error for a refusal of Jupiter; Jupiter's own text goes into ``untrusted``.

    429 and 5xx never get here, because ``PeerHttp`` handles them.
    """
    code, text = _read(body)
    untrusted = {"error": text} if code is None else {"errorCode": code, "error": text}
    if status in (401, 403):
        return failure(
            "jupiter_unavailable",
            f"Jupiter answered {status}: it does not accept this API key, or this address. Check "
            "jupiter_api_key and jupiter_url.",
            {"status": status},
            retry="never",
            untrusted=untrusted,
        )
    if status not in (404, 410):
        if code in _NO_ROUTE or _NO_ROUTE_TEXT.search(text) is not None:
            return failure(
                "no_route",
                f"Jupiter has no route from {input_mint} to {output_mint} for this amount. Swap "
                "from another token.",
                {"input_mint": input_mint, "output_mint": output_mint},
                untrusted=untrusted,
            )
        if code == _STALE:
            return failure(
                "quote_mismatch",
                "Jupiter can no longer build this quote. Quote again.",
                {"reason": "the quote went stale"},
                untrusted=untrusted,
            )
    return failure(
        "jupiter_unavailable",
        f"Jupiter refused the request with {status}. Check jupiter_url; what it said is in "
        "untrusted.",
        {"status": status},
        retry="never",
        untrusted=untrusted,
    )


def _read(body: bytes) -> tuple[str | None, str]:
    """Returns the code and the text of a refusal."""
    try:
        value = parse_json(body)
    except ValueError:
        return None, body.decode("utf-8", "replace")
    fields = record_of(value)
    code = fields.get("errorCode")
    texts = (fields.get(name) for name in ("error", "message"))
    text = next((text for text in texts if isinstance(text, str)), "")
    return (code if isinstance(code, str) else None), text
