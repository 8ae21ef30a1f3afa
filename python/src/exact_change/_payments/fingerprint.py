"""Computes the fingerprint of a request, and the nonce of a payment."""

from __future__ import annotations

import hashlib
import re
from typing import Callable

from .._base.headers import Headers
from .._base.js import stringify

_BOUNDARY = re.compile(r'multipart/[^;]+;.*?boundary="?([^";]{1,200})', re.IGNORECASE | re.ASCII)
_FRAGMENT = re.compile("#.*", re.DOTALL)
_NONCE_BYTES = 16
_RANDOM_BYTES = 8


def fingerprint_of(method: str, url: str, headers: Headers, body: bytes) -> str:
    """Returns the hash of a request's method, URL and body; equal requests have the same.

    ``url`` is as the caller gave it, because redirects may lead elsewhere at each call. The
    seller's terms are left out: else a seller could change its price or payee between two 402s, and
    have a request paid twice. A form's boundary is left out, because it is random for each call.
    """
    boundary = _BOUNDARY.match(headers.get("content-type") or "")
    content = body
    if boundary is not None:
        # Latin-1 has one character for each byte, so `replace` works on any bytes.
        content = body.decode("latin-1").replace(boundary[1], "").encode()
    parts = [method, _FRAGMENT.sub("", url), hashlib.sha256(content).hexdigest()]
    return hashlib.sha256(stringify(parts).encode()).hexdigest()


def nonce_for(url: str, idempotency_key: str | None, random_bytes: Callable[[int], bytes]) -> bytes:
    """Returns the 16 bytes that make a payment unique.

    With a key, they end in a hash of the URL, the key and the random bytes before it. So the
    payment commits to its purchase. Without a key they are random: from a hash without a secret,
    any reader of the chain could find out which known URL was paid.
    """
    if idempotency_key is None:
        return random_bytes(_NONCE_BYTES)
    random = random_bytes(_RANDOM_BYTES)
    # JSON separates the two texts. A fragment is never sent, so it is left out.
    text = stringify([_FRAGMENT.sub("", url), idempotency_key])
    commitment = hashlib.sha256(random + text.encode()).digest()
    return random + commitment[: _NONCE_BYTES - _RANDOM_BYTES]
