"""The first line of a file: ``<crc> <json>`` and a line feed. The length is always the same."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ..._base.js import stringify
from ..._base.json_types import is_record
from .disk import OpenFile
from .line import hex_crc

VERSION = 2
_FORMAT = "exact-change-journal"
_DIGITS = 16
_LONGEST = 4 * 1024


class Header(NamedTuple):
    """The content of the first line of a file."""

    version: Any
    # Bytes of the header: the next line begins there.
    length: int
    # Bytes of the file that were on the disk before it got its name.
    whole: int


def encode_header(content: int = 0) -> bytes:
    """Returns a header. ``content`` bytes after it are on the disk before the file has its name."""
    fields = {"format": _FORMAT, "version": VERSION, "whole": f"{content:0{_DIGITS}d}"}
    text = stringify(fields).encode()
    return b"%b %b\n" % (hex_crc(text), text)


def read_header(file: OpenFile) -> Header | None:
    """Returns the header of a file; None if it is damaged."""
    data = file.read(_LONGEST, 0)
    end = data.find(b"\n")
    line = data[: max(0, end)]
    if hex_crc(line[9:]) != line[:8] or line[8:9] != b" ":
        return None
    try:
        value = json.loads(line[9:])
        if not is_record(value) or value.get("format") != _FORMAT or "version" not in value:
            return None
        return Header(value["version"], end + 1, end + 1 + int(value.get("whole", 0)))
    except ValueError:
        return None
