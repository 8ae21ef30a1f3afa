"""Stage 5: rules on the wallet's token accounts; the guard cannot protect an account that fails."""

from __future__ import annotations

from typing import Callable, NamedTuple, Sequence

from .._solana.address import Address
from .._solana.tokens import TokenAccount
from .rule import Rule


class OwnAccountSubject(NamedTuple):
    """A token account of the wallet, as the chain has it before the swap."""

    wallet: Address
    mint: Address
    # None if the account is no token account of the mint's token program.
    held: TokenAccount | None


def _on_held(
    id_: str, passes: Callable[[TokenAccount, OwnAccountSubject], bool]
) -> Rule[OwnAccountSubject]:
    return Rule(id_, lambda subject: subject.held is not None and passes(subject.held, subject))


OWN_ACCOUNT_RULES: Sequence[Rule[OwnAccountSubject]] = (
    _on_held("own_account_kind", lambda held, subject: held.mint == subject.mint),
    _on_held("own_account_owner", lambda held, subject: held.owner == subject.wallet),
    _on_held("own_account_frozen", lambda held, _subject: held.state == "initialized"),
    _on_held("own_account_delegate", lambda held, _subject: held.delegate is None),
    _on_held(
        "own_account_close_authority",
        lambda held, subject: held.close_authority in (None, subject.wallet),
    ),
    _on_held("own_account_memo", lambda held, _subject: not held.requires_memo),
    _on_held("own_account_confidential", lambda held, _subject: not held.is_confidential),
)
