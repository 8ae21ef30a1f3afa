from __future__ import annotations

from exact_change._base.network import SOLANA_MAINNET, TOKEN_PROGRAM, WSOL_MINT
from exact_change._base.runtime import system_runtime
from exact_change._http.own import ThreadHttp
from exact_change._kernel.hosts import threads
from exact_change._solana.rpc.blockhash import BlockhashSource
from exact_change._solana.rpc.rpc import connect
from exact_change._solana.tokens import associated_token_address, decode_mint, decode_token_account

from ..node import Sandbox


def test_reads_accounts_rent_blockhash_and_fees_of_a_node(sandbox: Sandbox) -> None:
    http = ThreadHttp(None, False)
    rpc = connect([sandbox.rpc_url], http, system_runtime, 5_000, SOLANA_MAINNET)
    wallet = sandbox.wallet(SOL="0.5", USDC="2")
    mint = sandbox.mint("USDC")
    account = associated_token_address(wallet.address, mint, TOKEN_PROGRAM)
    slot, (own, usdc, held, none) = threads.run(
        rpc.accounts([wallet.address, mint, account, sandbox.wallet().address])
    )
    assert own is not None and own.lamports == 500_000_000 and slot > 0 and none is None
    assert usdc is not None and held is not None
    decoded = decode_mint(usdc)
    assert decoded is not None and decoded.decimals == 6
    token = decode_token_account(held)
    assert token is not None and (token.amount, token.owner) == (2_000_000, wallet.address)
    owned = threads.run(rpc.token_accounts(wallet.address))
    assert [entry.address for entry in owned.accounts] == [account]
    assert threads.run(rpc.rent(165)) == 2_039_280
    tip = threads.run(rpc.tip("finalized"))
    latest = threads.run(BlockhashSource(rpc, system_runtime).recent())
    assert latest.last_valid_block_height > tip.height
    assert threads.run(rpc.is_blockhash_valid(latest.blockhash))[1]
    assert threads.run(rpc.statuses(["5" * 87])) == [None]
    assert threads.run(rpc.priority_fees([WSOL_MINT])) is not None
    threads.run(http.close())
