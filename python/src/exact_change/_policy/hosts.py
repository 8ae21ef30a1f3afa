"""Hosts in lists and caps."""

from __future__ import annotations

import re

from .._base.options import refuse
from .._base.urls import parse_address

# Letters, digits, dots and a port; or an IPv6 address. Neither wildcards nor more than a host.
_HOST = re.compile(r"(?:[\w-]+(?:\.[\w-]+)*\.?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.IGNORECASE)
_DOT = re.compile(r"\.(?=:[0-9]+$|$)")
_PORT = re.compile(r":[0-9]+$")


def plain_host(host: str) -> str:
    """A host as an address shows it, without the trailing dot that names the same place."""
    return _DOT.sub("", host)


def portless(host: str) -> str:
    """A host without dot and port."""
    return _PORT.sub("", plain_host(host))


def read_host(option: str, host: object) -> str:
    """A host as the caller names it, as addresses show it. Raises ``ConfigError``."""
    if isinstance(host, str) and _HOST.fullmatch(host) is not None:
        address = parse_address(f"https://{host}")
        if address is not None:
            return plain_host(address.host)
    raise refuse(option, 'must be named by a host such as "api.example.com".')


def read_listed_host(option: str, host: object) -> str:
    """As :func:`read_host`, for a list: ``*.example.com`` is ``.example.com``."""
    text = host if isinstance(host, str) else ""
    # An address does not show the port of its scheme: such an entry would allow more, or deny
    # less, than it says.
    if re.search(":0*(?:80|443)$", text) is not None:
        raise refuse(
            option,
            "must leave out the ports 80 and 443. Without a port a host stands for all its ports.",
        )
    if text.startswith("*.") and len(text) > 2:
        return read_host(option, f"x{text[1:]}")[1:]
    return read_host(option, host)


def names_host(entry: str, host: str) -> bool:
    """Whether an entry of a list names a host, as :func:`plain_host` gives it."""
    return any(
        place.endswith(entry) if entry.startswith(".") else place == entry
        for place in (host, portless(host))
    )
