"""The agreed bounds and accounts of a swap. No value in it comes from a service."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .._base.network import TOKEN_PROGRAM, WSOL_MINT
from .._solana.address import Address
from .._solana.tokens import associated_token_address
from .._solana.types import Instruction
from .decoders import Decoders


class Relay(NamedTuple):
    """A relayer that pays the lamports of a swap, for a fee in one of the two tokens.

    With a relayer, no lamport of the wallet may move.
    """

    # Signs first; pays the network fee, and the rent of new accounts.
    fee_payer: Address
    # Owner of the associated token account that the fee goes to.
    pay_to: Address
    # The token of the fee.
    mint: Address
    # The fee in base units.
    amount: int


def relay_fee_in(relay: Relay | None, mint: Address) -> int:
    """Returns the relayer's fee in base units of a mint; 0 if its fee is in another token."""
    return relay.amount if relay is not None and relay.mint == mint else 0


class SwapExpectation(NamedTuple):
    """The agreed bounds and accounts of a swap."""

    # Decoders of all programs that may swap.
    decoders: Decoders
    wallet: Address
    input_mint: Address
    output_mint: Address
    # Token programs of both mints: their owners on chain.
    input_program: Address
    output_program: Address
    # Base units: the most that may leave.
    max_in: int
    # Base units: the least that must arrive.
    min_out: int
    # The most slippage, in basis points, that the instruction may allow itself.
    slippage_bps: int
    # The temporary SOL account, if the transaction makes one: it replaces the wallet's wrapped SOL
    # account.
    temporary: Address | None = None
    # The relayer that pays the lamports of the transaction, if the wallet does not.
    relay: Relay | None = None

    @property
    def fee_payer(self) -> Address:
        """The payer of a swap's fees and rents: the relayer if there is one, else the wallet."""
        return self.wallet if self.relay is None else self.relay.fee_payer

    def own_account(self, mint: Address, program: Address) -> Address:
        """Returns the wallet's account for a token of the swap."""
        if mint == WSOL_MINT and self.temporary is not None:
            return self.temporary
        return associated_token_address(self.wallet, mint, program)

    @property
    def wrapped(self) -> Address:
        """The account that wraps the SOL of a swap."""
        return self.own_account(WSOL_MINT, TOKEN_PROGRAM)


class Placed(NamedTuple):
    """An instruction with its place in the transaction."""

    instruction: Instruction
    # Whether it comes before the swap.
    before: bool
    # Whether it is the last of the transaction.
    last: bool


class Temporary(NamedTuple):
    """State on chain of the temporary SOL account, if the transaction makes one."""

    address: Address
    # Lamports that keep it rent-exempt.
    rent: int
    # Whether there is no account at the address yet.
    vacant: bool


class Surroundings(NamedTuple):
    """The instructions of a transaction that is judged as it is, with the swap among them."""

    instructions: Sequence[Instruction]
    # Position of the one instruction that swaps.
    swap_at: int
    expected: SwapExpectation
    # Lamports.
    max_priority_fee: int
    temporary: Temporary | None = None

    def placed(self) -> list[Placed]:
        last = len(self.instructions) - 1
        return [
            Placed(instruction, at < self.swap_at, at == last)
            for at, instruction in enumerate(self.instructions)
        ]


def names(instruction: Instruction, addresses: Sequence[Address]) -> bool:
    """Whether an instruction names exactly these accounts, in this order."""
    return [account.address for account in instruction.accounts] == list(addresses)
