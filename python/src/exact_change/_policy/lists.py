"""Allow and deny lists for payments."""

from __future__ import annotations

import re
from typing import Callable, NamedTuple, Sequence

from .._base.network import named_network, to_network
from .._base.options import refuse, refuse_unknown
from .._base.text import clean_text, trim
from ..errors import ExactChangeError, failure
from .hosts import names_host, plain_host, read_listed_host
from .read import read_address, read_list, read_mint


class PolicyList(NamedTuple):
    """An allow or deny list; its entries have the form that the code compares."""

    # For example `deny.hosts`.
    name: str
    allows: bool
    kind: str
    entries: Sequence[str]


def _read_network(option: str, entry: object, _network: str) -> str:
    known = named_network(entry) if isinstance(entry, str) else None
    if known is None:
        raise refuse(option, 'must be a Solana cluster such as "solana" or its CAIP-2 id.')
    return known


def _read_scheme(option: str, entry: object, _network: str) -> str:
    if not isinstance(entry, str) or re.fullmatch("[A-Za-z0-9_-]+", entry) is None:
        raise refuse(option, 'must be a scheme such as "exact".')
    return entry.lower()


_READ: dict[str, Callable[[str, object, str], str]] = {
    "hosts": lambda option, entry, _network: read_listed_host(option, entry),
    "payees": lambda option, entry, _network: read_address(option, entry),
    "mints": read_mint,
    "networks": _read_network,
    "schemes": _read_scheme,
}


def read_lists(side: str, lists: object, network: str) -> list[PolicyList]:
    """Checks the lists under ``policy.allow`` or ``policy.deny``. Raises ``ConfigError``."""
    if lists is None:
        return []
    by_kind = refuse_unknown(lists, list(_READ), f"policy.{side}")
    policy_lists: list[PolicyList] = []
    for kind, read in _READ.items():
        if by_kind.get(kind) is None:
            continue
        name = f"{side}.{kind}"

        def read_entry(
            option: str, entry: object, read: Callable[[str, object, str], str] = read
        ) -> str:
            return read(option, entry, network)

        entries = read_list(f"policy.{name}", by_kind[kind], read_entry)
        policy_lists.append(PolicyList(name, side == "allow", kind, entries))
    return policy_lists


def check_place(lists: Sequence[PolicyList], host: str) -> ExactChangeError | None:
    """Returns the refusal of a host by the lists, or None. It does not look at the terms."""
    return _refused_by(lists, {"hosts": plain_host(host)})


def check_offer(
    lists: Sequence[PolicyList], pay_to: str, mint: str, network: str, scheme: str = "exact"
) -> ExactChangeError | None:
    """Returns the refusal of an offer by the lists, or None."""
    return _refused_by(
        lists,
        {
            "payees": pay_to,
            "mints": mint,
            "networks": to_network(network) or network,
            "schemes": trim(scheme).lower(),
        },
    )


def _refused_by(lists: Sequence[PolicyList], values: dict[str, str]) -> ExactChangeError | None:
    """Returns the refusal of the first list that refuses one of the values, or None."""
    for name, allows, kind, entries in lists:
        value = values.get(kind)
        if value is None:
            continue
        is_named = (
            any(names_host(entry, value) for entry in entries)
            if kind == "hosts"
            else value in entries
        )
        if is_named == allows:
            continue
        does = "does not name" if allows else "names"
        return failure(
            "not_allowed",
            f"Refused by policy.{name}, which {does} what is in details['value']. Change the list "
            "to allow it.",
            {"list": name, "value": clean_text(value)},
        )
    return None
