"""Stage 5: token accounts of the wallet, before: in others the guard would not hold."""

from __future__ import annotations

from typing import Callable, NamedTuple, Sequence

from .._solana.address import Address
from .._solana.tokens import TokenAccount
from .rule import Rule


class OwnAccountSubject(NamedTuple):
    """A token account of the wallet; ``held`` is None if it is none of its program."""

    wallet: Address
    mint: Address
    held: TokenAccount | None


def _on(
    id_: str, passes: Callable[[TokenAccount, OwnAccountSubject], bool]
) -> Rule[OwnAccountSubject]:
    return Rule(id_, lambda one: one.held is not None and passes(one.held, one))


OWN_ACCOUNT_RULES: Sequence[Rule[OwnAccountSubject]] = (
    _on("own_account_kind", lambda held, one: held.mint == one.mint),
    _on("own_account_owner", lambda held, one: held.owner == one.wallet),
    _on("own_account_frozen", lambda held, _one: held.state == "initialized"),
    _on("own_account_delegate", lambda held, _one: held.delegate is None),
    _on(
        "own_account_close_authority",
        lambda held, one: held.close_authority in (None, one.wallet),
    ),
)
