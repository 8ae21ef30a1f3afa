"""Lines: a line feed, then ``<crc> <length> <after> <json>``.

A line begins with its line feed, so that what another writer left half written does not take it
along.
"""

from __future__ import annotations

import re
import zlib
from typing import NamedTuple

from typing_extensions import Literal

_HEAD = re.compile(rb"([0-9a-f]{8}) ([0-9]{1,15}) ([0-9]{1,15}) ")
_PART_OF_HEAD = re.compile(
    rb"[0-9a-f]{0,8}|[0-9a-f]{8} [0-9]{0,15}|[0-9a-f]{8} [0-9]{1,15} [0-9]{0,15}"
)
_LONGEST_HEAD = 8 + 1 + 15 + 1 + 15 + 1
# So many zero bytes in a row are no letters of JSON, and no single damaged bit.
_HOLE = bytes(8)


class Line(NamedTuple):
    """A line."""

    # Where the line ended that its writer took for the last one.
    after: int
    json: bytes
    # Bytes of it.
    length: int


# `fragment`: not written to its end. `open`: at the end of the file, where it may be going on.
# `hole`: it never came to the disk before the power was lost. `damage`: not as it was written.
NoLine = Literal["fragment", "open", "hole", "damage"]


def hex_crc(data: bytes) -> bytes:
    """The CRC-32 of zlib, as 8 hex digits."""
    return b"%08x" % zlib.crc32(data)


def encode_line(after: int, json: str) -> bytes:
    """A line."""
    text = json.encode()
    body = b"%d %b" % (after, text)
    return b"\n%b %d %b" % (hex_crc(body), len(text), body)


def read_line(data: bytes, is_last: bool) -> Line | NoLine:
    """Reads the line that some bytes begin with.

    ``data``: from a line feed up to the next one, or up to the end of the file; ``is_last``:
    whether the file ends with them.
    """
    part: NoLine = "open" if is_last else "fragment"
    hole: NoLine = "open" if is_last else "hole"
    if data[:1] != b"\n":
        return hole if data[:1] == b"\0" else "damage"
    head = _HEAD.match(data, 1)
    if head is None:
        if _HOLE in data:
            return hole
        is_short = len(data) <= _LONGEST_HEAD
        return part if is_short and _PART_OF_HEAD.fullmatch(data, 1) else "damage"
    crc, length, after = head.groups()
    start, end = head.end(), head.end() + int(length)
    body = head.start(3)
    # A hole may follow right after it.
    is_ended = end == len(data) or data[end : end + 1] == b"\0"
    if is_ended and hex_crc(data[body:end]) == crc:
        return Line(int(after), data[start:end], end)
    if _HOLE in data:
        return hole
    # Whole as it stands, it had another length: that was damaged.
    if end <= len(data) or hex_crc(data[body:]) == crc:
        return "damage"
    return part
