"""The transport in this process: Jupiter for swaps, an RPC node for balances."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from .._base.amounts import format_ui_amount
from .._base.network import TOKEN_PROGRAM, TOKEN_PROGRAMS, WSOL_MINT
from .._config.swap_request import ResolvedRequest
from .._kernel.signals import Signal
from .._kernel.steps import both
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.rpc.rpc import Rpc
from .._solana.rpc.types import Account
from .._solana.tokens import associated_token_address, decode_mint, decode_token_account
from .._swap.read_facts import unknown_mint
from .._swap.sizing import ExactOutput, size_exact_in
from .._swap.types import QuoteIntent, SwapBuild, SwapProvider, SwapQuote
from ..errors import ExactChangeError, is_code
from .types import PaymentResult, TokenBalance

_SOL_DECIMALS = 9
_MAX_ADDRESSES_A_CALL = 100
_Found = Mapping[Address, "Account | None"]


class LocalTransport:
    """Quotes and builds swaps and reads balances; holds no key and signs nothing."""

    is_distant = False

    def __init__(self, rpc: Rpc, provider: SwapProvider) -> None:
        self._rpc = rpc
        self._provider = provider

    def quote(self, request: ResolvedRequest, signal: Signal | None) -> Steps[SwapQuote]:
        mints = request.input_mint, request.output_mint
        amount, slippage, accounts = request.amount, request.slippage_bps, request.max_accounts
        intent = QuoteIntent(*mints, amount, request.swap_mode, slippage, accounts)
        try:
            return (yield from self._provider.quote(intent, signal))
        except ExactChangeError as error:
            if request.swap_mode == "ExactIn" or not is_code(error, "no_route"):
                raise
            none = error
        # The input that selling the output would bring is the first estimate of its cost. It is 0
        # for an output that is worth less than one base unit of the input.
        reverse_intent = QuoteIntent(mints[1], mints[0], amount, "ExactIn", slippage)
        try:
            reverse = yield from self._provider.quote(reverse_intent, signal)
        except ExactChangeError as error:
            if not is_code(error, "no_route"):
                raise
            # Of both pairs, name the pair of the swap.
            raise none from None
        seed = max(int(reverse.out_amount), 1)
        wanted = ExactOutput(*mints, amount, slippage, seed, accounts)
        return (yield from size_exact_in(self._provider, wanted, signal))

    def build(
        self, wallet: Address, quote: SwapQuote, signal: Signal | None
    ) -> Steps[SwapBuild | Any]:
        return self._provider.build(quote, wallet, signal)

    def balance(
        self, wallet: Address, mints: Sequence[Address] | None, signal: Signal | None
    ) -> Steps[list[TokenBalance]]:
        if mints is None:
            return (yield from self._all_balances(wallet, signal))
        addresses: dict[Address, None] = {}
        for mint in mints:
            if mint == WSOL_MINT:
                addresses[wallet] = None
                continue
            addresses[mint] = None
            for program in TOKEN_PROGRAMS:
                addresses[associated_token_address(wallet, mint, program)] = None
        slot, found = yield from self._read(list(addresses), signal)
        return [
            _native(wallet, found.get(wallet), slot)
            if mint == WSOL_MINT
            else _token(wallet, mint, found, slot)
            for mint in mints
        ]

    def auto_pay(self, request: Mapping[str, Any], signal: Signal | None) -> Steps[PaymentResult]:
        raise TypeError("Only a service plans payments.")

    def _all_balances(self, wallet: Address, signal: Signal | None) -> Steps[list[TokenBalance]]:
        """Returns native SOL and the balance of every associated token account of the wallet."""
        sol, held = yield from both(
            self._rpc.accounts([wallet], signal=signal),
            self._rpc.token_accounts(wallet, signal=signal),
        )
        tokens = [
            decoded
            for address, account in held.accounts
            for decoded in (decode_token_account(account),)
            if decoded is not None
            and address == associated_token_address(wallet, decoded.mint, decoded.token_program)
        ]
        _, found = yield from self._read(list({token.mint: None for token in tokens}), signal)
        balances = [_native(wallet, sol.accounts[0], sol.slot)]
        for token in tokens:
            account = found.get(token.mint)
            mint = None if account is None else decode_mint(account)
            if mint is None:
                continue
            address = associated_token_address(wallet, token.mint, token.token_program)
            balances.append(
                _balance(
                    token.mint,
                    token.amount,
                    mint.decimals,
                    token.token_program,
                    address,
                    held.slot,
                )
            )
        return balances

    def _read(
        self, addresses: Sequence[Address], signal: Signal | None
    ) -> Steps[tuple[int, _Found]]:
        found: dict[Address, Account | None] = {}
        slot = 0
        for start in range(0, len(addresses), _MAX_ADDRESSES_A_CALL):
            page = addresses[start : start + _MAX_ADDRESSES_A_CALL]
            slot, accounts = yield from self._rpc.accounts(page, signal=signal)
            found.update(zip(page, accounts))
        return slot, found


def _native(wallet: Address, account: Account | None, slot: int) -> TokenBalance:
    lamports = 0 if account is None else account.lamports
    return _balance(WSOL_MINT, lamports, _SOL_DECIMALS, TOKEN_PROGRAM, wallet, slot)


def _token(wallet: Address, mint: Address, found: _Found, slot: int) -> TokenBalance:
    account = found.get(mint)
    facts = None if account is None else decode_mint(account)
    if facts is None:
        raise unknown_mint(mint)
    address = associated_token_address(wallet, mint, facts.token_program)
    held = found.get(address)
    token = None if held is None else decode_token_account(held)
    amount = 0 if token is None else token.amount
    return _balance(mint, amount, facts.decimals, facts.token_program, address, slot)


def _balance(
    mint: Address, amount: int, decimals: int, program: Address, address: Address, slot: int
) -> TokenBalance:
    ui_amount = format_ui_amount(amount, decimals)
    return TokenBalance(mint, str(amount), decimals, ui_amount, program, address, slot)
