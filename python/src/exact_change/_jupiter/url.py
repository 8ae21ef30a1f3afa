"""Jupiter's address and key."""

from __future__ import annotations

from .._base.options import refuse
from .._base.urls import is_loopback, parse_address

# Gone or being switched off; old examples still name them.
_DEAD_HOSTS = ("lite-api.jup.ag", "quote-api.jup.ag")


def jupiter_base(base_url: str) -> str:
    """The base address without a slash at its end. Raises ``invalid_option``."""
    url = parse_address(base_url)
    if url is None:
        raise refuse("jupiter_url", "is not an address.")
    if url.hostname in _DEAD_HOSTS:
        raise refuse(
            "jupiter_url",
            f"names {url.hostname}, which is being switched off. Use https://api.jup.ag.",
        )
    is_local = url.scheme == "http" and is_loopback(url.hostname)
    if url.scheme != "https" and not is_local:
        raise refuse("jupiter_url", "must be an https address.")
    if url.query or "#" in base_url or "?" in base_url:
        raise refuse("jupiter_url", "must be a base address, without a query.")
    return url.href.rstrip("/")


def key_header(api_key: str | None) -> list[tuple[str, str]]:
    """The header of an API key; none for a blank one, which Jupiter would answer with 401."""
    key = (api_key or "").strip()
    return [("x-api-key", key)] if key else []
