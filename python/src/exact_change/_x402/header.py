"""Encodes and decodes payment headers: base64 of UTF-8 JSON."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from .._base.js import stringify
from .._base.json_types import is_record
from .._base.text import trim
from .json import MAX_CHARACTERS, read_json

_BASE64 = re.compile("[A-Za-z0-9+/]+={0,2}")
_BASE64URL = re.compile("[A-Za-z0-9_-]+={0,2}")
# The most characters of a header: base64 makes four characters of three bytes.
_MAX_VALUE = -(-MAX_CHARACTERS * 4 // 3)
_WIDE = re.compile("[\u0100-\U0010ffff]")


def decode_header(value: str) -> dict[str, Any] | None:
    """Decodes a payment header: base64 in either alphabet, padded or not, or plain JSON.

    Returns None for anything else, such as two values that a proxy joined by a comma.
    """
    trimmed = trim(value)
    if len(trimmed) > _MAX_VALUE:
        return None
    text = _from_bytes(trimmed) if trimmed.startswith("{") else _decode_base64(trimmed)
    json = None if text is None else read_json(text).value
    return json if is_record(json) else None


def encode_header(value: object) -> str:
    """Encodes the content of a payment header: padded standard base64 of UTF-8 JSON."""
    return base64.b64encode(stringify(value).encode()).decode()


def _decode_base64(value: str) -> str | None:
    if _BASE64.fullmatch(value) is not None:
        altchars = None
    elif _BASE64URL.fullmatch(value) is not None:
        altchars = b"-_"
    else:
        return None
    digits = value.rstrip("=")
    try:
        data = base64.b64decode(digits + "=" * (-len(digits) % 4), altchars)
        # Reject unused bits at the end that are not zero, as TypeScript does.
        encoded = base64.b64encode(data, altchars).decode().rstrip("=")
        # Drops one byte order mark, as TypeScript does.
        return data.decode("utf-8-sig") if encoded == digits else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def _from_bytes(value: str) -> str:
    """Restores UTF-8 text: HTTP clients return a header's bytes as one character each."""
    if _WIDE.search(value) is not None:
        return value
    try:
        return value.encode("latin-1").decode()
    except UnicodeDecodeError:
        return value
