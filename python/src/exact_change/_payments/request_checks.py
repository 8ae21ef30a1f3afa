"""Checks the URL that a payment would go to."""

from __future__ import annotations

from typing import Sequence

from .._base.options import refuse
from .._base.urls import Address, is_loopback, parse_address
from .._policy.lists import PolicyList, check_place
from ..errors import failure


def check_origin(url: str) -> Address:
    """Returns the parsed URL. Raises ``insecure_origin`` if no payment may be sent to it.

    Raises ``invalid_option`` if it holds a user name or password, which records would keep. No
    message contains the URL, because a redirecting seller may have chosen it.
    """
    address = parse_address(url)
    if address is None:
        raise failure(
            "insecure_origin",
            "The host that asks for payment may be taken for another by a resolver, so no payment "
            "is sent there. Use the seller's address in its usual spelling.",
            {"origin": ""},
        )
    if address.has_user:
        raise refuse("url", "must hold no user name or password.")
    if address.scheme == "https" or is_loopback(address.hostname):
        return address
    raise failure(
        "insecure_origin",
        "The place that asks for payment is not https, so a payment sent there could be stolen. "
        "Use the seller's https address; details['origin'] is the one that asked.",
        {"origin": address.origin},
    )


def check_request(
    lists: Sequence[PolicyList],
    method: str,
    url: str,
    *,
    is_redirected: bool,
) -> None:
    """Raises if no payment may be made for a call, whatever its terms.

    ``method`` is the method of the caller's request, before redirects.
    """
    refusal = check_place(lists, check_origin(url).host)
    if refusal is not None:
        raise refusal
    if is_redirected and method not in ("GET", "HEAD"):
        raise failure(
            "unsupported_offer",
            f"The {method} was redirected before it was answered with 402, and its method may have "
            "changed on the way. Send it to its final address directly.",
            {"reason": "redirected with a body"},
        )
