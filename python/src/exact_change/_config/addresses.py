"""Reads and checks the addresses that a caller gives."""

from __future__ import annotations

from typing import Sequence, cast

from typing_extensions import Literal

from .._base.hidden import Hidden
from .._base.network import SOLANA_DEVNET, SOLANA_MAINNET, SOLANA_TESTNET
from .._base.options import refuse
from .._base.redact import hide_address
from .._base.urls import Address, is_loopback, parse_address

_PUBLIC_RPC = {
    SOLANA_MAINNET: "https://api.mainnet-beta.solana.com",
    SOLANA_DEVNET: "https://api.devnet.solana.com",
    SOLANA_TESTNET: "https://api.testnet.solana.com",
}
# jupiter.md 1.1: hosts that Jupiter shut down, and that old examples still name.
_DEAD_JUPITER_HOSTS = ("lite-api.jup.ag", "quote-api.jup.ag")


def parse_service_url(option: str, text: object) -> Hidden:
    """Reads the base address of a service. Raises ``ConfigError`` (``invalid_option``)."""
    url = _parse_base(option, text)
    if url.scheme != "https" and not is_loopback(url.hostname):
        raise refuse(option, "must start with https://, unless it is on this machine.")
    return Hidden(url.href.rstrip("/"))


def parse_jupiter_url(text: object) -> Hidden:
    """Reads the address of Jupiter's API. Raises ``ConfigError`` (``invalid_option``)."""
    address = parse_service_url("jupiter_url", text)
    url = parse_address(address)
    if url is not None and url.hostname in _DEAD_JUPITER_HOSTS:
        raise refuse("jupiter_url", f"names {url.hostname}, which is gone. Use https://api.jup.ag.")
    return address


def parse_rpc_urls(rpc_url: object, network: str) -> Sequence[Hidden]:
    """Reads the addresses of the RPC nodes. Raises ``ConfigError`` (``invalid_option``)."""
    addresses = _PUBLIC_RPC.get(network) if rpc_url is None else rpc_url
    urls: Sequence[object] = [] if addresses is None else [addresses]
    if isinstance(addresses, (list, tuple)):
        urls = cast("Sequence[object]", addresses)
    if not urls:
        raise refuse("rpc_url", "must name at least one RPC node for this network.")
    # Each node is a separate witness of what landed, so a node that is named twice counts once.
    by_normalised: dict[tuple[str, ...], Hidden] = {}
    for text in urls:
        url = _parse("rpc_url", text)
        by_normalised.setdefault(_normalised(url), Hidden(url.href))
    return list(by_normalised.values())


def parse_presign(value: object) -> Sequence[str] | Literal["stated"]:
    """Reads the addresses of calls that may be paid ahead.

    Raises ``ConfigError`` (``invalid_option``).
    """
    if isinstance(value, bool):
        return "stated" if value else ()
    if not isinstance(value, (list, tuple)):
        raise refuse("presign", "must be True, False or a list of addresses.")
    return [_parse_base("presign", text).href for text in cast("Sequence[object]", value)]


def _normalised(url: Address) -> tuple[str, ...]:
    """Returns equal parts for two spellings of one address, as far as the spelling shows that."""
    host = url.host.replace(url.hostname, url.hostname.rstrip("."))
    return url.scheme, host, url.path.rstrip("/"), url.query


def _parse_base(option: str, text: object) -> Address:
    """Reads an address that paths are added to."""
    url = _parse(option, text)
    if url.query or "#" in str(text) or "?" in str(text):
        raise refuse(option, "must end with its path: what follows is added to it.")
    return url


def _parse(option: str, text: object) -> Address:
    """Reads an http address without a password.

    The text may hold a provider's key, so the error does not repeat it.
    """
    url = parse_address(text)
    if url is None or url.scheme not in ("http", "https"):
        raise refuse(option, "must be an address that starts with http:// or https://.")
    if url.has_user:
        raise refuse(option, "must hold no user name or password.")
    hide_address(url.href)
    return url
