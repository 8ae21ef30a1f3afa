"""Host names in lists and caps."""

from __future__ import annotations

import re

from .._base.options import refuse
from .._base.urls import parse_address

# Letters, digits, dots and a port, or an IPv6 address. No wildcard, and no other part of a URL.
# IDNA decides about characters beyond ASCII, because `\w` lacks the vowel signs of many scripts.
_LABEL = r"[\w\u0080-\U0010ffff-]+"
_HOST = re.compile(
    rf"(?:{_LABEL}(?:\.{_LABEL})*\.?|\[[0-9a-f:.]+\])(?::[0-9]{{1,5}})?", re.IGNORECASE
)
_DOT = re.compile(r"\.(?=:[0-9]+$|$)")
_PORT = re.compile(r":[0-9]+$")


def plain_host(host: str) -> str:
    """Returns a parsed URL's host without a trailing dot, because both spellings name one host."""
    return _DOT.sub("", host)


def portless(host: str) -> str:
    """Returns a parsed URL's host without a trailing dot and without a port."""
    return _PORT.sub("", plain_host(host))


def read_host(option: str, host: object) -> str:
    """Reads the caller's host name and spells it as a parsed URL does. Raises ``ConfigError``."""
    if isinstance(host, str) and _HOST.fullmatch(host) is not None:
        address = parse_address(f"https://{host}")
        if address is not None:
            return plain_host(address.host)
    raise refuse(option, 'must be named by a host such as "api.example.com".')


def read_listed_host(option: str, host: object) -> str:
    """Reads a host of a list as :func:`read_host` does; ``*.example.com`` is ``.example.com``."""
    text = host if isinstance(host, str) else ""
    # A parsed URL leaves out its scheme's default port. Without this check, the entry would allow
    # more, or deny less, than it says.
    if re.search(":0*(?:80|443)$", text) is not None:
        raise refuse(
            option,
            "must leave out the ports 80 and 443. Without a port a host stands for all its ports.",
        )
    if text.startswith("*.") and len(text) > 2:
        return read_host(option, f"x{text[1:]}")[1:]
    return read_host(option, host)


def names_host(entry: str, host: str) -> bool:
    """Returns whether an entry of a list names the host. ``host`` is from :func:`plain_host`."""
    return any(
        spelling.endswith(entry) if entry.startswith(".") else spelling == entry
        for spelling in (host, portless(host))
    )
