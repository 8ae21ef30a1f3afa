"""Text of sellers and services, made fit to show."""

from __future__ import annotations

import re

from .._spec import table
from .js import utf16_slice
from .redact import redact

_LIMIT = 200
# Control characters, what directs text or does not show, line separators, private characters, half
# surrogates: nothing a log, a terminal or a language model should act on. By the ranges of spec/,
# for each Python knows another Unicode.
_UNSAFE = re.compile(
    "[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in table("text")["unsafe"]) + "]"
)
# What JavaScript trims.
_SPACE = " \t\n\v\f\r\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)


def clean_text(text: str) -> str:
    """None of our keys, no control, direction or hidden characters, at most 200 characters."""
    shown = _UNSAFE.sub(" ", utf16_slice(redact(text), 4 * _LIMIT))
    cut = utf16_slice(trim(shown), _LIMIT)
    # The cut may have halved a character.
    return trim(_UNSAFE.sub("", cut))


def trim(text: str) -> str:
    """Without the space at either end, as JavaScript trims it."""
    return text.strip(_SPACE)
