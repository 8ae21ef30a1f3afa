"""Stage 10: what programs call inside the swap, whether or not the accounts show it afterwards."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .._base.network import SYSTEM_PROGRAM, TOKEN_PROGRAMS
from .._solana.address import Address
from .._solana.rpc.types import InnerInstruction
from .._spec import table
from .rule import Rule

# What they take or give shows in the balances, which are judged by themselves.
_HARMLESS: frozenset[str] = frozenset(table("tokens")["calls"]["harmless"])
_INITIALIZES = ("initializeAccount", "initializeAccount2", "initializeAccount3")
_MINTS = ("mintTo", "mintToChecked")
_CREATES = ("createAccount", "createAccountWithSeed", "createAccountAllowPrefund")


class InnerSubject(NamedTuple):
    """What was called; what other instructions than the foreign swap call is ours."""

    inner: Sequence[InnerInstruction] | None
    # The position of the foreign swap instruction.
    swap_at: int
    wallet: Address
    # The wallet's accounts that the swap takes from and pays into.
    own: Sequence[Address]
    # The position of the instruction that makes the program's temporary account; -1: none.
    made_at: int = -1

    def called(self, at: int) -> list[InnerInstruction]:
        """What one instruction called."""
        return [one for one in self.inner or () if one.outer == at]


def _makes_account(call: InnerInstruction, subject: InnerSubject) -> bool:
    """An account is paid for, given its size and its program, and made one of the token program."""
    if call.program == SYSTEM_PROGRAM:
        return _leaves_wallet(call, subject)
    return (
        call.program in TOKEN_PROGRAMS
        and call.name in _INITIALIZES
        and any(address in subject.own for address in call.addresses)
    )


def _leaves_wallet(call: InnerInstruction, subject: InnerSubject) -> bool:
    """A wallet that pays for a transfer or another's creation is a matter of its lamports."""
    if subject.wallet not in call.addresses or call.name == "transfer":
        return True
    return call.name in _CREATES and call.creates not in (None, subject.wallet)


def _leaves_tokens(call: InnerInstruction, subject: InnerSubject) -> bool:
    if call.name in _HARMLESS:
        return True
    is_own = any(address in subject.own for address in call.addresses)
    # An account that lived only inside the swap gives its lamports back to what paid for it.
    if call.name == "closeAccount":
        return not is_own
    if subject.wallet in call.addresses:
        return False
    # Some tokens are minted to their buyer; with the wallet's authority it would be its own.
    return call.name in _MINTS or not is_own


def _changes_no_wallet(subject: InnerSubject) -> bool:
    return all(
        call.program != SYSTEM_PROGRAM or _leaves_wallet(call, subject)
        for call in subject.called(subject.swap_at)
    )


def _changes_no_tokens(subject: InnerSubject) -> bool:
    return all(
        call.program not in TOKEN_PROGRAMS or _leaves_tokens(call, subject)
        for call in subject.called(subject.swap_at)
    )


INNER_RULES: Sequence[Rule[InnerSubject]] = (
    # Tokens move only by calls, so a swap without any was simulated without what could be wrong.
    Rule("inner_shown", lambda one: bool(one.called(one.swap_at))),
    Rule("inner_system", _changes_no_wallet),
    Rule("inner_token", _changes_no_tokens),
    Rule(
        "inner_temporary",
        lambda one: all(_makes_account(call, one) for call in one.called(one.made_at)),
    ),
)
