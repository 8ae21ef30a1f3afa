import type { Address } from '@solana/kit';
import { fromBase58, fromBase64, keyBytes } from '../chain/bytes.js';
import type { Json } from '../chain/json.js';
import { isTokenProgram, readMint, readToken, TOKEN_OWNER_OFFSET } from '../chain/token.js';
import type { ChainAccount } from '../types.js';
import type { Seen } from './behind.js';
import { encodeAccount, uiTokenAmount } from './encode.js';
import { invalidParams } from './faults.js';
import type { Method } from './method.js';
import { Config, slotFor, toAddress, withContext } from './params.js';

const MOST_ACCOUNTS = 100;
const MOST_LAMPORTS = 1_000_000_000_000_000n;

interface Found {
  readonly address: Address;
  readonly account: ChainAccount;
}

function listing(chain: Seen, found: readonly Found[], config: Config): Json {
  const read = (address: Address) => chain.account(address);
  return found.map(({ address, account }) => ({
    pubkey: address,
    account: encodeAccount(account, config, read),
  }));
}

export const accountMethods = {
  getBalance: ({ chain }, params) =>
    withContext(
      slotFor(chain, params.config(1, 'commitment')),
      chain.account(params.address(0))?.lamports ?? 0n,
    ),

  getAccountInfo: ({ chain }, params) => {
    const config = params.config(1);
    const account = chain.account(params.address(0));
    return withContext(
      slotFor(chain, config),
      account ? encodeAccount(account, config, (address) => chain.account(address)) : null,
    );
  },

  getMultipleAccounts: ({ chain }, params) => {
    const config = params.config(1);
    const read = (address: Address) => chain.account(address);
    const accounts = params
      .list(0, MOST_ACCOUNTS)
      .map(toAddress)
      .map((address) => {
        const account = read(address);
        return account ? encodeAccount(account, withDefault(config), read) : null;
      });
    return withContext(slotFor(chain, config), accounts);
  },

  getProgramAccounts: ({ chain }, params) => {
    const config = params.config(1);
    const filters = (config.list('filters') ?? []).map(toFilter);
    const found = chain
      .ownedBy(params.address(0), () => true)
      .filter(({ account }) => filters.every((matches) => matches(account)));
    const list = listing(chain, found, config);
    const slot = slotFor(chain, config);
    return config.flag('withContext') ? withContext(slot, list) : list;
  },

  getTokenAccountsByOwner: ({ chain }, params) => {
    const owner = params.address(0);
    const which = params.config(1);
    const config = params.config(2);
    const mint = which.address('mint');
    const program = mint ? chain.account(mint)?.owner : which.address('programId');
    if (mint && !readMint(chain.account(mint)))
      throw invalidParams('Invalid param: could not find mint');
    if (!program || !isTokenProgram(program))
      throw invalidParams('Invalid param: unrecognized Token program id');
    const ownedByIt = hasAt(TOKEN_OWNER_OFFSET, keyBytes(owner));
    const found = chain.ownedBy(program, ownedByIt).filter(({ account }) => {
      const token = readToken(account);
      return token?.owner === owner && (mint === undefined || token.mint === mint);
    });
    return withContext(slotFor(chain, config), listing(chain, found, config));
  },

  getTokenAccountBalance: ({ chain }, params) => {
    const account = chain.account(params.address(0));
    if (!account) throw invalidParams('Invalid param: could not find account');
    const token = readToken(account);
    const mint = token && readMint(chain.account(token.mint));
    if (!token || !mint) throw invalidParams('Invalid param: not a Token account');
    return withContext(
      slotFor(chain, params.config(1, 'commitment')),
      uiTokenAmount(token.amount, mint.decimals),
    );
  },

  getTokenSupply: ({ chain }, params) => {
    const account = chain.account(params.address(0));
    if (!account) throw invalidParams('Invalid param: could not find account');
    const mint = readMint(account);
    if (!mint) throw invalidParams('Invalid param: not a Token mint');
    return withContext(
      slotFor(chain, params.config(1, 'commitment')),
      uiTokenAmount(mint.supply, mint.decimals),
    );
  },

  requestAirdrop: ({ chain }, params) => {
    const lamports = BigInt(params.integer(1));
    if (lamports > MOST_LAMPORTS)
      throw invalidParams(
        `Invalid param: the sandbox gives at most ${MOST_LAMPORTS} lamports at a time.`,
      );
    return chain.airdrop(params.address(0), lamports);
  },
} satisfies Record<string, Method>;

/** Sets base64 as the default encoding; only `getMultipleAccounts` has it. */
function withDefault(config: Config): Config {
  return config.has('encoding') ? config : config.with('encoding', 'base64');
}

function toFilter(value: unknown): (account: ChainAccount) => boolean {
  if (value === 'tokenAccountState') return (account) => readToken(account) !== undefined;
  const filter = Config.from(value);
  const size = filter.integer('dataSize');
  if (size !== undefined) return ({ data }) => data.length === size;
  const memcmp = filter.object('memcmp');
  const offset = memcmp?.integer('offset') ?? 0;
  const text = memcmp?.string('bytes');
  const wanted =
    text === undefined
      ? undefined
      : memcmp?.string('encoding') === 'base64'
        ? fromBase64(text)
        : fromBase58(text);
  if (!wanted) throw invalidParams('Invalid param: unrecognized filter');
  const matches = hasAt(offset, wanted);
  return ({ data }) => matches(data);
}

function hasAt(offset: number, wanted: Uint8Array): (data: Uint8Array) => boolean {
  return (data) =>
    data.length >= offset + wanted.length &&
    wanted.every((byte, index) => data[offset + index] === byte);
}
