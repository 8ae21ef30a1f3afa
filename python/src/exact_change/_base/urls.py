"""Addresses: what of them counts for budgets, lists and fingerprints.

A host is read as strictly as it is because it feeds caps: one that a resolver would take for
another place than its spelling says is refused, never guessed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv6Address
from typing import NamedTuple
from urllib.parse import urlsplit

_LABELS = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?")
_IPV4 = re.compile(r"(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\.(?!$)|$)){4}")
_LOOPBACK = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]")
_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
# What a browser strips or escapes before it looks: nothing to send a payment to.
_ODD = re.compile(r"[\x00-\x20\x7f\\]")


class Address(NamedTuple):
    """An address, taken apart."""

    scheme: str
    # Lower case; IPv6 in brackets.
    hostname: str
    # With its port, if that is not the scheme's own.
    host: str
    # As it goes out, without a fragment.
    href: str
    path: str
    query: str
    has_user: bool

    @property
    def origin(self) -> str:
        """Scheme and host."""
        return f"{self.scheme}://{self.host}"


def parse_address(text: object) -> Address | None:
    """An absolute address whose host is in its one canonical spelling; None for anything else."""
    return _parse(text) if isinstance(text, str) else None


# One address is looked at by several checks, one after the other.
@lru_cache(maxsize=16)
def _parse(text: str) -> Address | None:
    if _ODD.search(text) is not None:
        return None
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    hostname = canonical_host(parts.hostname or "", is_ipv6="[" in parts.netloc)
    if parts.scheme not in _DEFAULT_PORTS or hostname is None:
        return None
    is_usual = port is None or port == _DEFAULT_PORTS[parts.scheme]
    host = hostname if is_usual else f"{hostname}:{port}"
    path = parts.path or "/"
    query = f"?{parts.query}" if parts.query else ""
    user = parts.netloc.rpartition("@")[0]
    place = f"{user}@{host}" if user else host
    href = f"{parts.scheme}://{place}{path}{query}"
    return Address(parts.scheme, hostname, host, href, path, query, bool(user))


def canonical_host(host: str, *, is_ipv6: bool = False) -> str | None:
    """A host as it is compared; None if a resolver may take it for another place."""
    if is_ipv6:
        try:
            address = IPv6Address(host.strip("[]"))
        except ValueError:
            return None
        return f"[{address.compressed}]"
    if not host.isascii():
        # As it goes out: the same name may be written in many letters.
        try:
            import idna  # of httpx

            host = idna.encode(host, uts46=True).decode("ascii")
        except UnicodeError:
            return None
    host = host.lower()
    if _LABELS.fullmatch(host) is None:
        return None
    last = host.rstrip(".").rpartition(".")[2]
    # `0x7f.1`, `127.1` and `2130706433` are addresses to a resolver, and no names.
    is_number = re.fullmatch("[0-9]+|0x[0-9a-f]*", last) is not None
    return None if is_number and _IPV4.fullmatch(host.rstrip(".")) is None else host


def is_loopback(hostname: str) -> bool:
    """Whether a host is this machine: what goes there passes no network."""
    return _LOOPBACK.fullmatch(hostname) is not None
