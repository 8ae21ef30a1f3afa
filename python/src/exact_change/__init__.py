"""A client that pays for calls."""

from __future__ import annotations

from ._async_client import AsyncClient
from ._client import Client

__all__ = ["AsyncClient", "Client"]
