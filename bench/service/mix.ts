import type { startWorld } from '../clients.js';

export const API_KEY = 'bench-service-api-key';
const WALLETS = 20;

/** A request of the mix. */
export interface Shot {
  /** Operation to which the request counts. */
  readonly name: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** Operations that need neither a node nor an aggregator. */
export const LOCAL: readonly string[] = ['health', 'parse-payment', 'refused'];

const AUTO_PAY = '/api/x402/auto-pay';
const KEY = { 'x-api-key': API_KEY };
const JSON_KEY = { ...KEY, 'content-type': 'application/json' };

/** Requests a 402, and returns it in the form in which a service gets it. */
async function paymentRequired(from: string): Promise<object> {
  const response = await fetch(from);
  const { url, status, headers } = response;
  return { url, status, headers: Object.fromEntries(headers), body: await response.text() };
}

/**
 * Returns the requests of each operation with its share of a hundred requests. As in practice, they
 * use few tokens and wallets.
 */
export async function mixOf({ world, apiUrl }: Awaited<ReturnType<typeof startWorld>>) {
  const funds = { SOL: '10', BONK: '1000000', PYUSD: '5' };
  const wallets: string[] = [];
  while (wallets.length < WALLETS) wallets.push((await world.call('wallet', funds)).address);
  // The wallets hold a token of the first 402, but not the token of the second.
  const [payable, short] = await Promise.all(
    ['any', 'usdc'].map((path) => paymentRequired(`${apiUrl}/${path}`)),
  );
  const pairs = [
    'inputMint=SOL&outputMint=USDC',
    'inputMint=SOL&outputMint=PYUSD',
    'inputMint=USDC&outputMint=SOL',
  ];
  const amounts = ['amount=10000&swapMode=ExactOut', 'amount=1000000&swapMode=ExactOut'];
  const some = wallets.slice(0, 4);
  const autoPay = (paymentRequired: object | undefined) =>
    wallets.map((wallet) => JSON.stringify({ paymentRequired, wallet, autoSwap: true }));
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
      shots: [post('parse-payment', '/api/x402/parse-payment', JSON.stringify(payable))],
    },
    { share: 5, shots: autoPay(payable).map((body) => post('auto-pay', AUTO_PAY, body)) },
    { share: 5, shots: autoPay(short).map((body) => post('auto-pay, swap', AUTO_PAY, body)) },
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

export type Mix = Awaited<ReturnType<typeof mixOf>>;

/** Draws `count` requests with a fixed seed, so that each run sends the same requests. */
export function drawn(mix: Mix, count: number): Shot[] {
  const random = mulberry32(1);
  const hundred = mix.flatMap(({ share, shots }) => Array.from({ length: share }, () => shots));
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  return Array.from({ length: count }, () => pick(pick(hundred)));
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
