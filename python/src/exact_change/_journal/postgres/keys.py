"""Names for Postgres to store and lock, made of any text."""

from __future__ import annotations

import hashlib
import os

from ..._base.js import stringify


def digest(*parts: str) -> str:
    """Returns a short hash of any texts, also of texts that Postgres cannot store or index.

    JSON comes first, because UTF-8 would encode all half surrogates alike.
    """
    return hashlib.sha256(stringify(list(parts)).encode()).hexdigest()


def lock_key(*parts: str) -> str:
    """Returns the key of an advisory lock: 64 bits, as decimal text."""
    return _signed(bytes.fromhex(digest("exact-change", *parts)[:16]))


def random_lock_key() -> str:
    """Returns a lock key that no other connection ever had."""
    return _signed(os.urandom(8))


def _signed(data: bytes) -> str:
    return str(int.from_bytes(data, "big", signed=True))
