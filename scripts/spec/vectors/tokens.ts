import {
  pinnedMint,
  SOLANA_MAINNET,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '../../../src/network.js';
import { judgeMint } from '../../../src/payments/plan/supported-mint.js';
import { addressOf } from '../../../src/solana/address.js';
import { associatedTokenAddress } from '../../../src/solana/tokens/accounts.js';
import { decodeMint, decodeTokenAccount, uncountedLamports } from '../../../src/solana/tokens/decode.js';
import { readTables } from '../../../src/solana/transactions/tables.js';
import { accountBytes } from '../../../src/swaps/accounts/read-wallet.js';
import { SLOT, WORLD } from '../../../test/corpus/index.js';
import { createRandom, type Random } from '../../../test/simulation/random.js';

const LENGTHS = [108, 8, 32, 65, 295, 1, 0, 1, 0, 52, 1, 32, 0, 64, 1, 129, 64, 64, 10, 64, 80];

function extension(random: Random): number[] {
  const type = random.chance(0.05) ? random.int(28, 90) : random.int(1, 27);
  const usual = LENGTHS[type - 1] ?? random.int(0, 40);
  const length = random.chance(0.05) ? usual + 1 : usual;
  const value = Array.from({ length }, () => (random.chance(0.6) ? 0 : random.int(0, 255)));
  if (type === 6 && random.chance(0.8)) value[0] = random.pick([0, 1, 2]);
  return [type & 255, type >> 8, length & 255, length >> 8, ...value];
}

function bytes(random: Random, kind: 'mint' | 'account'): Uint8Array {
  const data = random.bytes(kind === 'mint' ? 82 : 165);
  const set = (at: number, ...values: readonly number[]) => data.set(values, at);
  if (kind === 'mint') {
    set(0, random.int(0, 1), 0, 0, 0);
    set(45, random.chance(0.9) ? 1 : random.int(0, 2));
    set(46, random.chance(0.9) ? random.int(0, 1) : 2, 0, 0, 0);
  } else {
    set(72, random.int(0, 1), 0, 0, 0);
    set(108, random.chance(0.9) ? random.int(1, 2) : 0);
    set(109, random.int(0, 1), 0, 0, 0);
    set(129, random.chance(0.9) ? random.int(0, 1) : 7, 0, 0, 0);
  }
  if (random.chance(0.3)) return data;
  const padding = kind === 'mint' ? Array.from({ length: 83 }, () => 0) : [];
  if (padding.length > 0 && random.chance(0.05)) padding[7] = 1;
  const mark = random.chance(0.9) ? (kind === 'mint' ? 1 : 2) : random.int(0, 3);
  const extensions = Array.from({ length: random.int(0, 3) }, () => extension(random)).flat();
  const end = random.chance(0.2) ? Array.from({ length: random.int(1, 6) }, () => 0) : [];
  return Uint8Array.of(...data, ...padding, mark, ...extensions, ...end);
}

/** Vectors of mints, token accounts and lookup tables on the chain, with their decoded form. */
export async function tokens(): Promise<unknown[]> {
  const drawn = Array.from({ length: 300 }, (_, index) => {
    const random = createRandom(`spec/tokens/${index}`);
    const kind = random.pick(['mint', 'account'] as const);
    const owner = random.chance(0.3) ? TOKEN_PROGRAM : TOKEN_2022_PROGRAM;
    const data = bytes(random, kind);
    const account = { owner, data, lamports: BigInt(random.int(0, 2 ** 32)), executable: false };
    if (kind === 'mint') {
      const mint = decodeMint(account);
      const address = addressOf(random.bytes(32));
      const pinned = random.chance(0.5) ? undefined : pinnedMint(SOLANA_MAINNET, 'PYUSD');
      const refusal = mint && judgeMint(address, mint, pinned);
      const judged = { pinned: pinned !== undefined, address, reason: refusal?.details };
      return {
        of: kind,
        owner,
        data,
        out: mint ?? null,
        judged,
        bytes: mint && accountBytes(mint),
      };
    }
    const held = decodeTokenAccount(account);
    const uncounted = held === undefined ? null : uncountedLamports(account, held);
    return { of: kind, owner, data, lamports: account.lamports, out: held ?? null, uncounted };
  });
  const derived = Array.from({ length: 20 }, (_, index) => {
    const random = createRandom(`spec/derived/${index}`);
    const [owner, mint] = [addressOf(random.bytes(32)), addressOf(random.bytes(32))];
    const program = random.pick([TOKEN_PROGRAM, TOKEN_2022_PROGRAM]);
    return {
      of: 'derived',
      owner,
      mint,
      program,
      out: associatedTokenAddress(owner, mint, program),
    };
  });
  const addresses = [...WORLD.keys()];
  const accounts = addresses.map((address) => WORLD.get(address) ?? null);
  const reader = { accounts: async () => ({ slot: Number(SLOT), accounts }) };
  const tables = (await readTables(reader, addresses.slice(0, 100))).map((out, index) => ({
    ...{
      of: 'table',
      slot: Number(SLOT),
      owner: accounts[index]?.owner,
      data: accounts[index]?.data,
    },
    out,
  }));
  return [...drawn, ...derived, ...tables.filter(({ out }) => out.state !== 'none')];
}
