import { systemRuntime } from '../../../src/internal/runtime.js';
import type { SignedSwap } from '../../../src/journal/types.js';
import { WSOL_MINT } from '../../../src/network.js';
import { sentSwap } from '../../../src/payments/reconcile/swap-end.js';
import {
  failureFee,
  ownFee,
  rentIn,
  swapAmountsOf,
} from '../../../src/payments/reconcile/swap-outcome.js';
import { addressOf } from '../../../src/solana/address.js';
import { createRelayer, type Relayer } from '../../../src/swaps/relayer/relayer.js';
import { createRandom, type Random } from '../../../test/simulation/random.js';
import { outcomeOf } from './outcome.js';

const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const USDT = 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB';
const WALLET = 'AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9';
const STRANGER = 'GyGKxMyg1p9SsHfm15MkNUu1u9TN2JtTspcdmrtGUdse';
const known = { feePayer: STRANGER, payTo: WALLET, mints: undefined };

type Answer = readonly [status: number, body: string, retryAfter?: string];

const result = (value: unknown): Answer => [
  200,
  JSON.stringify({ jsonrpc: '2.0', id: 1, result: value }),
];

/** Answers that are wrong for every call. */
const odd: readonly Answer[] = [
  [200, 'null'],
  [200, '{"result":[]}'],
  [200, '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"No\u202e funds"}}'],
  [400, '{"error":{"code":-32601}}'],
  [200, '{"error":{"message":{"toString":1,"valueOf":1}}}'],
  [200, '{"error":"no"}'],
  [200, 'garbage'],
  [200, ''],
  [302, ''],
  [429, '', '2'],
  [503, 'down'],
  [421, ''],
  [200, `"${'x'.repeat(300_000)}"`],
];

const payer = { signer_address: STRANGER, payment_address: WALLET };
const rules = (value: unknown) => result({ validation_config: { allowed_spl_paid_tokens: value } });
const facts: readonly (readonly [payer: Answer, config: Answer])[] = [
  ...[[], [USDC, USDT], 'All', null, [7, { toString: 1 }, USDC], { Allowlist: [USDC] }, 'None', 0].map(
    (mints) => [result(payer), rules(mints)] as const,
  ),
  [result(payer), result({})],
  [result(payer), result({ validation_config: 5 })],
  ...[{}, { signer_address: STRANGER }, { ...payer, payment_address: 'x' }].map(
    (value) => [result(value), result({})] as const,
  ),
  ...odd.map((answer) => [answer, result({})] as const),
];

const priced = { fee_in_token: 12_345, signer_pubkey: STRANGER, payment_address: WALLET };
const fees: readonly Answer[] = [
  ...[0, 1, 2 ** 53 - 1, 2 ** 53, -1, 0.5, '7', null, true, [1]].map((fee) =>
    result({ ...priced, fee_in_token: fee }),
  ),
  [200, `{"result":${JSON.stringify(priced).replace('12345', '1e3')}}`],
  [200, `{"result":${JSON.stringify(priced).replace('12345', '5.0')}}`],
  [200, `{"result":${JSON.stringify(priced).replace('12345', '1e400')}}`],
  result({ ...priced, signer_pubkey: WALLET }),
  result({ ...priced, payment_address: undefined }),
  ...odd,
];

const signings: readonly Answer[] = [
  ...['AQID', 'AQI=', '', 'AQI', '%%%', 'AQ ID', 7, null, 'ÄQID'].map((transaction) =>
    result({ signed_transaction: transaction }),
  ),
  ...odd,
];

/** Makes a vector of a call to the relayer: its requests, the answers, and the result. */
async function callVector(
  call: string,
  answers: readonly Answer[],
  ask: (relayer: Relayer) => Promise<unknown>,
): Promise<unknown> {
  const seen: unknown[] = [];
  const fetched: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    seen.push({
      url: request.url,
      key: request.headers.get('x-api-key') ?? undefined,
      type: request.headers.get('content-type'),
      body: await request.text(),
    });
    const [status, body, retryAfter] = answers[seen.length - 1] ?? [500, ''];
    return new Response(body, {
      status,
      ...(retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter } }),
    });
  };
  const relayer = createRelayer({
    ...{ url: 'https://kora.test/', apiKey: answers.length > 1 ? 'key' : undefined },
    ...{ fetch: fetched, timeoutMs: 30_000, runtime: systemRuntime },
  });
  const outcome = await outcomeOf(ask(relayer));
  return { of: 'call', call, answers, seen, ...outcome };
}

interface Change {
  readonly account: string;
  readonly mint: string;
  readonly before: bigint;
  readonly after: bigint;
}

/**
 * Draws a landed transaction in a node's form. Mostly its amounts add up, and a failed transaction
 * moves nothing.
 */
function landedOf(random: Random, accounts: readonly string[], mints: readonly string[]) {
  const error = random.chance(0.3) ? '{"InstructionError":[3,1]}' : null;
  const isStill = error !== null && random.chance(0.7);
  const most = isStill ? 0 : 3_000_000;
  const fee = BigInt(random.pick([5_000, 10_000, random.int(5_000, 90_000)]));
  const moves = accounts.map(() => BigInt(random.pick([0, random.int(-most, most)])));
  const sum = moves.slice(1).reduce((total, move) => total + move, 0n);
  // All moves add up to the fee, unless the node errs.
  const first = random.chance(0.9) ? -fee - sum : 1n;
  const lamports = new Map(
    accounts.map((account, at) => {
      const before = BigInt(random.pick([0, 5_000_000]));
      return [account, { before, after: before + (at === 0 ? first : (moves[at] ?? 0n)) }] as const;
    }),
  );
  const changes = accounts
    .filter(() => random.chance(0.7))
    .map((account) => {
      const before = BigInt(random.int(0, 2 ** 20));
      const after = isStill ? before : BigInt(random.int(0, 2 ** 20));
      return { account, owner: random.pick([WALLET, STRANGER]), mint: random.pick(mints), before, after };
    });
  const tokenChanges = random.chance(0.6)
    ? changes.map((change) => balanced(change, changes))
    : changes;
  return {
    ...{ slot: 7, error, signatures: [], feeLamports: fee, tokenChanges, tellsTokens: true },
    lamports,
  };
}

/** Adjusts the last change of a mint so that all changes of the mint add up to zero. */
function balanced<T extends Change>(change: T, changes: readonly T[]): T {
  const same = changes.filter(({ mint }) => mint === change.mint);
  if (same[same.length - 1] !== change) return change;
  const others = same.slice(0, -1).reduce((sum, { before, after }) => sum + after - before, 0n);
  const before = change.before + (others > 0n ? others : 0n);
  return { ...change, before, after: before - others };
}

/** Vectors of landed swaps, also relayed swaps, with the amounts that they took and brought. */
function ends(): unknown[] {
  return Array.from({ length: 160 }, (_, index) => {
    const random = createRandom(`spec/relayed/ends/${index}`);
    const [source = '', output = '', feePayer = ''] = [0, 1, 2].map(() => addressOf(random.bytes(32)));
    const isRelayed = random.chance(0.6);
    const swap: SignedSwap = {
      ...{ signature: 'id', transaction: '', provider: 'jupiter-v1', source, output },
      inputMint: random.pick(isRelayed ? [USDT, USDC] : [USDT, USDC, WSOL_MINT]),
      outputMint: random.pick([USDC, WSOL_MINT]),
      ...{ blockhash: 'hash', blockhashSlot: random.pick([0, 100, 1_000]) },
      lastValidBlockHeight: '4242',
      ...(random.chance(0.5) ? { before: { amount: '77', slot: 3 } } : {}),
      ...(isRelayed ? { relay: { payerSignature: 'own', mint: USDT, fee: '9' } } : {}),
      quoted: { inAmount: '1', outAmount: '2', feeLamports: '3' },
    };
    const accounts = isRelayed
      ? [feePayer, WALLET, source, output, STRANGER]
      : [WALLET, source, output, STRANGER];
    const landed = landedOf(random, accounts, [swap.inputMint, swap.outputMint]);
    const sent = sentSwap(swap, WALLET);
    return {
      ...{ of: 'end', wallet: WALLET, swap, landed },
      out: {
        sent: { ...sent, claim: sent.claim?.id },
        amounts: swapAmountsOf(landed, WALLET, swap),
        fee: ownFee(landed, swap),
        rent: rentIn(landed, WALLET, swap) ?? null,
        failureFee: failureFee(landed, WALLET, swap) ?? null,
      },
    };
  });
}

const BYTES = Uint8Array.of(1, ...new Uint8Array(64), 128, 255);

/** Vectors of requests to a relayer, of its answers, and of relayed swaps. */
export async function relayed(): Promise<unknown[]> {
  const calls = [
    ...facts.map((answers) =>
      callVector('facts', answers, (relayer) => relayer.facts(undefined)),
    ),
    ...fees.map((answer) =>
      callVector('fee', [answer], (relayer) => relayer.fee(BYTES, USDC, known, undefined)),
    ),
    ...signings.map((answer) =>
      callVector('sign', [answer], (relayer) => relayer.sign(BYTES, known, undefined)),
    ),
  ];
  return [...(await Promise.all(calls)), ...ends()];
}
