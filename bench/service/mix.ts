import { API_KEY, type Chain } from './roles.js';

/** One request of the mix. */
export interface Shot {
  /** The operation that it is counted for. */
  readonly name: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** What needs neither a node nor an aggregator. */
export const LOCAL: readonly string[] = ['health', 'parse-payment', 'refused'];

const KEY = { 'x-api-key': API_KEY };
const JSON_KEY = { ...KEY, 'content-type': 'application/json' };

/**
 * Each operation with its share of a hundred requests, over few tokens and wallets, as it is in
 * life.
 */
export function mixOf({
  wallets,
  paymentRequired,
}: Chain): readonly { readonly share: number; readonly shots: readonly Shot[] }[] {
  const pairs = [
    'inputMint=SOL&outputMint=USDC',
    'inputMint=SOL&outputMint=PYUSD',
    'inputMint=USDC&outputMint=SOL',
  ];
  const amounts = ['amount=10000&swapMode=ExactOut', 'amount=1000000&swapMode=ExactOut'];
  const some = wallets.slice(0, 4);
  const autoPay = wallets.map((wallet) =>
    JSON.stringify({ paymentRequired, wallet, autoSwap: true }),
  );
  const build = some.map((wallet) =>
    JSON.stringify({
      wallet,
      inputMint: 'SOL',
      outputMint: 'USDC',
      amount: '10000',
      swapMode: 'ExactOut',
    }),
  );
  return [
    {
      share: 30,
      shots: pairs.flatMap((pair) =>
        amounts.map((amount) => get('quote', `/api/quote?${pair}&${amount}`)),
      ),
    },
    {
      share: 25,
      shots: wallets.map((wallet) =>
        get('balance', `/api/balance?wallet=${wallet}&mint=USDC&mint=SOL`),
      ),
    },
    {
      share: 15,
      shots: [post('parse-payment', '/api/x402/parse-payment', JSON.stringify(paymentRequired))],
    },
    { share: 10, shots: autoPay.map((body) => post('auto-pay', '/api/x402/auto-pay', body)) },
    { share: 5, shots: build.map((body) => post('build', '/api/swap/build', body)) },
    { share: 10, shots: [get('health', '/api/health')] },
    {
      share: 5,
      shots: [
        get('refused', '/api/nothing'),
        get('refused', '/api/quote?inputMint=SOL'),
        { ...get('refused', '/api/quote?inputMint=SOL&outputMint=USDC&amount=1'), headers: {} },
        post('refused', '/api/swap/build', '{"wallet":'),
        post('refused', '/api/x402/parse-payment', '['.repeat(1_000)),
      ],
    },
  ];
}

/** So many of them, drawn by a generator with a seed: each run sends the same. */
export function drawn(mix: ReturnType<typeof mixOf>, count: number): Shot[] {
  const random = mulberry32(1);
  const hundred = mix.flatMap(({ share, shots }) => Array.from({ length: share }, () => shots));
  const one = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  return Array.from({ length: count }, () => one(one(hundred)));
}

function get(name: string, path: string): Shot {
  return { name, method: 'GET', path, headers: KEY, body: undefined };
}

function post(name: string, path: string, body: string): Shot {
  return { name, method: 'POST', path, headers: JSON_KEY, body };
}

function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
