"""Schemas of fields that several messages have."""

from __future__ import annotations

from .._base.amounts import parse_amount
from .._base.urls import parse_address
from .._solana.address import is_address
from .schema import Misfit, shaped

_BASE64 = "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
_BASE58 = "[1-9A-HJ-NP-Za-km-z]"
# Base64 characters of the largest Solana transaction, which has 1232 bytes.
_MAX_TRANSACTION = 1_644

# The shape limits the length before the address is decoded.
address = shaped("must be a base58 address.", f"{_BASE58}{{32,44}}", 44, is_address)
# A symbol is shorter than any address. Only the network knows if it is pinned, and to which mint.
mint = shaped(
    'must be a mint address or a pinned symbol such as "USDC".',
    f"(?:[A-Za-z0-9]{{1,10}}|{_BASE58}{{32,44}})",
    44,
    lambda text: len(text) <= 10 or is_address(text),
)
amount = shaped(
    'must be base units as a decimal string, from "0" to "18446744073709551615".',
    "(?:0|[1-9][0-9]{0,19})",
    20,
    lambda text: parse_amount(text) is not None,
)
# A whole number of any size: sums and requested amounts may exceed the amount of any account.
digits = shaped("must be a whole number as a decimal string.", "(?:0|[1-9][0-9]{0,39})", 40)
ui_amount = shaped("must be a decimal string.", r"(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,255})?", 300)
_transaction = shaped(
    "must be the base64 of a transaction of at most 1232 bytes.", _BASE64, _MAX_TRANSACTION
)
# A name to look up or to show.
name = shaped("must be a name of up to 64 visible ASCII characters.", "[\x21-\x7e]{1,64}", 64)
# A key that a caller chooses.
caller_key = shaped("must be 1 to 255 visible ASCII characters.", "[\x21-\x7e]{1,255}", 255)
base64_text = shaped("must be base64.", _BASE64, 16_384)
# Base58 of the 64 bytes of a signature.
signature = shaped("must be a base58 signature.", f"{_BASE58}{{64,88}}", 88)
web_address = shaped(
    "must be an absolute http: or https: address.",
    "(?s:.*)",
    4_096,
    lambda text: _scheme_of(text) in ("http", "https"),
)


def transaction(value: object) -> object:
    """Checks the base64 of a transaction."""
    text = _transaction(value)
    if len(text) < 88:
        raise Misfit("must be the base64 of a transaction.")
    return text


def _scheme_of(text: str) -> str:
    url = parse_address(text)
    return "" if url is None else url.scheme
