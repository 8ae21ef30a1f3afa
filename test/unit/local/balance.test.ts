import { expect, it, onTestFinished } from 'vitest';
import { allBalances, type AccountReads } from '../../../adapters/local/balance.js';
import { base58 } from '../../../src/internal/bytes.js';
import { randomBytes, systemRuntime } from '../../../src/internal/runtime.js';
import { TOKEN_PROGRAM } from '../../../src/network.js';
import { ACCOUNT_BYTES } from '../../../src/solana/tokens/accounts.js';

const WALLET = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';

it('lets other calls have their turn while a wallet has many token accounts', async () => {
  const junk = () => {
    const data = new Uint8Array(ACCOUNT_BYTES);
    data.set(randomBytes(32), 0);
    data.set(base58.decode(WALLET), 32);
    data[108] = 1;
    const account = { data, owner: TOKEN_PROGRAM, lamports: 2_039_280n, executable: false };
    return { address: base58.encode(randomBytes(32)), account };
  };
  const rpc: AccountReads = {
    accounts: async (addresses) => ({ slot: 5, accounts: addresses.map(() => null) }),
    tokenAccounts: async () => ({ slot: 5, accounts: Array.from({ length: 500 }, junk) }),
  };
  let turns = 0;
  let next = setImmediate(function take() {
    turns += 1;
    next = setImmediate(take);
  });
  onTestFinished(() => clearImmediate(next));
  expect(await allBalances(rpc, WALLET, systemRuntime, {})).toMatchObject([{ amount: '0' }]);
  // A starved process may run a timer that is due without a turn in between.
  expect(turns).toBeGreaterThanOrEqual(2);
});
