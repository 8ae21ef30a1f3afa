import { address, type Address } from '@solana/kit';
import { paidOf, UNUSED, usedByCap } from './worth.js';
import {
  createClient,
  HTTPInterceptor,
  isExactChangeError,
  local,
  type Client,
  type ClientEvent,
  type ClientOptions,
  type ExactChangeError,
  type Receipt,
  type SigningIntent,
} from 'exact-change';
import { createHandler } from 'exact-change/http';
import { serve } from 'exact-change/node';
import { createSandbox, type MintSymbol, type Sandbox } from 'exact-change-sandbox';
import { expect } from 'vitest';
import { ATTACKER, MINTS, PROGRAMS } from '../corpus/addresses.js';
import { FORMS } from '../corpus/forms.js';
import { errorChain, findNeedles, keyNeedles } from './capture.js';
import { landed, signaturesOf, type ChainTransaction } from './chain.js';
import {
  accountsOf,
  estateOf,
  lossesOf,
  accountStates,
  watchedOf,
  type Estate,
  type AccountStates,
} from './estate.js';
import {
  startFront,
  type Endpoint,
  type EvilLie,
  type Front,
  type SessionOptions,
  type Session,
} from './evil-front.js';
import { CANARY } from './evil-lies.js';
import { decided } from './flow.js';
import { readMessage } from './foreign-transaction.js';
import { expectOwnMessages } from './own-messages.js';
import { recordingSigner, secretBytes } from './payer.js';

/** Price of the API, in base units of USDC. */
export const PRICE = 10_000n;
/** Amount that the tests pass to `client.swap()`, in base units of USDT. */
export const SWAPPED = 50_000n;

/**
 * A sandbox with an honest service, and an evil front before that service. The attacker has an
 * account for every token.
 */
export interface Stage {
  readonly sandbox: Sandbox;
  /** URL of the honest service. */
  readonly service: string;
  readonly front: Front;
  close(): Promise<void>;
}

export async function startStage(): Promise<Stage> {
  const sandbox = await createSandbox({ slotMs: 0, confirmationMs: 0 });
  const { rpcUrl, jupiterUrl } = sandbox;
  const service = await serve(createHandler(local({ rpcUrl, jupiterUrl })), { port: 0 });
  const front = await startFront(sandbox, service.url);
  sandbox.chain.fundSol(ATTACKER, 1_000_000_000n);
  for (const symbol of ['USDT', 'BONK', 'SOL', 'PYUSD'] as const) {
    await sandbox.chain.fundToken(ATTACKER, sandbox.mints[symbol], 1_000_000_000n);
  }
  await sandbox.chain.fundToken(ATTACKER, sandbox.mints.USDC, 1n);
  return {
    ...{ sandbox, service: service.url, front },
    close: async () => {
      await front.close();
      await service.close({ graceMs: 0 });
      await sandbox.close();
    },
  };
}

/** A wallet with much to lose and too little USDC; its client uses the evil front as service. */
export interface Victim {
  readonly estate: Estate;
  readonly secretKey: string;
  readonly client: Client;
  readonly session: Session;
  readonly signed: readonly SigningIntent[];
  readonly messages: readonly Uint8Array[];
  readonly events: readonly ClientEvent[];
  readonly before: AccountStates;
  /** The attacker's wallet and token accounts before the call. */
  readonly loot: AccountStates;
  readonly earlier: readonly string[];
  /** URL that the prey pays for; no other test uses it. */
  readonly wares: string;
  /** Set if the client also pays for calls of the global fetch. */
  readonly interceptor?: HTTPInterceptor;
  close(): Promise<void>;
}

export interface VictimOptions extends SessionOptions {
  readonly lie: EvilLie;
  readonly options?: ClientOptions;
  readonly installed?: boolean;
}

const FUNDS = { SOL: '0.5', USDC: '0.001', USDT: '20', BONK: '100000' } as const;

export async function preyOf(
  sandbox: Sandbox,
  front: Front,
  { lie, options, installed = false, ...how }: VictimOptions,
): Promise<Victim> {
  const wallet = await sandbox.createWallet(FUNDS);
  const estate = await estateOf(sandbox, wallet);
  const { signer, signed, messages } = recordingSigner(wallet.address, wallet.secretKey);
  const session = front.session(wallet.address, lie, how);
  const { rpcUrl, wsUrl, jupiterUrl } = sandbox;
  const clientOptions: ClientOptions = {
    signer,
    rpcUrl,
    wsUrl,
    jupiterUrl,
    apiUrl: session.url,
    autoSwap: true,
    ...options,
  };
  const earlier = await signaturesOf(rpcUrl, wallet.address);
  const before = accountStates(sandbox, watchedOf(estate));
  const loot = accountStates(sandbox, await lairOf(sandbox));
  const interceptor = installed ? new HTTPInterceptor(clientOptions) : undefined;
  const client = interceptor?.client ?? createClient(clientOptions);
  const events: ClientEvent[] = [];
  client.on('*', (event) => void events.push(event));
  return {
    ...{
      estate,
      secretKey: wallet.secretKey,
      client,
      session,
      signed,
      messages,
      events,
      before,
      loot,
      earlier,
    },
    wares: `${sandbox.apiUrl}/usdc?for=${wallet.address}`,
    ...(interceptor === undefined ? {} : { interceptor }),
    close: async () => {
      interceptor?.restore();
      await client.close();
    },
  };
}

const lairOf = async ({ mints }: Sandbox): Promise<Address[]> => [
  ATTACKER,
  ...Object.values(await accountsOf(ATTACKER, mints)),
];

/** Result of a call: its value, or its error. */
export type Outcome = { readonly value: unknown } | { readonly error: unknown };

export const outcomeOf = (call: Promise<unknown>): Promise<Outcome> =>
  call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );

/** Purpose of a call, which decides what may leave the wallet. */
export type Aim = 'payment' | 'swap' | 'question';

/** A call of a client, and the way in which the evil service answers it. */
export interface ClientCall {
  readonly name: string;
  readonly aim: Aim;
  readonly bait?: Omit<VictimOptions, 'lie'>;
  /** Endpoints of the service that the call may use. */
  readonly asks: readonly Endpoint[];
  call(prey: Victim): Promise<unknown>;
}

const swapOf = { inputMint: 'USDT', outputMint: 'USDC', amount: SWAPPED } as const;

export const PLANNED: ClientCall = {
  ...{
    name: 'a payment out of USDT, planned by it',
    aim: 'payment',
    asks: ['autoPay', 'quote', 'build'],
  },
  bait: { options: { swapFrom: ['USDT'] } },
  call: ({ client, wares }) => client.fetch(wares),
};
export const STEPWISE: ClientCall = {
  ...{ name: 'a payment out of SOL, step by step', aim: 'payment', asks: ['quote', 'build'] },
  bait: { planless: true, options: { swapFrom: ['SOL'] } },
  call: ({ client, wares }) => client.fetch(wares),
};
export const SWAP: ClientCall = {
  name: 'a swap by name',
  aim: 'swap',
  asks: ['quote', 'build'],
  call: ({ client }) => client.swap(swapOf),
};
export const QUOTE: ClientCall = {
  name: 'a quote',
  aim: 'question',
  asks: ['quote'],
  call: ({ client }) => client.quote(swapOf),
};
export const BALANCE: ClientCall = {
  ...{ name: 'balances', aim: 'question', asks: ['balance'] },
  call: ({ client }) => client.balance(['USDC', 'SOL']),
};

/** Makes the call with a fresh wallet while the service lies, and checks every effect of it. */
export async function trial(
  { sandbox, front }: Stage,
  way: ClientCall,
  lie: EvilLie,
  bait: Omit<VictimOptions, 'lie'> = {},
): Promise<{ readonly end: 'done' | 'refused'; readonly session: Session }> {
  const prey = await preyOf(sandbox, front, {
    ...way.bait,
    ...bait,
    lie,
    options: { ...way.bait?.options, ...bait.options },
  });
  try {
    const error = await expectHonest(sandbox, prey, way.aim, await outcomeOf(way.call(prey)));
    return { end: error === undefined ? 'done' : 'refused', session: prey.session };
  } finally {
    await prey.close();
  }
}

/** In lamports: `policy.maxFeeLamports`, plus the fee of a signature. */
const FEES = 255_000n;
/**
 * In 1e-12 dollars. An answered output may be twice the requested output, which is
 * `policy.minSwap`: five cents.
 */
const MOST_BOUGHT = 100_000_000_000n;
/** In 1e-12 dollars: small swaps may miss their price by a tenth of a cent. */
const SLACK = 1_000_000_000n;

/**
 * Compares the signed messages, the chain, and the result of the call with the caller's agreement.
 * It trusts only kit and the chain. Returns the error if the call failed.
 */
export async function expectHonest(
  sandbox: Sandbox,
  prey: Victim,
  aim: Aim,
  outcome: Outcome,
): Promise<ExactChangeError | undefined> {
  const { estate, session, signed } = prey;
  expect(session.faults).toEqual([]);
  // Check every signed message, whether or not the client sent it.
  const agreed = { symbol: 'USDC', amount: PRICE, payTo: sandbox.merchant } as const;
  await expectOwnMessages(sandbox, { ...prey, address: estate.wallet }, agreed);
  const payments = signed.filter(({ kind }) => kind === 'payment').length;
  expect(payments).toBeLessThanOrEqual(aim === 'payment' ? 1 : 0);
  const deals = prey.messages.flatMap((bytes, index) =>
    signed[index]?.kind === 'swap' ? [dealIn(sandbox, bytes, aim)] : [],
  );
  expect(deals.length).toBeLessThanOrEqual(aim === 'question' ? 0 : 2);

  const receipt =
    'value' in outcome && outcome.value instanceof Response
      ? await decided(outcome.value)
      : undefined;
  const found = await expectChain(sandbox, prey, aim, deals, payments);
  expectSilent(prey, found.map(({ signatures }) => signatures).flat());
  expectNoWords(prey, outcome);
  expect([Reflect.get({}, 'polluted'), Object.keys(Object.prototype)]).toEqual([undefined, []]);
  if ('error' in outcome) return expectTrueError(sandbox, prey, found, outcome.error);
  if (receipt !== undefined) expectTrueReceipt(sandbox, prey, found, receipt);
  if (aim === 'swap') expectTrueSwap(prey, found, outcome.value);
  return undefined;
}

interface SwapDeal {
  readonly from: MintSymbol;
  readonly maxIn: bigint;
  readonly minOut: bigint;
}

/**
 * Returns the most that a signed swap may take and the least that it may bring, read from the
 * swap's own data. Checks that its price is fair and that it buys no more than the call needs.
 */
function dealIn(sandbox: Sandbox, bytes: Uint8Array, aim: Aim): SwapDeal {
  const swap = readMessage(sandbox, bytes).instructions.find(
    ({ programAddress }) => programAddress === PROGRAMS.jupiter,
  );
  const data = Buffer.from(swap?.data ?? []);
  const form = [FORMS.route_v2, FORMS.exact_out_route_v2].find(({ discriminator }) =>
    data.subarray(0, 8).equals(discriminator),
  );
  if (swap === undefined || form === undefined)
    throw new Error('This swap is of no form that the venue knows.');
  const [exact, quoted, slippage] = [
    data.readBigUInt64LE(8),
    data.readBigUInt64LE(16),
    BigInt(data.readUInt16LE(24)),
  ];
  const isExactIn = form.mode === 'ExactIn';
  const maxIn = isExactIn ? exact : (quoted * (10_000n + slippage) + 9_999n) / 10_000n;
  const minOut = isExactIn ? (quoted * (10_000n - slippage)) / 10_000n : exact;
  const mintOf = (place: 'sourceMint' | 'destinationMint') => {
    const at = swap.accounts[form.places.indexOf(place)]?.address;
    return Object.values(sandbox.mints).find((mint) => mint.address === at);
  };
  const [from, to] = [mintOf('sourceMint'), mintOf('destinationMint')];
  if (from === undefined || to?.symbol !== 'USDC')
    throw new Error('This swap is for other tokens.');
  const [paid, got] = [maxIn * from.picoUsd, minOut * to.picoUsd];
  // 1 % of loss, 0.5 % of slippage, and rounding.
  expect(paid * 100n).toBeLessThanOrEqual((got + SLACK) * 102n);
  expect(slippage).toBeLessThanOrEqual(50n);
  if (aim === 'swap') expect(maxIn).toBe(SWAPPED);
  else expect(got).toBeLessThanOrEqual(MOST_BOUGHT);
  return { from: from.symbol, maxIn, minOut };
}

/**
 * Returns the transactions that name the wallet since the call began. Checks that no party has more
 * or less than the deal allows.
 */
async function expectChain(
  sandbox: Sandbox,
  { estate, before, loot, earlier, wares, signed }: Victim,
  aim: Aim,
  deals: readonly SwapDeal[],
  payments: number,
): Promise<ChainTransaction[]> {
  const signatures = await signaturesOf(sandbox.rpcUrl, estate.wallet);
  const found = await Promise.all(
    signatures
      .filter((signature) => !earlier.includes(signature))
      .map((signature) => landed(sandbox.rpcUrl, signature)),
  );
  expect(found.length).toBeLessThanOrEqual(signed.length);
  const { USDC } = await accountsOf(address(sandbox.merchant), sandbox.mints);
  const takings = found.flatMap(({ tokens }) =>
    tokens.filter(({ account }) => account === USDC).map(({ change }) => change),
  );
  expect(takings).toEqual(takings.length === 0 ? [] : [PRICE]);
  expect(takings.length).toBeLessThanOrEqual(payments);
  const servings = sandbox.controls.api.served.filter(
    ({ url, status }) => wares.endsWith(url) && status === 200,
  );
  expect(servings.length).toBe(takings.length);
  expect(accountStates(sandbox, await lairOf(sandbox))).toEqual(loot);

  const from = deals[0]?.from ?? 'BONK';
  const sum = (amounts: readonly bigint[]) => amounts.reduce((total, amount) => total + amount, 0n);
  const swaps = found.filter((tx) => tx.error === null && !isTaking(tx, USDC)).length;
  const done = deals.slice(deals.length - swaps);
  const deal = {
    ...({ from, to: 'USDC' } as const),
    maxIn: sum(done.map(({ maxIn }) => maxIn)),
    minOut: sum(done.map(({ minOut }) => minOut)) - sum(takings),
    maxFees: FEES * BigInt(deals.length),
  };
  expect(lossesOf(estate, deal, before, accountStates(sandbox, watchedOf(estate)))).toEqual([]);
  if (aim === 'question') expect(accountStates(sandbox, watchedOf(estate))).toEqual(before);
  return found;
}

const isTaking = ({ tokens }: ChainTransaction, till: string): boolean =>
  tokens.some(({ account }) => account === till);

/** Checks that no key, signature, signed message or credential reached the service. */
function expectSilent(
  { session, secretKey, messages }: Victim,
  signatures: readonly string[],
): void {
  const traffic = session.seen
    .map(
      ({ path, headers, body }) =>
        `${path}\n${JSON.stringify(headers)}\n${body.toString('latin1')}`,
    )
    .join('\n');
  const needles = [
    ...keyNeedles(secretBytes(secretKey)),
    ...signatures.map((text) => ({ name: 'a signature', text })),
    ...messages.map((bytes) => ({
      name: 'a signed message',
      text: Buffer.from(bytes).toString('base64').slice(8, -8),
    })),
    ...[
      'signedSwap',
      'signedPayment',
      'payment-signature',
      'x-payment',
      '"cookie"',
      '"authorization"',
    ].map((text) => ({
      name: text,
      text,
    })),
  ];
  expect(findNeedles(traffic, needles)).toEqual([]);
}

/** Checks that no error or event repeats the service's words as words of the client. */
function expectNoWords({ events }: Victim, outcome: Outcome): void {
  expect(JSON.stringify(events)).not.toContain('IGNORE');
  if (!('error' in outcome)) return;
  for (const cause of errorChain(outcome.error)) {
    const { message = '', stack = '' } = cause instanceof Error ? cause : {};
    expect(`${message}\n${stack}`).not.toContain('IGNORE');
  }
  if (!isExactChangeError(outcome.error)) return;
  const { untrusted: _, ...ours } = outcome.error.toJSON();
  expect(JSON.stringify(ours)).not.toContain(CANARY.slice(0, 6));
}

/** Checks that the error is of the library, and that `funds` and `moved` agree with the chain. */
async function expectTrueError(
  sandbox: Sandbox,
  { client, signed }: Victim,
  found: readonly ChainTransaction[],
  error: unknown,
): Promise<ExactChangeError> {
  if (!isExactChangeError(error)) throw error;
  const { USDC } = await accountsOf(address(sandbox.merchant), sandbox.mints);
  const done = found.filter((tx) => tx.error === null);
  const [paid, swapped] = [
    done.filter((tx) => isTaking(tx, USDC)),
    done.filter((tx) => !isTaking(tx, USDC)),
  ];
  const truth = paid.length > 0 ? 'spent' : swapped.length > 0 ? 'swapped' : 'untouched';
  if (error.funds === 'uncertain') expect(signed.length).toBeGreaterThan(0);
  else expect({ funds: error.funds, code: error.code }).toEqual({ funds: truth, code: error.code });
  const landedSignatures = found.flatMap(({ signatures }) => signatures);
  expect(error.moved.filter(({ signature }) => !landedSignatures.includes(signature))).toEqual([]);
  if (signed.length === 0) expect(await usedByCap(client)).toEqual(UNUSED);
  if (!signed.some(({ kind }) => kind === 'payment')) expect(await paidOf(client)).toBe('0');
  return error;
}

function expectTrueReceipt(
  sandbox: Sandbox,
  { estate }: Victim,
  found: readonly ChainTransaction[],
  receipt: Receipt,
): void {
  expect(receipt).toMatchObject({
    state: 'settled',
    payment: {
      mint: MINTS.usdc,
      amount: PRICE.toString(),
      payTo: sandbox.merchant,
      payer: estate.wallet,
    },
  });
  const payment = found.find(({ signatures }) =>
    signatures.includes(receipt.payment.signature ?? ''),
  );
  expect(payment?.error).toBeNull();
  expect(payment?.signatures).toContain(receipt.payment.payerSignature);
  expect(payment?.tokens.find(({ owner }) => owner === sandbox.merchant)?.change).toBe(PRICE);
  if (receipt.swap !== undefined) expectTrueSwap({ estate }, found, receipt.swap);
}

/** Checks that the reported swap is on the chain, with the reported input and output. */
function expectTrueSwap(
  { estate: { at } }: Pick<Victim, 'estate'>,
  found: readonly ChainTransaction[],
  told: unknown,
): void {
  // Results of `client.swap()` and receipts share these fields.
  const { signature, inAmount, outAmount } = told as NonNullable<Receipt['swap']>;
  const swap = found.find(({ signatures }) => signatures.includes(signature));
  const change = (account: string) =>
    swap?.tokens.find((token) => token.account === account)?.change ?? 0n;
  expect(swap?.error).toBeNull();
  expect(change(at.USDC)).toBe(BigInt(outAmount));
  // A swap from SOL takes lamports of the wallet, mixed with fees, so only USDT is compared.
  if (change(at.USDT) !== 0n) expect(-change(at.USDT)).toBe(BigInt(inAmount));
}
