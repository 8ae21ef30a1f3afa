"""Decodes base64 in its one spelling, as the TypeScript library does."""

from __future__ import annotations

import base64
import binascii


def decode_base64(text: str) -> bytes | None:
    """Decodes text with padding; None if no encoder writes it that way."""
    if not text.isascii():
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
    # The spelling is canonical only if the bits after the last byte are zero.
    return data if base64.b64encode(data).decode() == text else None
