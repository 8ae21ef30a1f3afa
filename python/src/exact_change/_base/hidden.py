"""Texts that loggers do not print with the values of frames."""

from __future__ import annotations

from .redact import HIDDEN


class Hidden(str):
    """A text that holds a key: its repr does not show it, and so no repr of what contains it.

    A sum keeps hiding it. A format, a slice or an encoding does not.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(HIDDEN)

    def __add__(self, text: str) -> Hidden:
        return Hidden(str.__add__(self, text))
