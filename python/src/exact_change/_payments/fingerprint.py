"""What tells a request, and what tells a payment from every other."""

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
    """The same for equal requests: method, URL and body.

    ``url``: as the caller gave it: where redirects lead may change from call to call. The seller's
    terms are not in it: a seller that could change them between two 402s, by one unit of price or
    another payee, could have one request paid twice. Nor is a form's boundary, which is drawn anew
    for each call.
    """
    boundary = _BOUNDARY.match(headers.get("content-type") or "")
    content = body
    if boundary is not None:
        # One character for each byte, so that text can be taken out of any bytes.
        content = body.decode("latin-1").replace(boundary[1], "").encode()
    parts = [method, _FRAGMENT.sub("", url), hashlib.sha256(content).hexdigest()]
    return hashlib.sha256(stringify(parts).encode()).hexdigest()


def nonce_for(url: str, idempotency_key: str | None, random_bytes: Callable[[int], bytes]) -> bytes:
    """16 bytes that tell a payment from every other.

    Those of a purchase with a key commit to it and to its place: they end in a hash of both and of
    the random bytes before. Without a key they are random: any reader of the chain could look up on
    chain which of some places a hash without a secret was made for.
    """
    if idempotency_key is None:
        return random_bytes(_NONCE_BYTES)
    random = random_bytes(_RANDOM_BYTES)
    # JSON tells where one text ends and the next begins. A fragment is never sent.
    text = stringify([_FRAGMENT.sub("", url), idempotency_key])
    commitment = hashlib.sha256(random + text.encode()).digest()
    return random + commitment[: _NONCE_BYTES - _RANDOM_BYTES]
