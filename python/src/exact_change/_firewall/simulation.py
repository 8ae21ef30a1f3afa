"""Stage 9: the accounts after a simulation on the caller's own node, whatever was said."""

from __future__ import annotations

import re
from typing import Callable, NamedTuple, Sequence

from .._base.network import SYSTEM_PROGRAM
from .._base.text import clean_text
from .._solana.address import Address
from .._solana.rpc.types import Account, Simulation
from .._solana.tokens import TokenAccount, decode_token_account, uncounted_lamports
from ..errors import ExactChangeError, failure
from .decoders import Decoders, swap_error_name
from .guard import Floors, TokenFloor
from .inner import INNER_RULES, InnerSubject
from .rule import RULE_TEXTS, Rule, enforce, refusal

# As long as a blockhash lives: what takes longer is asked anew anyway.
_MOST_SLOTS_APART = 150
_INSTRUCTION_ERROR = re.compile(r"InstructionError\D*(\d+)")


class TokenAfter(NamedTuple):
    """A token account of the wallet afterwards."""

    floor: TokenFloor
    wallet: Address
    after: Account | None

    @property
    def held(self) -> TokenAccount | None:
        """What it is, if it is one of its program."""
        if self.after is None or self.after.owner != self.floor.account.token_program:
            return None
        return decode_token_account(self.after)


class SimulationSubject(NamedTuple):
    """A simulation, and what it must leave."""

    error: str | None
    floors: Floors
    # When the accounts were read from which the floors follow, and when it was simulated.
    read_at: int
    simulated_at: int
    wallet: Account | None
    tokens: Sequence[TokenAfter]


def watched_accounts(floors: Floors) -> list[Address]:
    """The accounts to watch, in the order that :func:`simulation_subject` reads them."""
    return [floors.wallet, *(one.account.address for one in floors.tokens)]


def simulation_subject(simulation: Simulation, floors: Floors, read_at: int) -> SimulationSubject:
    """What the rules of the simulation look at."""
    wallet, *tokens = simulation.accounts
    return SimulationSubject(
        simulation.error,
        floors,
        read_at,
        simulation.slot,
        wallet,
        [TokenAfter(floor, floors.wallet, after) for floor, after in zip(floors.tokens, tokens)],
    )


def _is_gone(account: Account | None) -> bool:
    return account is None or (account.lamports == 0 and not account.data)


def _on_tokens(
    id_: str, passes: Callable[[TokenAfter, TokenAccount], bool]
) -> Rule[SimulationSubject]:
    def check_one(token: TokenAfter) -> bool:
        if token.floor.closed:
            return _is_gone(token.after)
        held = token.held
        return held is not None and passes(token, held)

    return Rule(id_, lambda one: all(map(check_one, one.tokens)))


def _is_on_same_state(one: SimulationSubject) -> bool:
    return 0 <= one.simulated_at - one.read_at <= _MOST_SLOTS_APART


def _is_plain_wallet(one: SimulationSubject) -> bool:
    wallet = one.wallet
    # One without lamports is no account at all.
    if wallet is None:
        return one.floors.lamports == 0
    return wallet.owner == SYSTEM_PROGRAM and not wallet.data and not wallet.executable


def _has_least(token: TokenAfter, held: TokenAccount) -> bool:
    if token.after is None:
        return False
    return held.amount + uncounted_lamports(token.after, held) >= token.floor.least


def _has_lamports(one: SimulationSubject) -> bool:
    return (0 if one.wallet is None else one.wallet.lamports) >= one.floors.lamports


SIMULATION_RULES: Sequence[Rule[SimulationSubject]] = (
    Rule("simulated_success", lambda one: one.error is None),
    Rule("simulated_slot", _is_on_same_state),
    Rule("simulated_wallet", _is_plain_wallet),
    _on_tokens(
        "simulated_account",
        lambda token, held: (held.mint, held.state) == (token.floor.account.mint, "initialized"),
    ),
    _on_tokens("simulated_owner", lambda token, held: held.owner == token.wallet),
    _on_tokens("simulated_delegate", lambda _token, held: held.delegate is None),
    _on_tokens(
        "simulated_close_authority",
        lambda token, held: held.close_authority in (None, token.wallet),
    ),
    _on_tokens("simulated_balance", _has_least),
    Rule("simulated_lamports", _has_lamports),
)

GUARD_RULE = RULE_TEXTS["guard"]


def check_simulation(
    simulation: Simulation,
    floors: Floors,
    read_at: int,
    decoders: Decoders,
    swap_at: int | None,
    guard_from: int,
) -> None:
    """Judges a simulation of the transaction that is about to be signed.

    A failure of the guard is the venue's doing (``unsafe_swap``), any other is
    ``simulation_failed``. ``swap_at``: of the instruction that is not ours; None if all are.
    """
    if simulation.error is not None:
        raise _failure(simulation, decoders, guard_from)
    enforce(SIMULATION_RULES, simulation_subject(simulation, floors, read_at))
    if swap_at is not None:
        own = [one.account.address for one in floors.tokens]
        enforce(INNER_RULES, InnerSubject(simulation.inner, swap_at, floors.wallet, own))


def is_guard_failure(simulation: Simulation, guard_from: int) -> bool:
    """Whether it failed in the guard."""
    found = _INSTRUCTION_ERROR.search(simulation.error or "")
    return found is not None and int(found[1]) >= guard_from


def _failure(simulation: Simulation, decoders: Decoders, guard_from: int) -> ExactChangeError:
    if is_guard_failure(simulation, guard_from):
        return refusal(GUARD_RULE)
    reason = swap_error_name(decoders, simulation.logs) or clean_text(simulation.error or "")
    return failure(
        "simulation_failed",
        f"The swap fails in simulation ({reason}), so it was not signed. Quote again.",
        {"reason": reason},
    )
