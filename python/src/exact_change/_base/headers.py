"""Headers of a response, independent of the HTTP client."""

from __future__ import annotations

from typing import Iterable, Mapping


class Headers:
    """Header names in lower case; values as received, one character for each byte."""

    __slots__ = ("_values",)

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name.lower(), []).append(value)

    @classmethod
    def of(cls, headers: Headers | Mapping[str, str]) -> Headers:
        """Converts a mapping; returns ``Headers`` unchanged."""
        return headers if isinstance(headers, Headers) else cls(headers.items())

    @classmethod
    def of_bytes(cls, pairs: Iterable[tuple[bytes, bytes]]) -> Headers:
        """Converts raw header pairs of an HTTP connection."""
        return cls([(name.decode("latin-1"), value.decode("latin-1")) for name, value in pairs])

    def get(self, name: str) -> str | None:
        """Returns the value of a header; joins the values of a repeated header by a comma."""
        values = self._values.get(name.lower())
        return None if values is None else ", ".join(values)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._values
