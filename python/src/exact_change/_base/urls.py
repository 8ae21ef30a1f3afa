"""Parses URLs for caps, lists and fingerprints.

Caps count by host, so the parser is strict. It refuses a host that a resolver may take for another
host than its spelling says.
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
# Characters that a browser strips or escapes; no payment goes to a URL with such a character.
_ODD = re.compile(r"[\x00-\x20\x7f\\]")

_DOT = re.compile("%2e", re.IGNORECASE)
_ENDS_IN_DOTS = re.compile(r"/(?:\.|%2e){1,2}\Z", re.IGNORECASE)


class Address(NamedTuple):
    """A parsed URL."""

    scheme: str
    # Lower case; IPv6 in brackets.
    hostname: str
    # The hostname, with the port unless it is the scheme's default.
    host: str
    # The URL as it is requested, without a fragment.
    href: str
    path: str
    query: str
    has_user: bool

    @property
    def origin(self) -> str:
        """Scheme and host."""
        return f"{self.scheme}://{self.host}"


def is_same_origin(first: str, second: str) -> bool:
    """Returns whether two URLs have one origin; False if either cannot be parsed."""
    addresses = parse_address(first), parse_address(second)
    origins = [None if address is None else address.origin for address in addresses]
    return origins[0] is not None and origins[0] == origins[1]


def parse_address(text: object) -> Address | None:
    """Parses an absolute URL and spells its host canonically; returns None for anything else."""
    return _parse(text) if isinstance(text, str) else None


def host_of(url: str) -> str:
    """Returns the host of a URL, as :class:`Address` has it; empty text if it is no address."""
    address = parse_address(url)
    return "" if address is None else address.host


# Cached, because several checks parse the same URL one after the other.
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
    path = _without_dots(parts.path)
    # Dots, an empty query and apostrophes are spelled as in the URL standard: over one journal, a
    # client in TypeScript then has the same fingerprint for the URL.
    has_query = "?" in text.partition("#")[0]
    query = "?" + parts.query.replace("'", "%27") if has_query else ""
    user = parts.netloc.rpartition("@")[0]
    place = f"{user}@{host}" if user else host
    href = f"{parts.scheme}://{place}{path}{query}"
    return Address(parts.scheme, hostname, host, href, path, query, bool(user))


def _without_dots(path: str) -> str:
    """Resolves the segments `.` and `..` of a path; each dot may be percent-encoded."""
    segments: list[str] = []
    for segment in path.split("/")[1:]:
        dots = _DOT.sub(".", segment)
        if dots == "..":
            del segments[-1:]
        elif dots != ".":
            segments.append(segment)
    if _ENDS_IN_DOTS.search(path) is not None:
        segments.append("")
    return "/" + "/".join(segments)


def canonical_host(host: str, *, is_ipv6: bool) -> str | None:
    """Returns the canonical spelling of a host; None if a resolver may read it differently."""
    if is_ipv6:
        try:
            address = IPv6Address(host.strip("[]"))
        except ValueError:
            return None
        return f"[{address.compressed}]"
    if not host.isascii():
        # IDNA form, as in the request: many spellings may mean the same name.
        try:
            import idna  # installed with httpx

            host = idna.encode(host, uts46=True).decode("ascii")
        except UnicodeError:
            return None
    host = host.lower()
    if _LABELS.fullmatch(host) is None:
        return None
    last = host.rstrip(".").rpartition(".")[2]
    # A resolver reads `0x7f.1`, `127.1` and `2130706433` as IP addresses, not as names.
    is_number = re.fullmatch("[0-9]+|0x[0-9a-f]*", last) is not None
    return None if is_number and _IPV4.fullmatch(host.rstrip(".")) is None else host


def is_loopback(hostname: str) -> bool:
    """Returns whether a host is this machine, so that requests to it cross no network."""
    return _LOOPBACK.fullmatch(hostname) is not None
