"""The cut of a silent body beside the close of its connection, which may then serve others."""

from __future__ import annotations

import socket
import threading
from typing import Callable, Iterator

import pytest

from exact_change._base.headers import Headers
from exact_change._http.pieces import Pieces
from exact_change._http.replies import BlockingReply, _Closing


class Silent(BlockingReply):
    """A reply whose body is empty, on a connection that tells whether it was shut down."""

    def __init__(self, connection: socket.socket, when_cut: Callable[[], None]) -> None:
        super().__init__(402, Headers([]), "https://seller.example", "GET")
        self.was_shut_at_close: bool | None = None
        self._socket = connection
        self._when_cut = when_cut
        self._closing = _Closing()

    def close(self) -> None:
        self._dispose(self._closing)

    def cut(self) -> None:
        self._cut(self._closing)

    def is_shut(self) -> bool:
        try:
            self._socket.send(b"x")
            return False
        except BrokenPipeError:
            return True

    def _open(self) -> Pieces:
        def note() -> None:
            self.was_shut_at_close = self.is_shut()

        return Pieces(iter(()), note)

    def _connection(self) -> socket.socket:
        self._when_cut()
        return self._socket


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    one, other = socket.socketpair()
    with one, other:
        yield one


def test_shuts_no_connection_down_after_its_close(connection: socket.socket) -> None:
    reply = Silent(connection, lambda: None)
    reply.close()
    reply.cut()
    assert (reply.was_shut_at_close, reply.is_shut()) == (False, False)


def test_closes_a_connection_only_after_a_cut_under_way(connection: socket.socket) -> None:
    def close_meanwhile() -> None:
        closing.start()
        # It ends only after the cut if it has to wait for the cut.
        closing.join(1)

    reply = Silent(connection, close_meanwhile)
    closing = threading.Thread(target=reply.close)
    reply.cut()
    closing.join(60)
    assert reply.was_shut_at_close is True
