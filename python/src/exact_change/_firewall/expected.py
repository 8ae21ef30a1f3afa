"""What a swap has been agreed to do; everything in it is ours, nothing a service's."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .._base.network import TOKEN_PROGRAM, WSOL_MINT
from .._solana.address import Address
from .._solana.tokens import associated_token_address
from .._solana.types import Instruction
from .decoders import Decoders


class Relay(NamedTuple):
    """Another key pays the lamports of a swap, and takes a fee in one of its two tokens.

    No lamport of the wallet may move then.
    """

    # Signs first; pays the network fee, and the rent of accounts that are made.
    fee_payer: Address
    # Owner of the associated token account that the fee goes to.
    pay_to: Address
    # The token of the fee.
    mint: Address
    # The fee in base units.
    amount: int


def relay_fee_in(relay: Relay | None, mint: Address) -> int:
    """Base units that a relayer takes of a token of the swap."""
    return relay.amount if relay is not None and relay.mint == mint else 0


class SwapExpectation(NamedTuple):
    """Amounts in base units: the most that may leave, the least that must arrive."""

    # What reads the instructions of each program that may swap.
    decoders: Decoders
    wallet: Address
    input_mint: Address
    output_mint: Address
    # Token programs of both mints: their owners on chain.
    input_program: Address
    output_program: Address
    max_in: int
    min_out: int
    # The most slippage, in basis points, that the instruction may allow itself.
    slippage_bps: int
    # The program's own account for the SOL of this swap, if the transaction makes it: it stands in
    # for the wallet's wrapped SOL account.
    temporary: Address | None = None
    # What pays the lamports of the transaction, if the wallet does not.
    relay: Relay | None = None

    @property
    def fee_payer(self) -> Address:
        """What pays the fees and rents: the wallet itself, unless a relayer does."""
        return self.wallet if self.relay is None else self.relay.fee_payer

    def own_account(self, mint: Address, program: Address) -> Address:
        """The wallet's account for a token of the swap."""
        if mint == WSOL_MINT and self.temporary is not None:
            return self.temporary
        return associated_token_address(self.wallet, mint, program)

    @property
    def wrapped(self) -> Address:
        """Where the SOL of a swap is wrapped."""
        return self.own_account(WSOL_MINT, TOKEN_PROGRAM)


class Placed(NamedTuple):
    """An instruction with what its place says about it."""

    instruction: Instruction
    before: bool
    last: bool


class Temporary(NamedTuple):
    """What the chain says of the temporary account, if the transaction makes one."""

    address: Address
    rent: int
    vacant: bool


class Surroundings(NamedTuple):
    """What stands around the swap in a transaction that is judged as it is."""

    instructions: Sequence[Instruction]
    # Position of the one instruction that swaps.
    swap_at: int
    expected: SwapExpectation
    # Lamports.
    max_priority_fee: int
    temporary: Temporary | None = None

    def placed(self) -> list[Placed]:
        """Each with its place."""
        last = len(self.instructions) - 1
        return [
            Placed(one, at < self.swap_at, at == last) for at, one in enumerate(self.instructions)
        ]


def names(instruction: Instruction, addresses: Sequence[Address]) -> bool:
    """Whether an instruction names exactly these accounts, in this order."""
    return [one.address for one in instruction.accounts] == list(addresses)
