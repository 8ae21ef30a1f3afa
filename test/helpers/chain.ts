import {
  address,
  getAddressEncoder,
  getBase58Encoder,
  getProgramDerivedAddress,
} from '@solana/kit';

/**
 * One landed transaction, as a node tells it. Indexes are resolved to addresses; amounts are base
 * units.
 */
export interface ChainTransaction {
  readonly error: unknown;
  readonly signatures: readonly string[];
  readonly fee: bigint;
  /** By address: lamports after less lamports before, if they differ. */
  readonly lamports: ReadonlyMap<string, bigint>;
  /** Token accounts whose amount differs, or that came or went with one. */
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

/**
 * One JSON-RPC call, written by hand: nothing of the library stands between a test and the chain.
 */
export async function rpc<T>(url: string, method: string, params: readonly unknown[]): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const answer = (await response.json()) as { result?: T; error?: { message: string } };
  if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`);
  return answer.result as T; // JSON-RPC: a result where there is no error.
}

/** Asks until the answer is there. For what the chain shows soon, never for how long that takes. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined> | T | undefined,
  deadlineMs = 15_000,
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

/** The associated token account of an owner, derived by kit. */
export async function tokenAccount(
  owner: string,
  mint: { readonly address: string; readonly tokenProgram: string },
): Promise<string> {
  const words = [owner, mint.tokenProgram, mint.address];
  const known = derived.get(words.join());
  if (known !== undefined) return known;
  const encoder = getAddressEncoder();
  const [account] = await getProgramDerivedAddress({
    programAddress: address('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'),
    seeds: words.map((one) => encoder.encode(address(one))),
  });
  derived.set(words.join(), account);
  return account;
}

/** What an owner's associated token account holds; 0n if there is none. */
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
  // Of both token programs: mint, owner, then the amount as u64.
  return value === null ? 0n : Buffer.from(value.data[0], 'base64').readBigUInt64LE(64);
}

/** A landed transaction, as soon as the node shows it as confirmed. */
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

/** Signatures of all transactions that an address took part in, newest first. */
export async function signaturesOf(url: string, account: string): Promise<string[]> {
  const found = await rpc<{ signature: string }[]>(url, 'getSignaturesForAddress', [
    account,
    { commitment: 'confirmed' },
  ]);
  return found.map(({ signature }) => signature);
}
