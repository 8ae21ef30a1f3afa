"""Cleans text of sellers and services before it is shown."""

from __future__ import annotations

import re

from .._spec import table
from .js import utf16_slice
from .redact import redact

_LIMIT = 200
# Control, direction and invisible characters, line separators, private characters and lone
# surrogates: a log, a terminal or a language model must not act on them. The ranges come from
# spec/, because each Python version knows another version of Unicode.
_UNSAFE = re.compile(
    "[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in table("text")["unsafe"]) + "]"
)
# The characters that `String.prototype.trim` removes in JavaScript.
SPACE = " \t\n\v\f\r\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)


def clean_text(text: str) -> str:
    """Returns at most 200 characters without secrets and control or invisible characters."""
    safe = _UNSAFE.sub(" ", utf16_slice(redact(text), 4 * _LIMIT))
    cut = utf16_slice(trim(safe), _LIMIT)
    # The cut may leave half of a surrogate pair.
    return trim(_UNSAFE.sub("", cut))


def trim(text: str) -> str:
    """Removes space at both ends, as ``trim`` does in JavaScript."""
    return text.strip(SPACE)
