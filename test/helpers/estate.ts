import { address, type Address, getAddressEncoder, getBase58Decoder } from '@solana/kit';
import type { ChainAccount, MintSymbol, Sandbox, SandboxWallet } from 'exact-change-sandbox';
import type { MessageSigner } from 'exact-change';
import { landed, rpc, tokenAccount } from './chain.js';
import { recordingSigner } from './payer.js';

const SYSTEM = address('11111111111111111111111111111111');
const TOKEN = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
const TABLES = address('AddressLookupTab1e1111111111111111111111111');

/** A wallet, and every account on the chain that it controls. */
export interface Estate {
  readonly wallet: Address;
  readonly signer: MessageSigner;
  /** Addresses of the wallet's associated token accounts; an account may be missing. */
  readonly at: Readonly<Record<MintSymbol, Address>>;
  /**
   * A second USDC account, an account with the wallet as its delegate, a durable nonce, a mint and
   * a lookup table.
   */
  readonly others: readonly Address[];
}

/** Accounts by address, as the chain stores them at one moment. */
export type AccountStates = ReadonlyMap<Address, ChainAccount | undefined>;

const keyBytes = (key: Address): Uint8Array => Uint8Array.from(getAddressEncoder().encode(key));

/** Returns the n-th address derived from the wallet's, which no other wallet's estate uses. */
function addressBeside(wallet: Address, n: number): Address {
  const bytes = keyBytes(wallet);
  return address(
    getBase58Decoder().decode(
      bytes.map((byte, index) => (index === 31 ? (byte + n) & 0xff : byte ^ n)),
    ),
  );
}

export async function accountsOf(
  owner: Address,
  mints: Sandbox['mints'],
): Promise<Readonly<Record<MintSymbol, Address>>> {
  const entries = Object.entries(mints).map(
    async ([symbol, mint]) => [symbol, address(await tokenAccount(owner, mint))] as const,
  );
  // The object has an entry for each mint.
  return Object.fromEntries(await Promise.all(entries)) as Record<MintSymbol, Address>;
}

/**
 * Makes a wallet with SOL, USDC, USDT and BONK, without a PYUSD account, and an account of every
 * other kind that a wallet controls.
 */
export async function estateOn(sandbox: Sandbox): Promise<Estate> {
  return estateOf(
    sandbox,
    await sandbox.createWallet({ SOL: '0.5', USDC: '20', USDT: '1', BONK: '100000' }),
  );
}

/** Does the same for an existing wallet, which must have a USDC account. */
export async function estateOf(sandbox: Sandbox, owner: SandboxWallet): Promise<Estate> {
  const { chain, mints } = sandbox;
  const wallet = address(owner.address);
  const at = await accountsOf(wallet, mints);
  const usdc = chain.account(at.USDC)!;
  const key = keyBytes(wallet);
  const put = (n: number, program: Address, data: Uint8Array): Address => {
    const account = addressBeside(wallet, n);
    chain.setAccount(account, { lamports: 10_000_000n, data, owner: program, executable: false });
    return account;
  };
  const spendable = usdc.data.slice();
  // Another wallet owns this account; the estate's wallet is the delegate of 5 USDC.
  spendable.set(keyBytes(addressBeside(wallet, 200)), 32);
  spendable.set([1, 0, 0, 0, ...key], 72);
  new DataView(spendable.buffer).setBigUint64(121, 5_000_000n, true);
  const nonce = new Uint8Array(80);
  nonce.set([1, 0, 0, 0, 1, 0, 0, 0, ...key, ...new Uint8Array(32).fill(9), 0x88, 0x13], 0);
  const mint = new Uint8Array(82);
  mint.set([1, 0, 0, 0, ...key], 0);
  mint.set([6, 1], 44);
  const table = new Uint8Array(56 + 32);
  table.set([1, 0, 0, 0, ...new Uint8Array(8).fill(0xff)], 0);
  table.set([1, ...key], 21);
  table.set(keyBytes(addressBeside(wallet, 201)), 56);
  const others = [
    put(1, TOKEN, usdc.data),
    put(2, TOKEN, spendable),
    put(3, SYSTEM, nonce),
    put(4, TOKEN, mint),
    put(5, TABLES, table),
  ];
  return { wallet, signer: recordingSigner(owner.address, owner.secretKey).signer, at, others };
}

/** Returns the addresses that {@link lossesOf} reads. */
export function watchedOf({ wallet, at, others }: Estate): Address[] {
  return [wallet, ...Object.values(at), ...others];
}

export function accountStates({ chain }: Sandbox, addresses: readonly Address[]): AccountStates {
  return new Map(addresses.map((account) => [account, chain.account(account)]));
}

/** Restores accounts to an earlier state. */
export function restoreAccounts({ chain }: Sandbox, lying: AccountStates): void {
  const missing = { lamports: 0n, data: new Uint8Array(), owner: SYSTEM, executable: false };
  for (const [key, account] of lying) chain.setAccount(key, account ?? missing);
}

/** Bounds that the caller agreed to: amounts in base units, network fees in lamports. */
export interface Deal {
  readonly from: MintSymbol;
  readonly to: MintSymbol;
  readonly maxIn: bigint;
  readonly minOut: bigint;
  readonly maxFees: bigint;
}

/** Returns each way in which the wallet lost more than the deal allows, by the chain alone. */
export function lossesOf(
  estate: Estate,
  deal: Deal,
  before: AccountStates,
  after: AccountStates,
): string[] {
  const { wallet, at, others } = estate;
  const symbols = Object.keys(at) as MintSymbol[]; // The keys of the record.
  const walletAfter = after.get(wallet);
  const gain = (measure: (account: ChainAccount | undefined) => bigint, key: Address) =>
    measure(after.get(key)) - measure(before.get(key));
  const least = (symbol: MintSymbol) =>
    symbol === deal.to ? deal.minOut : symbol === deal.from ? -deal.maxIn : 0n;
  // Wrapped SOL and the rent in the wallet's token accounts still belong to the wallet.
  const sol = [wallet, ...Object.values(at)].reduce((sum, key) => sum + gain(lamportsIn, key), 0n);
  return [
    ...(walletAfter?.owner === SYSTEM && walletAfter.data.length === 0
      ? []
      : ['the wallet is no plain account of its own']),
    ...others
      .filter((key) => !isSame(before.get(key), after.get(key)))
      .map((key) => `other account ${others.indexOf(key)} has changed`),
    ...symbols
      .filter((symbol) => !isKept(wallet, before.get(at[symbol]), after.get(at[symbol]), symbol))
      .map((symbol) => `the ${symbol} account is not kept`),
    ...symbols
      .filter((symbol) => symbol !== 'SOL' && gain(amountIn, at[symbol]) < least(symbol))
      .map((symbol) => `${symbol}: ${gain(amountIn, at[symbol])}, not ${least(symbol)}`),
    ...(sol < least('SOL') - deal.maxFees
      ? [`SOL: ${sol}, not ${least('SOL') - deal.maxFees}`]
      : []),
  ];
}

const lamportsIn = (account: ChainAccount | undefined): bigint => account?.lamports ?? 0n;

const amountIn = (account: ChainAccount | undefined): bigint =>
  account === undefined || account.data.length < 165
    ? 0n
    : Buffer.from(account.data).readBigUInt64LE(64);

function isSame(a: ChainAccount | undefined, b: ChainAccount | undefined): boolean {
  return (
    a?.owner === b?.owner &&
    a?.lamports === b?.lamports &&
    Buffer.compare(a?.data ?? new Uint8Array(), b?.data ?? new Uint8Array()) === 0
  );
}

/**
 * Returns true if the wallet still owns the token account, without a delegate or close authority.
 * A wrapped SOL account may be closed.
 */
function isKept(
  wallet: Address,
  before: ChainAccount | undefined,
  after: ChainAccount | undefined,
  symbol: MintSymbol,
): boolean {
  if (after === undefined) return before === undefined || symbol === 'SOL';
  // Any wallet may send lamports to an address without an account.
  if (after.owner === SYSTEM && after.data.length === 0) return before === undefined;
  const { data } = after;
  const isOwn = Buffer.compare(data.subarray(32, 64), keyBytes(wallet)) === 0;
  const hasNoAuthority = [72, 129].every((tag) => Buffer.from(data).readUInt32LE(tag) === 0);
  const isSameMint =
    before === undefined || Buffer.compare(before.data.subarray(0, 32), data.subarray(0, 32)) === 0;
  return (
    isOwn &&
    hasNoAuthority &&
    isSameMint &&
    data[108] === 1 &&
    (before === undefined || before.owner === after.owner)
  );
}

interface RawSimulation {
  readonly err: unknown;
  readonly accounts: readonly ({
    readonly lamports: number;
    readonly owner: Address;
    readonly executable: boolean;
    readonly data: readonly [base64: string, encoding: string];
  } | null)[];
}

/** Simulates a transaction, and returns its error and the watched accounts after it. */
export async function simulatedBy(
  { rpcUrl }: Sandbox,
  wire: Uint8Array,
  watched: readonly Address[],
): Promise<{ readonly error: unknown; readonly after: AccountStates }> {
  const { value } = await rpc<{ readonly value: RawSimulation }>(rpcUrl, 'simulateTransaction', [
    Buffer.from(wire).toString('base64'),
    {
      ...{ encoding: 'base64', replaceRecentBlockhash: true, commitment: 'confirmed' },
      accounts: { addresses: watched, encoding: 'base64' },
    },
  ]);
  const after = watched.map((key, index) => {
    const account = value.accounts[index] ?? undefined;
    if (account === undefined) return [key, undefined] as const;
    const { lamports, owner, executable, data } = account;
    const bytes = Uint8Array.from(Buffer.from(data[0], 'base64'));
    return [key, { lamports: BigInt(lamports), owner, executable, data: bytes }] as const;
  });
  return { error: value.err, after: new Map(after) };
}

/** Returns the wire bytes of a message with the wallet's signature. */
export async function signedBy({ signer }: Estate, message: Uint8Array): Promise<Uint8Array> {
  const signature = await signer.signMessage(message, {
    kind: 'swap',
    network: '',
    inputMint: '',
    outputMint: '',
    maxInAmount: '',
    minOutAmount: '',
  });
  return Uint8Array.from([1, ...signature, ...message]);
}

/**
 * Sends a signed transaction without the node's preflight, waits until it landed, and returns its
 * error.
 */
export async function landedOn({ rpcUrl }: Sandbox, wire: Uint8Array): Promise<unknown> {
  const text = Buffer.from(wire).toString('base64');
  const signature = await rpc<string>(rpcUrl, 'sendTransaction', [
    text,
    { encoding: 'base64', skipPreflight: true },
  ]);
  return (await landed(rpcUrl, signature)).error;
}
