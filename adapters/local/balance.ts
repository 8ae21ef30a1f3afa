import { formatUiAmount } from '../../src/amount.js';
import type { Runtime } from '../../src/internal/runtime.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM, WSOL_MINT } from '../../src/network.js';
import type { Account, CallOptions, Rpc } from '../../src/solana/rpc/rpc.js';
import { associatedTokenAddress } from '../../src/solana/tokens/accounts.js';
import { decodeMint, decodeTokenAccount, mintAt } from '../../src/solana/tokens/decode.js';
import type { Address } from '../../src/solana/types.js';
import type { TokenBalance } from '../../src/transport.js';

/** The node calls that read balances. */
export type AccountReads = Pick<Rpc, 'accounts' | 'tokenAccounts'>;

const SOL_DECIMALS = 9;
const MAX_ADDRESSES_A_CALL = 100;

/** Returns balances of mints. Rejects with `FundsError` (`unknown_mint`) for an unknown mint. */
export async function balancesOf(
  rpc: AccountReads,
  wallet: Address,
  mints: readonly Address[],
  options: CallOptions,
): Promise<TokenBalance[]> {
  const addresses = mints.flatMap((mint) =>
    mint === WSOL_MINT
      ? [wallet]
      : [
          mint,
          associatedTokenAddress(wallet, mint, TOKEN_PROGRAM),
          associatedTokenAddress(wallet, mint, TOKEN_2022_PROGRAM),
        ],
  );
  const { found, slot } = await readAll(rpc, addresses, options);
  return mints.map((mint) =>
    mint === WSOL_MINT ? native(wallet, found.get(wallet), slot) : token(wallet, mint, found, slot),
  );
}

/**
 * Returns native SOL and the balance of every associated token account of the wallet. Anyone can
 * name a wallet with a hundred thousand accounts, and to check the address of each takes a third of
 * a millisecond: other calls have their turn after each page of them.
 */
export async function allBalances(
  rpc: AccountReads,
  wallet: Address,
  { sleep }: Pick<Runtime, 'sleep'>,
  options: CallOptions,
): Promise<TokenBalance[]> {
  const [sol, { accounts, slot }] = await Promise.all([
    rpc.accounts([wallet], options),
    rpc.tokenAccounts(wallet, options),
  ]);
  const balances = [native(wallet, sol.accounts[0], sol.slot)];
  for (let from = 0; from < accounts.length; from += MAX_ADDRESSES_A_CALL) {
    if (from > 0) await sleep(0, options.signal);
    const tokens = accounts.slice(from, from + MAX_ADDRESSES_A_CALL).flatMap((held) => {
      const token = decodeTokenAccount(held.account);
      const { address: tokenAccount } = held;
      return token !== undefined &&
        tokenAccount === associatedTokenAddress(wallet, token.mint, token.tokenProgram)
        ? [{ ...token, tokenAccount }]
        : [];
    });
    const { found } = await readAll(
      rpc,
      tokens.map(({ mint }) => mint),
      options,
    );
    for (const { mint, tokenProgram, tokenAccount, amount } of tokens) {
      const account = found.get(mint);
      const decimals = account ? decodeMint(account)?.decimals : undefined;
      if (decimals !== undefined)
        balances.push(balance({ mint, tokenProgram, tokenAccount, amount, decimals, slot }));
    }
  }
  return balances;
}

function native(wallet: Address, account: Account | null | undefined, slot: number): TokenBalance {
  return balance({
    mint: WSOL_MINT,
    tokenProgram: TOKEN_PROGRAM,
    tokenAccount: wallet,
    amount: account?.lamports ?? 0n,
    decimals: SOL_DECIMALS,
    slot,
  });
}

function token(
  wallet: Address,
  mint: Address,
  found: ReadonlyMap<Address, Account | null>,
  slot: number,
): TokenBalance {
  const { tokenProgram, decimals } = mintAt(mint, found.get(mint));
  const tokenAccount = associatedTokenAddress(wallet, mint, tokenProgram);
  const held = found.get(tokenAccount);
  const amount = (held ? decodeTokenAccount(held)?.amount : undefined) ?? 0n;
  return balance({ mint, tokenProgram, tokenAccount, amount, decimals, slot });
}

function balance({
  amount,
  ...rest
}: Omit<TokenBalance, 'amount' | 'uiAmount'> & { readonly amount: bigint }): TokenBalance {
  return { ...rest, amount: amount.toString(), uiAmount: formatUiAmount(amount, rest.decimals) };
}

async function readAll(
  rpc: AccountReads,
  addresses: readonly Address[],
  options: CallOptions,
): Promise<{ found: Map<Address, Account | null>; slot: number }> {
  const found = new Map<Address, Account | null>();
  let slot = 0;
  for (let from = 0; from < addresses.length; from += MAX_ADDRESSES_A_CALL) {
    const page = addresses.slice(from, from + MAX_ADDRESSES_A_CALL);
    const answer = await rpc.accounts(page, options);
    slot = answer.slot;
    page.forEach((address, index) => found.set(address, answer.accounts[index] ?? null));
  }
  return { found, slot };
}
