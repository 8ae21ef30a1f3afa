"""Stage 10: rules on the swap's calls while it runs, which the accounts may not show afterwards."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .._base.network import SYSTEM_PROGRAM, TOKEN_PROGRAMS
from .._solana.address import Address
from .._solana.rpc.types import InnerInstruction
from .._spec import table
from .rule import Rule

# Token calls that change nothing but balances, which the simulation rules judge.
_HARMLESS: frozenset[str] = frozenset(table("tokens")["calls"]["harmless"])
_INITIALIZES = ("initializeAccount", "initializeAccount2", "initializeAccount3")
_MINTS = ("mintTo", "mintToChecked")
_CREATES = ("createAccount", "createAccountWithSeed", "createAccountAllowPrefund")


class InnerSubject(NamedTuple):
    """The calls between programs in a simulation."""

    inner: Sequence[InnerInstruction] | None
    # Position of the swap. Only the swap and the instruction at `made_at` call foreign code.
    swap_at: int
    wallet: Address
    # The wallet's source and output accounts of the swap.
    own: Sequence[Address]
    # Position of the instruction that makes the temporary SOL account; -1 if there is none, as in
    # our own transactions.
    made_at: int = -1

    def called(self, at: int) -> list[InnerInstruction]:
        return [call for call in self.inner or () if call.outer == at]


def _makes_account(call: InnerInstruction, subject: InnerSubject) -> bool:
    """Whether a call is a step of making a token account.

    The steps are paying for it, setting its size and program, and initializing it.
    """
    if call.program == SYSTEM_PROGRAM:
        return _leaves_wallet(call, subject)
    return (
        call.program in TOKEN_PROGRAMS
        and call.name in _INITIALIZES
        and any(address in subject.own for address in call.addresses)
    )


def _leaves_wallet(call: InnerInstruction, subject: InnerSubject) -> bool:
    """Whether a System call leaves the wallet a plain wallet.

    It may pay for a transfer or for another account's creation: the simulation rules judge its
    lamports.
    """
    if subject.wallet not in call.addresses or call.name == "transfer":
        return True
    return call.name in _CREATES and call.creates not in (None, subject.wallet)


def _leaves_tokens(call: InnerInstruction, subject: InnerSubject) -> bool:
    """Whether a token call leaves the control of the wallet's accounts unchanged."""
    if call.name in _HARMLESS:
        return True
    is_own = any(address in subject.own for address in call.addresses)
    # A swap may close an account that it made itself, which returns the rent to its payer.
    if call.name == "closeAccount":
        return not is_own
    if subject.wallet in call.addresses:
        return False
    # Some tokens are minted to their buyer. A mint by the wallet's authority is refused above.
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
    # Tokens move only by calls, so a swap without calls shows that the node left them out.
    Rule("inner_shown", lambda subject: bool(subject.called(subject.swap_at))),
    Rule("inner_system", _changes_no_wallet),
    Rule("inner_token", _changes_no_tokens),
    Rule(
        "inner_temporary",
        lambda subject: all(
            _makes_account(call, subject) for call in subject.called(subject.made_at)
        ),
    ),
)
