"""Request bodies of ``requests``, kept so that they can be sent again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import requests

from .kept_body import KeptBody


def keep_body(request: requests.PreparedRequest) -> KeptBody:
    """Keeps a request's body. Keeps a body that can be read only once while it is sent."""
    # The stubs of requests type a body as text or bytes only.
    held: Any = request
    body = held.body
    if isinstance(body, (_KeptParts, _KeptFile)):
        body.begin()
        return body.kept
    known = _known_bytes(body)
    if known is not None:
        return KeptBody.of(known)
    if hasattr(body, "read"):
        # A file must stay a file, because its length stands in a header.
        can_rewind = hasattr(body, "seek") and hasattr(body, "tell")
        kept = KeptBody(is_read_once=not can_rewind)
        held.body = _KeptRewindable(body, kept) if can_rewind else _KeptFile(body, kept)
    else:
        kept = KeptBody(is_read_once=isinstance(body, Iterator))
        held.body = _KeptParts(body, kept)
    return kept


def _known_bytes(body: Any) -> bytes | None:
    if isinstance(body, str):
        return body.encode()
    # A memory-mapped file counts as a file: it is sent from its current position.
    if hasattr(body, "read"):
        return None
    try:
        return bytes(memoryview(b"" if body is None else body))
    except TypeError:
        return None


class _KeptParts:
    """Kept parts, which can be sent again if the caller's parts can, such as after a redirect."""

    def __init__(self, parts: Any, kept: KeptBody) -> None:
        self._parts = parts
        self.kept = kept

    def begin(self) -> None:
        """Forgets the run before, because this send may read nothing of the body."""
        self.kept.begin()

    def __iter__(self) -> Iterator[Any]:
        run = self.kept.begin()
        for part in self._parts:
            self.kept.add(run, part.encode() if isinstance(part, str) else part)
            yield part
        self.kept.end(run)


class _KeptFile:
    def __init__(self, file: Any, kept: KeptBody) -> None:
        self._file = file
        self.kept = kept
        self.begin()

    def begin(self) -> None:
        """Begins a run: the next byte that is read counts as the first."""
        self._run = self.kept.begin()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        part: bytes = data.encode() if isinstance(data, str) else data
        if part:
            self.kept.add(self._run, part)
        if not part or size < 0:
            self.kept.end(self._run)
        return part

    def __iter__(self) -> Iterator[bytes]:
        while True:
            part = self.read(65_536)
            if not part:
                return
            yield part


class _KeptRewindable(_KeptFile):
    """A kept file that requests or urllib3 can rewind, after a redirect or for a retry."""

    def tell(self) -> int:
        position: int = self._file.tell()
        return position

    def seek(self, position: int) -> int:
        self.begin()
        at: int = self._file.seek(position)
        return at
