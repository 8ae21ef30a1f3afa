"""Stage 9: rules on the accounts after a simulation, whatever the instructions say."""

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

# The life of a blockhash, because after that a new transaction is made anyway. A node that is slow
# with one answer is no reason to refuse.
_MOST_SLOTS_APART = 150
_INSTRUCTION_ERROR = re.compile(r"InstructionError[^0-9]*([0-9]{1,9})")


class TokenAfter(NamedTuple):
    """A token account of the wallet after the simulation."""

    floor: TokenFloor
    wallet: Address
    after: Account | None

    @property
    def held(self) -> TokenAccount | None:
        """The decoded account; None if it is no token account of its program."""
        if self.after is None or self.after.owner != self.floor.account.token_program:
            return None
        return decode_token_account(self.after)


class SimulationSubject(NamedTuple):
    """A simulation, and the floors that it must leave."""

    error: str | None
    floors: Floors
    # Slot at which the accounts were read that the floors follow from.
    read_at: int
    # Slot of the simulation.
    simulated_at: int
    wallet: Account | None
    tokens: Sequence[TokenAfter]


def watched_accounts(floors: Floors) -> list[Address]:
    """Returns the accounts to watch in a simulation, in the order of :func:`simulation_subject`."""
    return [floors.wallet, *(token.account.address for token in floors.tokens)]


def simulation_subject(simulation: Simulation, floors: Floors, read_at: int) -> SimulationSubject:
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
    """Makes a rule on each token account; an account that the transaction closes must be gone."""

    def check_token(token: TokenAfter) -> bool:
        if token.floor.closed:
            return _is_gone(token.after)
        held = token.held
        return held is not None and passes(token, held)

    return Rule(id_, lambda subject: all(map(check_token, subject.tokens)))


def _is_on_same_state(subject: SimulationSubject) -> bool:
    return 0 <= subject.simulated_at - subject.read_at <= _MOST_SLOTS_APART


def _is_plain_wallet(subject: SimulationSubject) -> bool:
    wallet = subject.wallet
    # A wallet without lamports is no account at all.
    if wallet is None:
        return subject.floors.lamports == 0
    return wallet.owner == SYSTEM_PROGRAM and not wallet.data and not wallet.executable


def _has_least(token: TokenAfter, held: TokenAccount) -> bool:
    if token.after is None:
        return False
    return held.amount + uncounted_lamports(token.after, held) >= token.floor.least


def _has_lamports(subject: SimulationSubject) -> bool:
    return (0 if subject.wallet is None else subject.wallet.lamports) >= subject.floors.lamports


SIMULATION_RULES: Sequence[Rule[SimulationSubject]] = (
    Rule("simulated_success", lambda subject: subject.error is None),
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

# The rule of the guard. The chain checks it in the simulation, and again at the landing.
GUARD_RULE = RULE_TEXTS["guard"]


def check_simulation(
    simulation: Simulation,
    floors: Floors,
    read_at: int,
    decoders: Decoders,
    swap_at: int | None,
    guard_from: int,
) -> None:
    """Judges the simulation of a transaction that is about to be signed.

    Raises ``unsafe_swap`` for a broken rule or a failed guard, because the venue caused it. Raises
    ``simulation_failed`` for any other failure. ``swap_at`` is the position of the swap, None if
    all instructions are ours; ``guard_from`` is the position of the first guard instruction.
    """
    if simulation.error is not None:
        raise _failure(simulation, decoders, guard_from)
    enforce(SIMULATION_RULES, simulation_subject(simulation, floors, read_at))
    if swap_at is not None:
        own = [token.account.address for token in floors.tokens]
        enforce(INNER_RULES, InnerSubject(simulation.inner, swap_at, floors.wallet, own))


def is_guard_failure(simulation: Simulation, guard_from: int) -> bool:
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
