"""Reads and checks the keys of services that a caller gives."""

from __future__ import annotations

import re

from .._base.hidden import Hidden
from .._base.options import refuse
from .._base.redact import hide_key
from .._base.text import trim

_VISIBLE = re.compile("[\x21-\x7e]*")


def parse_key(option: str, key: object) -> Hidden | None:
    """Reads a key of a service. Raises ``ConfigError`` (``invalid_option``).

    An empty key counts as absent: an empty key header gets a 401, a request without it is served.
    """
    if key is None:
        return None
    if not isinstance(key, str):
        raise refuse(option, "must be a string.")
    trimmed = trim(key)
    # httpx refuses such a header at each call, and its error may repeat the key.
    if _VISIBLE.fullmatch(trimmed) is None:
        raise refuse(option, "must be visible ASCII, without spaces.")
    if not trimmed:
        return None
    hide_key(trimmed)
    return Hidden(trimmed)
