"""Keys of services that a caller gives, checked."""

from __future__ import annotations

import re

from .._base.options import refuse
from .._base.redact import hide_key

_VISIBLE = re.compile("[\x21-\x7e]*")


def parse_key(option: str, key: object) -> str | None:
    """A key of a service. An empty header is answered with 401, no header at all is served."""
    if key is None:
        return None
    if not isinstance(key, str):
        raise refuse(option, "must be a string.")
    trimmed = key.strip()
    # A header with anything else is refused at each call, in words that may repeat it.
    if _VISIBLE.fullmatch(trimmed) is None:
        raise refuse(option, "must be visible ASCII, without spaces.")
    if not trimmed:
        return None
    hide_key(trimmed)
    return trimmed
