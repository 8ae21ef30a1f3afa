import {
  address,
  getAddressEncoder,
  getBase58Encoder,
  getProgramDerivedAddress,
} from '@solana/kit';

/** A landed transaction from a node. Indexes are resolved to addresses; amounts are base units. */
export interface ChainTransaction {
  readonly error: unknown;
  readonly signatures: readonly string[];
  readonly fee: bigint;
  /** Change of lamports by address; accounts without a change are left out. */
  readonly lamports: ReadonlyMap<string, bigint>;
  /** Changes of token balances, also in accounts that the transaction created or closed. */
  readonly tokens: readonly TokenChange[];
  readonly instructions: readonly {
    readonly program: string;
    readonly accounts: readonly string[];
    readonly data: Uint8Array;
  }[];
}

export interface TokenChange {
  readonly account: string;
  readonly owner: string;
  readonly mint: string;
  readonly change: bigint;
}

interface TokenBalance {
  readonly accountIndex: number;
  readonly mint: string;
  readonly owner: string;
  readonly uiTokenAmount: { readonly amount: string };
}

interface RawTransaction {
  readonly transaction: {
    readonly signatures: readonly string[];
    readonly message: {
      readonly accountKeys: readonly string[];
      readonly instructions: readonly {
        programIdIndex: number;
        accounts: readonly number[];
        data: string;
      }[];
    };
  };
  readonly meta: {
    readonly err: unknown;
    readonly fee: number;
    readonly preBalances: readonly number[];
    readonly postBalances: readonly number[];
    readonly preTokenBalances: readonly TokenBalance[];
    readonly postTokenBalances: readonly TokenBalance[];
    readonly loadedAddresses: {
      readonly writable: readonly string[];
      readonly readonly: readonly string[];
    };
  };
}

/** Makes a JSON-RPC call without code of the library, so that a test sees the chain itself. */
export async function rpc<T>(url: string, method: string, params: readonly unknown[]): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const answer = (await response.json()) as { result?: T; error?: { message: string } };
  if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`);
  return answer.result as T; // JSON-RPC: a result is present if there is no error.
}

/**
 * Calls `ask` until it returns a value. Use it for results that appear soon, never to measure how
 * long they take.
 */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined> | T | undefined,
  deadlineMs = 60_000,
): Promise<T> {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const found = await ask();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error(`It did not come about in ${deadlineMs} ms: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const derived = new Map<string, string>();

/** Returns the address of an owner's associated token account, derived by kit. */
export async function tokenAccount(
  owner: string,
  mint: { readonly address: string; readonly tokenProgram: string },
): Promise<string> {
  const seeds = [owner, mint.tokenProgram, mint.address];
  const known = derived.get(seeds.join());
  if (known !== undefined) return known;
  const encoder = getAddressEncoder();
  const [account] = await getProgramDerivedAddress({
    programAddress: address('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'),
    seeds: seeds.map((seed) => encoder.encode(address(seed))),
  });
  derived.set(seeds.join(), account);
  return account;
}

/** Returns the balance of an owner's associated token account; 0n if the account is missing. */
export async function tokenAmount(
  url: string,
  owner: string,
  mint: { readonly address: string; readonly tokenProgram: string },
): Promise<bigint> {
  const params = [await tokenAccount(owner, mint), { encoding: 'base64', commitment: 'confirmed' }];
  const { value } = await rpc<{ value: { data: [string, string] } | null }>(
    url,
    'getAccountInfo',
    params,
  );
  // Both token programs store the mint, the owner, then the amount as u64.
  return value === null ? 0n : Buffer.from(value.data[0], 'base64').readBigUInt64LE(64);
}

/** Waits until the node shows a transaction as confirmed, and returns it. */
export async function landed(url: string, signature: string): Promise<ChainTransaction> {
  const params = [
    signature,
    { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 0 },
  ];
  const raw = await until(
    `the node shows transaction ${signature}`,
    async () => (await rpc<RawTransaction | null>(url, 'getTransaction', params)) ?? undefined,
  );
  const { message, signatures } = raw.transaction;
  const { meta } = raw;
  const keys = [
    ...message.accountKeys,
    ...meta.loadedAddresses.writable,
    ...meta.loadedAddresses.readonly,
  ];
  const key = (index: number) => keys[index] ?? '';
  const lamports = keys.map(
    (account, index) =>
      [
        account,
        BigInt(meta.postBalances[index] ?? 0) - BigInt(meta.preBalances[index] ?? 0),
      ] as const,
  );
  return {
    error: meta.err,
    signatures,
    fee: BigInt(meta.fee),
    lamports: new Map(lamports.filter(([, change]) => change !== 0n)),
    tokens: tokenChanges(meta.preTokenBalances, meta.postTokenBalances, key),
    instructions: message.instructions.map(({ programIdIndex, accounts, data }) => ({
      program: key(programIdIndex),
      accounts: accounts.map(key),
      data: new Uint8Array(getBase58Encoder().encode(data)),
    })),
  };
}

function tokenChanges(
  before: readonly TokenBalance[],
  after: readonly TokenBalance[],
  key: (index: number) => string,
): TokenChange[] {
  const changes = new Map<number, TokenChange>();
  for (const [list, sign] of [
    [before, -1n],
    [after, 1n],
  ] as const) {
    for (const { accountIndex, mint, owner, uiTokenAmount } of list) {
      const change =
        (changes.get(accountIndex)?.change ?? 0n) + sign * BigInt(uiTokenAmount.amount);
      changes.set(accountIndex, { account: key(accountIndex), owner, mint, change });
    }
  }
  return [...changes.values()].filter(({ change }) => change !== 0n);
}

/** Returns the signatures of all transactions that name an address, newest first. */
export async function signaturesOf(url: string, account: string): Promise<string[]> {
  const found = await rpc<{ signature: string }[]>(url, 'getSignaturesForAddress', [
    account,
    { commitment: 'confirmed' },
  ]);
  return found.map(({ signature }) => signature);
}
