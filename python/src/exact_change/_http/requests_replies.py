"""Answers of sellers as responses of ``requests``."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping

import requests
from urllib3 import HTTPResponse
from urllib3.util.response import is_fp_closed

from .._base.headers import Headers
from .._kernel.hosts import threads
from .._payments.call import BodyEnd
from .endings import Ending
from .pieces import SLICE, Pieces
from .replies import BlockingReply

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class _Unfollowed(requests.Response):
    """An answer to a paid request, with a redirect that only the caller may follow."""

    @property
    def is_redirect(self) -> bool:
        """Always false, so that a session does not follow the redirect."""
        return False


def socket_of(raw: Any) -> Any:
    """Returns the socket that brings the body of an answer; None after the end of the body."""
    # Its reader has the socket, also if the connection ends with this answer.
    reader = getattr(getattr(raw, "_fp", None), "fp", None)
    return getattr(getattr(reader, "raw", None), "_sock", None)


def unfollowed(response: requests.Response) -> requests.Response:
    """Changes a response so that no session follows its redirect."""
    if response.is_redirect:
        response.__class__ = _Unfollowed
    return response


class RequestsReply(BlockingReply):
    native: requests.Response
    _pieces: Pieces | None = None

    def __init__(
        self, response: requests.Response, url: str, method: str, *, is_streamed: bool = False
    ) -> None:
        self.native = response
        self._is_streamed = is_streamed
        super().__init__(response.status_code, Headers(response.headers.items()), url, method)

    @property
    def evidence(self) -> requests.Response:
        """A closed copy of the answer, with the part of its body that was looked at."""
        copy: Any = requests.Response()
        copy.status_code, copy.headers = self.status, self.native.headers
        copy._content, copy._content_consumed = bytes(self._seen), True
        copy.encoding = self.native.encoding
        response: requests.Response = copy
        return response

    def on_body_end(self, end: BodyEnd) -> None:
        # Without `stream`, a session reads each body. If it did not, it was interrupted before.
        ending = Ending(end, threads, may_stay_unread=self._is_streamed)
        self.native.raw = _Watched(self.native.raw, ending)

    def _connection(self) -> object:
        return socket_of(self.native.raw)

    def _open(self) -> Pieces:
        if self._pieces is None:
            raw = self.native.raw
            # Packed, as it came: urllib3 would unpack a whole slice at once.
            stream = raw.stream(SLICE, decode_content=False)
            self._pieces = Pieces(iter(stream), self.native.close)
            self.native.raw = _Replayed(raw, self._pieces)
        return self._pieces


class _Raw:
    """An answer of urllib3 with a body in place of its own."""

    _OWN = ("_raw", "_pieces", "_parts", "_left", "_ending")

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # A reader may set how the answer is read, such as `decode_content`.
        if name in self._OWN or hasattr(type(self), name):
            super().__setattr__(name, value)
        else:
            setattr(self._raw, name, value)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._raw.close()

    def __iter__(self) -> Iterator[bytes]:
        """Returns the lines of the body, read from its stream."""
        response: Any = self
        return HTTPResponse.__iter__(response)


class _Replayed(_Raw):
    """A body that was looked at before. Its reader gets it from the beginning."""

    def __init__(self, raw: Any, pieces: Pieces) -> None:
        super().__init__(raw)
        self._pieces = pieces
        self._parts: Iterator[bytes] | None = None
        # The unread end of the last piece.
        self._left = b""

    def stream(self, amt: int = 0, decode_content: bool | None = None) -> Iterator[bytes]:
        left, self._left = self._left, b""
        if left:
            yield left
        yield from self._body(decode_content)

    def read(self, amt: int | None = None, decode_content: bool | None = None) -> bytes:
        if amt is None or amt < 0:
            return b"".join(self.stream(decode_content=decode_content))
        if not self._left:
            self._left = next(self._body(decode_content), b"")
        data, self._left = self._left[:amt], self._left[amt:]
        return data

    def _body(self, decode_content: bool | None) -> Iterator[bytes]:
        """Returns the parts of the body, unpacked or not, as the first read asks for them."""
        if self._parts is None:
            is_unpacked = self._raw.decode_content if decode_content is None else decode_content
            body = self._pieces.drain()
            self._parts = _unpacked(body, self._raw.headers) if is_unpacked else body
        return self._parts

    read1 = read

    def read_chunked(
        self, amt: int | None = None, decode_content: bool | None = None
    ) -> Iterator[bytes]:
        return self.stream(decode_content=decode_content)

    def readinto(self, to: bytearray) -> int:
        data = self.read(len(to))
        to[: len(data)] = data
        return len(data)

    def readline(self, size: int = -1) -> bytes:
        line = b""
        while len(line) != size and not line.endswith(b"\n"):
            byte = self.read(1)
            if not byte:
                break
            line += byte
        return line

    @property
    def data(self) -> bytes:
        return self.read()

    @property
    def closed(self) -> bool:
        """Always false: the raw answer may be at its end while kept pieces are unread."""
        return False


def _unpacked(body: Iterator[bytes], headers: Mapping[str, str]) -> Iterator[bytes]:
    """Returns the parts of a body as urllib3 unpacks them."""
    packing = {"content-encoding": headers.get("content-encoding", "")}
    packed = HTTPResponse(io.BufferedReader(_File(body)), packing, preload_content=False)
    return packed.stream(SLICE, decode_content=True)


class _File(io.RawIOBase):
    """The pieces of a body as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        # The unread end of the last piece.
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, to: WriteableBuffer) -> int:
        if not self._left:
            self._left = next(self._pieces, b"")
        into = memoryview(to)
        data, self._left = self._left[: len(into)], self._left[len(into) :]
        into[: len(data)] = data
        return len(data)


class _Watched(_Raw):
    """A body that reports its end. Its reader waits for the report."""

    def __init__(self, raw: Any, ending: Ending) -> None:
        super().__init__(raw)
        self._ending = ending
        ending.watch(self)

    def stream(self, amt: int = 65_536, decode_content: bool | None = None) -> Iterator[bytes]:
        return self._watched(self._raw.stream(amt, decode_content=decode_content))

    def read_chunked(
        self, amt: int | None = None, decode_content: bool | None = None
    ) -> Iterator[bytes]:
        chunks: Iterator[bytes] = self._raw.read_chunked(amt, decode_content=decode_content)
        # It raises for a body that is not chunked, which its reader then reads in another way.
        return self._watched(chunks) if self._raw.chunked else chunks

    def _watched(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        with self._ending.lost_if_raised():
            self._ending.begin()
            yield from map(self._ending.note, parts)
            self._ending.read()

    def __getattr__(self, name: str) -> Any:
        if name == "data":
            return self._reported(lambda: self._raw.data, lambda _: True)
        attribute = super().__getattr__(name)
        # If a caller reads the body by another attribute, its end is not seen.
        if name != "json" and (not name.startswith("read") or name == "readable"):
            return attribute

        def read(*unnamed: Any, **named: Any) -> Any:
            first = next(iter((*unnamed, *named.values())), None)
            is_all = name == "json" or (name == "readlines" and not first)
            # If no bytes were asked for, an empty result is not the end.
            is_some = first is None or bool(first)
            return self._reported(
                lambda: attribute(*unnamed, **named), lambda data: is_all or (is_some and not data)
            )

        return read

    def read(self, amt: int | None = None, decode_content: bool | None = None) -> bytes:
        def is_end(data: bytes) -> bool:
            if amt is None or amt < 0:
                return True
            # A reader that got less than it asked for may not ask again.
            return amt > 0 and (not data or (len(data) < amt and is_fp_closed(self._raw)))

        data: bytes = self._reported(
            lambda: self._raw.read(amt, decode_content=decode_content), is_end
        )
        return data

    def _reported(self, read: Callable[[], Any], is_end: Callable[[Any], bool]) -> Any:
        """Returns the result of a read; reports the end if the read fails or ``is_end`` says so."""
        with self._ending.lost_if_raised():
            self._ending.begin()
            data = read()
            if isinstance(data, bytes):
                self._ending.note(data)
            if is_end(data):
                self._ending.read()
            return data

    def close(self) -> None:
        try:
            self._raw.close()
        finally:
            if not self._ending.is_told:
                self._ending.left()
