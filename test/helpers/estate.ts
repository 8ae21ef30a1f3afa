import {
  address,
  type Address,
  type Base64EncodedWireTransaction,
  createSolanaRpc,
  getAddressEncoder,
  getBase58Decoder,
} from '@solana/kit';
import type { ChainAccount, MintSymbol, Sandbox, SandboxWallet } from 'exact-change-sandbox';
import type { MessageSigner } from 'exact-change';
import { landed, rpc, tokenAccount } from './chain.js';
import { recordingSigner } from './payer.js';

const SYSTEM = address('11111111111111111111111111111111');
const TOKEN = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
const TABLES = address('AddressLookupTab1e1111111111111111111111111');

/** A wallet, and every account on the chain that obeys it. */
export interface Estate {
  readonly wallet: Address;
  readonly signer: MessageSigner;
  /** Its associated token accounts, whether or not they exist. */
  readonly at: Readonly<Record<MintSymbol, Address>>;
  /**
   * A second USDC account, an account that it may spend from, a durable nonce, a mint and a lookup
   * table.
   */
  readonly others: readonly Address[];
}

/** Accounts as they lie on the chain, before or after. */
export type Lying = ReadonlyMap<Address, ChainAccount | undefined>;

const keyBytes = (one: Address): Uint8Array => Uint8Array.from(getAddressEncoder().encode(one));

/** An address that is as good as any, of the wallet's alone. */
function besides(wallet: Address, n: number): Address {
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
  // One entry a mint.
  return Object.fromEntries(await Promise.all(entries)) as Record<MintSymbol, Address>;
}

/**
 * Makes a wallet with SOL, USDC, USDT and BONK, no account for PYUSD, and something of every kind
 * that obeys it.
 */
export async function estateOn(sandbox: Sandbox): Promise<Estate> {
  return estateOf(
    sandbox,
    await sandbox.createWallet({ SOL: '0.5', USDC: '20', USDT: '1', BONK: '100000' }),
  );
}

/** The same of a wallet that is there, and has a USDC account. */
export async function estateOf(sandbox: Sandbox, made: SandboxWallet): Promise<Estate> {
  const { chain, mints } = sandbox;
  const wallet = address(made.address);
  const at = await accountsOf(wallet, mints);
  const usdc = chain.account(at.USDC)!;
  const key = keyBytes(wallet);
  const put = (n: number, owner: Address, data: Uint8Array): Address => {
    const where = besides(wallet, n);
    chain.setAccount(where, { lamports: 10_000_000n, data, owner, executable: false });
    return where;
  };
  const spendable = usdc.data.slice();
  // Another wallet's, with this one as the delegate of 5 USDC.
  spendable.set(keyBytes(besides(wallet, 200)), 32);
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
  table.set(keyBytes(besides(wallet, 201)), 56);
  const others = [
    put(1, TOKEN, usdc.data),
    put(2, TOKEN, spendable),
    put(3, SYSTEM, nonce),
    put(4, TOKEN, mint),
    put(5, TABLES, table),
  ];
  return { wallet, signer: recordingSigner(made.address, made.secretKey).signer, at, others };
}

/** All that {@link lossesOf} looks at. */
export function watchedOf({ wallet, at, others }: Estate): Address[] {
  return [wallet, ...Object.values(at), ...others];
}

export function lyingNow({ chain }: Sandbox, addresses: readonly Address[]): Lying {
  return new Map(addresses.map((one) => [one, chain.account(one)]));
}

/** Writes accounts back as they were. */
export function putBack({ chain }: Sandbox, lying: Lying): void {
  const nothing = { lamports: 0n, data: new Uint8Array(), owner: SYSTEM, executable: false };
  for (const [one, account] of lying) chain.setAccount(one, account ?? nothing);
}

/** What was agreed: amounts in base units, the fees of the network in lamports. */
export interface Deal {
  readonly from: MintSymbol;
  readonly to: MintSymbol;
  readonly maxIn: bigint;
  readonly minOut: bigint;
  readonly maxFees: bigint;
}

/** In which ways the wallet is worse off than was agreed, by what lies on the chain alone. */
export function lossesOf(estate: Estate, deal: Deal, before: Lying, after: Lying): string[] {
  const { wallet, at, others } = estate;
  const symbols = Object.keys(at) as MintSymbol[]; // The keys of the record.
  const own = after.get(wallet);
  const gain = (measure: (account: ChainAccount | undefined) => bigint, one: Address) =>
    measure(after.get(one)) - measure(before.get(one));
  const least = (symbol: MintSymbol) =>
    symbol === deal.to ? deal.minOut : symbol === deal.from ? -deal.maxIn : 0n;
  // Wrapped or not, and what lies in the wallet's accounts as rent is the wallet's.
  const sol = [wallet, ...Object.values(at)].reduce((sum, one) => sum + gain(lamportsIn, one), 0n);
  return [
    ...(own?.owner === SYSTEM && own.data.length === 0
      ? []
      : ['the wallet is no plain account of its own']),
    ...others
      .filter((one) => !isSame(before.get(one), after.get(one)))
      .map((one) => `other account ${others.indexOf(one)} has changed`),
    ...symbols
      .filter((one) => !isKept(wallet, before.get(at[one]), after.get(at[one]), one))
      .map((one) => `the ${one} account is not kept`),
    ...symbols
      .filter((one) => one !== 'SOL' && gain(amountIn, at[one]) < least(one))
      .map((one) => `${one}: ${gain(amountIn, at[one])}, not ${least(one)}`),
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
 * Still the wallet's, with no other wallet to spend from it or close it. One of wrapped SOL may go.
 */
function isKept(
  wallet: Address,
  before: ChainAccount | undefined,
  after: ChainAccount | undefined,
  symbol: MintSymbol,
): boolean {
  if (after === undefined) return before === undefined || symbol === 'SOL';
  // Any wallet may send lamports to where no account is.
  if (after.owner === SYSTEM && after.data.length === 0) return before === undefined;
  const { data } = after;
  const isOwn = Buffer.compare(data.subarray(32, 64), keyBytes(wallet)) === 0;
  const isNobodys = [72, 129].every((tag) => Buffer.from(data).readUInt32LE(tag) === 0);
  const isSameMint =
    before === undefined || Buffer.compare(before.data.subarray(0, 32), data.subarray(0, 32)) === 0;
  return (
    isOwn &&
    isNobodys &&
    isSameMint &&
    data[108] === 1 &&
    (before === undefined || before.owner === after.owner)
  );
}

/** What running a transaction now would leave of some accounts; by kit alone. */
export async function simulatedBy(
  { rpcUrl }: Sandbox,
  wire: Uint8Array,
  watched: readonly Address[],
): Promise<{ readonly error: unknown; readonly after: Lying }> {
  // What the node makes of it is the answer.
  const text = Buffer.from(wire).toString('base64') as Base64EncodedWireTransaction;
  const { value } = await createSolanaRpc(rpcUrl)
    .simulateTransaction(text, {
      ...{
        encoding: 'base64',
        sigVerify: false,
        replaceRecentBlockhash: true,
        commitment: 'confirmed',
      },
      accounts: { addresses: watched, encoding: 'base64' },
    })
    .send();
  const after = watched.map((one, index) => {
    const account = value.accounts?.[index] ?? undefined;
    if (account === undefined) return [one, undefined] as const;
    const { lamports, owner, executable, data } = account;
    return [
      one,
      { lamports, owner, executable, data: Uint8Array.from(Buffer.from(data[0], 'base64')) },
    ] as const;
  });
  return { error: value.err, after: new Map(after) };
}

/** The wire bytes of a message with the wallet's signature. */
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

/** Sends what is signed, past the node's own check, and waits for the chain's word on it. */
export async function landedOn({ rpcUrl }: Sandbox, wire: Uint8Array): Promise<unknown> {
  const text = Buffer.from(wire).toString('base64');
  const signature = await rpc<string>(rpcUrl, 'sendTransaction', [
    text,
    { encoding: 'base64', skipPreflight: true },
  ]);
  return (await landed(rpcUrl, signature)).error;
}
