"""Names of any text, as Postgres can store and lock them."""

from __future__ import annotations

import hashlib
import os

from ..._base.js import stringify
from ..types import Owner


def digest(*parts: str) -> str:
    """Any text as something short. JSON tells half surrogates apart, UTF-8 would not."""
    return hashlib.sha256(stringify(list(parts)).encode()).hexdigest()


def lock_key(*parts: str) -> str:
    """Advisory locks are named by 64 bits; this is their decimal text."""
    return _signed(bytes.fromhex(digest("exact-change", *parts)[:16]))


def random_lock_key() -> str:
    """One that no other connection ever had."""
    return _signed(os.urandom(8))


def lock_name(owner: Owner, name: str) -> str:
    """What a lock of an owner is called among those of all."""
    return stringify([owner.wallet, owner.network, name])


def _signed(data: bytes) -> str:
    return str(int.from_bytes(data, "big", signed=True))
