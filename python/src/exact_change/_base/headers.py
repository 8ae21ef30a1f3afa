"""Headers of an answer, whichever client brought it."""

from __future__ import annotations

from typing import Iterable, Mapping


class Headers:
    """Names in lower case, values as they came, one character for each byte."""

    __slots__ = ("_values",)

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name.lower(), []).append(value)

    @classmethod
    def of(cls, given: Headers | Mapping[str, str]) -> Headers:
        """Headers of a mapping, or headers as they are."""
        return given if isinstance(given, Headers) else cls(given.items())

    @classmethod
    def of_bytes(cls, pairs: Iterable[tuple[bytes, bytes]]) -> Headers:
        """Headers as a connection has them."""
        return cls([(name.decode("latin-1"), value.decode("latin-1")) for name, value in pairs])

    def get(self, name: str) -> str | None:
        """The value of a header; values of repeated ones are joined by a comma."""
        values = self._values.get(name.lower())
        return None if values is None else ", ".join(values)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._values
