"""Decodes a payment message without the code that built it, and compares it with the offer.

The wallet must not sign what it does not understand (security.md 4.7).
"""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .._base.amounts import U64_MAX
from .._base.network import COMPUTE_BUDGET_PROGRAM, MEMO_PROGRAM, TOKEN_PROGRAMS
from .._solana.address import Address
from .._solana.message import DecodedInstruction, decode_message
from .._solana.tokens import associated_token_address
from ..errors import ExactChangeError, failure
from .types import PaymentFacts


class _Plain(NamedTuple):
    program: Address
    accounts: Sequence[Address]
    data: bytes


def check_own_payment(message: bytes, expected: PaymentFacts) -> None:
    """Raises ``self_check_failed`` unless the message is exactly the expected payment."""
    _check_facts(expected)
    actual = decode_message(message)
    if actual is None or actual.lookups:
        raise _failed("it is not a v0 message without lookup tables")
    keys = actual.static_accounts
    wanted = _expected_instructions(expected)
    # Two signers, two token accounts, the mint, and the programs. Each instruction has its own
    # program, but the first two share the compute budget program.
    count = 5 + len(wanted) - 1
    if len(keys) != count or len(set(keys)) != count:
        raise _failed("it names other accounts than the payment needs")
    if actual.header != (2, 1, count - 4):
        raise _failed("its signers or writable accounts differ")
    if keys[0] != expected.offer.fee_payer or keys[1] != expected.payer:
        raise _failed("its signers differ")
    if {expected.source, expected.destination} - set(keys[2:4]):
        raise _failed("its writable accounts differ")
    if actual.blockhash != expected.blockhash:
        raise _failed("its blockhash differs")
    if len(actual.instructions) != len(wanted):
        raise _failed("it has another number of instructions")
    for index, (found, want) in enumerate(zip(actual.instructions, wanted)):
        if _plain(found, keys) != want:
            raise _failed(f"its instruction {index + 1} differs")


def _check_facts(facts: PaymentFacts) -> None:
    """Derives the accounts from the offer again, so that it need not trust earlier code."""
    offer, program = facts.offer, facts.token_program
    if program not in TOKEN_PROGRAMS:
        raise _failed("the token program is not a token program")
    if facts.source != associated_token_address(facts.payer, offer.mint, program):
        raise _failed("the source is not the payer's token account")
    if facts.destination != associated_token_address(offer.pay_to, offer.mint, program):
        raise _failed("the destination is not the payee's token account")
    if not 1 <= offer.amount <= U64_MAX:
        raise _failed("the amount is not from 1 to 2^64-1")
    if not 0 <= facts.decimals <= 255:
        raise _failed("the decimals are not one byte")
    if len(facts.nonce) != 16:
        raise _failed("the nonce is not 16 bytes")
    if not 1 <= facts.price <= 1_000_000:
        raise _failed("the compute unit price is not from 1 to 1000000")


def _expected_instructions(facts: PaymentFacts) -> list[_Plain]:
    offer = facts.offer
    has_own_memo = offer.memo is None and offer.takes_memo
    price = 1 if has_own_memo else facts.price
    transfer = [facts.source, offer.mint, facts.destination, facts.payer]
    amount = b"\x0c" + offer.amount.to_bytes(8, "little") + bytes((facts.decimals,))
    wanted = [
        _Plain(COMPUTE_BUDGET_PROGRAM, [], b"\x02" + (20_000).to_bytes(4, "little")),
        _Plain(COMPUTE_BUDGET_PROGRAM, [], b"\x03" + price.to_bytes(8, "little")),
        _Plain(facts.token_program, transfer, amount),
    ]
    text = "".join(f"{byte:02x}" for byte in facts.nonce) if has_own_memo else offer.memo
    return wanted if text is None else [*wanted, _Plain(MEMO_PROGRAM, [], text.encode())]


def _plain(instruction: DecodedInstruction, keys: Sequence[Address]) -> _Plain | None:
    if max((instruction.program_index, *instruction.account_indexes)) >= len(keys):
        return None
    return _Plain(
        keys[instruction.program_index],
        [keys[index] for index in instruction.account_indexes],
        instruction.data,
    )


def _failed(reason: str) -> ExactChangeError:
    return failure(
        "self_check_failed",
        f"The built payment is not the one asked for: {reason}. Nothing was signed; report this.",
        {"reason": reason},
    )
