import { formatUiAmount } from '../../src/amount.js';
import { FundsError } from '../../src/errors.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM, WSOL_MINT } from '../../src/network.js';
import type { Account, CallOptions, Rpc } from '../../src/solana/rpc/rpc.js';
import { associatedTokenAddress } from '../../src/solana/tokens/accounts.js';
import { decodeMint, decodeTokenAccount } from '../../src/solana/tokens/decode.js';
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

/** Returns native SOL and the balance of every associated token account of the wallet. */
export async function allBalances(
  rpc: AccountReads,
  wallet: Address,
  options: CallOptions,
): Promise<TokenBalance[]> {
  const [sol, held] = await Promise.all([
    rpc.accounts([wallet], options),
    rpc.tokenAccounts(wallet, options),
  ]);
  const tokens = held.accounts.flatMap(({ address, account }) => {
    const decoded = decodeTokenAccount(account);
    return decoded !== undefined &&
      address === associatedTokenAddress(wallet, decoded.mint, decoded.tokenProgram)
      ? [decoded]
      : [];
  });
  const { found } = await readAll(rpc, [...new Set(tokens.map(({ mint }) => mint))], options);
  const balances = tokens.flatMap(({ mint, tokenProgram, amount }) => {
    const account = found.get(mint);
    const decimals = account ? decodeMint(account)?.decimals : undefined;
    const tokenAccount = associatedTokenAddress(wallet, mint, tokenProgram);
    return decimals === undefined
      ? []
      : [balance({ mint, tokenProgram, tokenAccount, amount, decimals, slot: held.slot })];
  });
  return [native(wallet, sol.accounts[0], sol.slot), ...balances];
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
  const account = found.get(mint);
  const facts = account ? decodeMint(account) : undefined;
  if (facts === undefined)
    throw new FundsError(
      'unknown_mint',
      `There is no token mint at ${mint} on this network. Check the mint, and the network of the client.`,
      { details: { mint } },
    );
  const { tokenProgram, decimals } = facts;
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
