"""Lines: a line feed, then ``<crc> <length> <after> <json>``.

The line feed comes first, so that a line which another writer left half written does not spoil the
next line.
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
# 8 zero bytes in a row: JSON never has them, and a single damaged bit cannot make them.
_HOLE = bytes(8)


class Line(NamedTuple):
    """A line as FORMAT.md has it."""

    # Byte at which the last line ended that the writer had read.
    after: int
    json: bytes
    # Bytes of the line.
    length: int


# Why some bytes are no line.
# `fragment`: the line is cut off: its writer was killed, or the disk was full.
# `open`: the line is cut off at the end of the file: its writer may still be writing.
# `hole`: the bytes never came to the disk before the power was lost.
# `damage`: the bytes are not as they were written.
NoLine = Literal["fragment", "open", "hole", "damage"]


def hex_crc(data: bytes) -> bytes:
    """Returns the CRC-32 of zlib as 8 hex digits."""
    return b"%08x" % zlib.crc32(data)


def encode_line(after: int, json: str) -> bytes:
    """Returns a line with some JSON. ``after`` is the end of the last line that was read."""
    text = json.encode()
    body = b"%d %b" % (after, text)
    return b"\n%b %d %b" % (hex_crc(body), len(text), body)


def read_line(data: bytes, is_last: bool) -> Line | NoLine:
    """Reads the line at the beginning of ``data``.

    ``data`` are the bytes from a line feed up to the next line feed, or to the end of the file.
    ``is_last`` says whether the file ends with these bytes.
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
    # A hole may follow directly after the line.
    is_ended = end == len(data) or data[end : end + 1] == b"\0"
    if is_ended and hex_crc(data[body:end]) == crc:
        return Line(int(after), data[start:end], end)
    if _HOLE in data:
        return hole
    # If the CRC fits all bytes, the line is whole and its length is damaged.
    if end <= len(data) or hex_crc(data[body:]) == crc:
        return "damage"
    return part
