import type { Landed, Ledger } from './ledger.js';
import type { MarketState, Token } from './market.js';
import { FACILITATOR, NETWORK, PYUSD, SELLERS, SOL, USDC } from './places.js';
import { hostOf, type Answer, type Part, type Plan, type Settling, type Terms } from './plan.js';
import type { Random } from './random.js';
import { readWire, writeWire } from './wire.js';

/** What a seller does with a request: an answer after so long, a lost connection, or nothing at all. */
export type Served = { readonly ms: number; readonly response?: Response } | 'lost' | 'hangs';

export interface Seller {
  serve(url: URL, headers: Headers): Promise<Served>;
}

interface Settled {
  readonly said: boolean;
  readonly id: string;
}

/** A seller and its facilitator, with whatever is wrong with them. */
export function createSeller(
  number: number,
  {
    plan,
    parts,
    ledger,
    market,
    tokens,
    random,
    after,
  }: {
    readonly plan: Plan;
    readonly parts: readonly Part[];
    readonly ledger: Ledger;
    readonly market: MarketState;
    readonly tokens: readonly Token[];
    readonly random: Random;
    readonly after: (ms: number, call: () => void) => void;
  },
): Seller {
  const terms = new Map<Terms, number>();
  const answers: (Part & { kind: 'answer' })[] = [];
  const settlings: (Part & { kind: 'settling' })[] = [];
  for (const part of parts) {
    if (part.kind === 'terms' && part.seller === number) terms.set(part.what, part.size);
    if (part.kind === 'answer' && part.seller === number) answers.push(part);
    if (part.kind === 'settling' && part.seller === number) settlings.push(part);
  }
  const own = tokens.filter(({ worth }) => worth === 0n);
  const answered = new Map<string, string>();
  let asked = 0;

  /** Millionths of a dollar. */
  const price = (): bigint => {
    const base = plan.prices[number] ?? 10_000;
    const raised = base * (1 + ((terms.get('raises') ?? 0) / 100) * asked);
    return BigInt(Math.min(Math.floor(raised), 3_000_000));
  };

  const tokenFor = (): Token | undefined => {
    const pinned = (mint: string) => tokens.find((token) => token.mint === mint);
    if (terms.has('in SOL')) return pinned(SOL);
    if (terms.has('in PYUSD')) return pinned(PYUSD);
    const at = terms.has('new tokens') ? asked : terms.get('own token');
    return at === undefined ? pinned(USDC) : own[at % own.length];
  };

  const unpaid = (url: URL): Response => {
    const token = tokenFor();
    if (token === undefined) throw new Error('The seller has no token.');
    asked += 1;
    // Its market says what the seller likes, and sometimes another thing at the next call.
    if (token.worth === 0n && (!market.prices.has(token.mint) || random.chance(0.1)))
      market.prices.set(token.mint, BigInt(random.pick([1_000, 100_000, 950_000])));
    const unit = 10n ** BigInt(token.decimals);
    const worth = token.worth > 0n ? token.worth : (market.prices.get(token.mint) ?? 1n);
    const amount = (price() * unit + worth - 1n) / worth;
    const version = terms.has('version 1') ? 1 : 2;
    const offer = (units: bigint) => ({
      scheme: 'exact',
      network: version === 1 ? 'solana' : NETWORK,
      ...(version === 1 ? { maxAmountRequired: String(units) } : { amount: String(units) }),
      ...{
        asset: token.mint,
        payTo: SELLERS[number],
        maxTimeoutSeconds: 60,
        resource: url.href,
        description: 'a thing',
        mimeType: 'text/plain',
      },
      extra: { feePayer: FACILITATOR, ...(terms.has('memo') ? { memo: `order ${url.pathname}` } : {}) },
    });
    const accepts = terms.has('many') ? [offer(amount), offer(amount * 2n)] : [offer(amount)];
    const extensions = terms.has('payment id') ? { 'payment-identifier': { info: { required: false } } } : undefined;
    const body = {
      x402Version: version,
      error: 'Payment required',
      resource: { url: url.href },
      accepts,
      ...(extensions && { extensions }),
    };
    if (version === 1) return json(402, body);
    return json(402, {}, { 'payment-required': encode(body) });
  };

  const settle = (header: string): Settled & { readonly ms: number } => {
    const { payload } = JSON.parse(Buffer.from(header, 'base64').toString('utf8')) as { payload: { transaction: string } }; // The library's.
    const { signatures, message } = readWire(Buffer.from(payload.transaction, 'base64'));
    // The fee payer's signature comes first; the world does not check it.
    const bytes = writeWire(message, [random.bytes(64), ...signatures.slice(1)]);
    const how: Settling | undefined = settlings.find(({ share }) => random.chance(share))?.what;
    const delay = settlings.find(({ what }) => what === how)?.delay ?? 0;
    if (how === 'never') return { said: true, id: '', ms: random.int(50, 500) };
    if (how === 'late') {
      after(delay, () => void ledger.land(bytes));
      return { said: true, id: '', ms: random.int(50, 500) };
    }
    const landed: Landed | string = ledger.land(bytes);
    if (how === 'twice') after(delay, () => void ledger.land(writeWire(message, [random.bytes(64), ...signatures.slice(1)])));
    const went = typeof landed !== 'string' && landed.error === null;
    return { said: went && how !== 'denies', id: typeof landed === 'string' ? '' : landed.id, ms: random.int(300, 1_500) };
  };

  const paid = (url: URL, header: string): Served => {
    const { said, id, ms } = settle(header);
    const word = {
      'payment-response': encode({
        success: said,
        transaction: id,
        network: NETWORK,
        errorReason: said ? undefined : 'invalid_transaction',
      }),
    };
    const how: Answer | undefined = answers.find(({ share }) => random.chance(share))?.what ?? (said ? undefined : 'denied');
    const text = answered.get(header) ?? JSON.stringify({ item: url.pathname, text: 'x'.repeat(40) });
    answered.set(header, text);
    switch (how) {
      case undefined:
        return {
          ms,
          response: new Response(streamOf(text, false), { status: 200, headers: { ...word, 'content-type': 'application/json' } }),
        };
      case 'bare':
        return { ms, response: new Response(text, { status: 200 }) };
      case 'breaks':
        return { ms, response: new Response(streamOf(text, true), { status: 200, headers: word }) };
      case 'error':
        return { ms, response: json(500, { error: 'broken' }, word) };
      case 'again':
        return { ms, response: unpaid(url) };
      case 'denied':
        return { ms, response: json(402, { error: 'denied' }, word) };
      case 'pending':
        return {
          ms,
          response: json(
            402,
            {},
            { 'payment-response': encode({ success: false, errorReason: 'settlement_pending', transaction: id, network: NETWORK }) },
          ),
        };
      case 'redirects':
        return {
          ms,
          response: new Response(null, { status: 302, headers: { ...word, location: `https://${hostOf((number + 1) % 3)}/elsewhere` } }),
        };
      case 'lost':
      case 'hangs':
        return how;
    }
  };

  return {
    async serve(url, headers) {
      const header = headers.get('payment-signature') ?? headers.get('x-payment');
      return header === null ? { ms: random.int(10, 200), response: unpaid(url) } : paid(url, header);
    },
  };
}

function json(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } });
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64');
}

/** A body in two parts, the second of which may never come. */
function streamOf(text: string, breaks: boolean): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let part = 0;
  return new ReadableStream({
    pull(controller) {
      part += 1;
      if (part === 1) return controller.enqueue(bytes.subarray(0, 10));
      if (breaks) return controller.error(new TypeError('terminated'));
      controller.enqueue(bytes.subarray(10));
      controller.close();
    },
  });
}
