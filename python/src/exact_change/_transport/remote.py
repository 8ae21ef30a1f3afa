"""A service."""

from __future__ import annotations

from typing import Any


class RemoteTransport:
    @classmethod
    def of(cls, config: Any, http: Any) -> Any: ...
