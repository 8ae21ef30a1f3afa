"""Checks Jupiter's address, and makes the header of its key."""

from __future__ import annotations

from .._base.options import refuse
from .._base.urls import is_loopback, parse_address

# Hosts that are switched off or soon will be; old examples still name them.
_DEAD_HOSTS = ("lite-api.jup.ag", "quote-api.jup.ag")


def jupiter_base(base_url: str) -> str:
    """Returns the base address without a slash at its end.

    Raises ``invalid_option`` for retired hosts, plain http and addresses with a query.
    """
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
    """Returns the header of an API key; none for a blank key, which Jupiter answers with 401."""
    key = (api_key or "").strip()
    return [("x-api-key", key)] if key else []
