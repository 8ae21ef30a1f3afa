import type { Landed, Ledger } from './ledger.js';
import type { MarketState, Token } from './market.js';
import { FACILITATOR, MEMO, NETWORK, PYUSD, SELLERS, SOL, USDC } from './places.js';
import {
  hostOf,
  itemOf,
  type Answer,
  type Door,
  type Part,
  type Plan,
  type Settling,
  type Terms,
} from './plan.js';
import type { Random } from './random.js';
import { paymentIn, readHeader } from './traffic.js';
import { readMessage, readWire, writeWire } from './wire.js';

/** A seller's reaction to a request: an answer after `ms`, a lost connection, or no answer. */
export type Served = { readonly ms: number; readonly response?: Response } | 'lost' | 'hangs';

export interface Seller {
  serve(url: URL, headers: Headers): Promise<Served>;
  /** Payments for this seller's terms that its facilitator cannot accept. */
  readonly misfits: readonly string[];
}

interface Settled {
  readonly said: boolean;
  readonly id: string;
}

/** Makes a seller and its facilitator, with the faults of the plan. */
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
  const doors: (Part & { kind: 'door' })[] = [];
  const misfits: string[] = [];
  for (const part of parts) {
    if (part.kind === 'terms' && part.seller === number) terms.set(part.what, part.size);
    if (part.kind === 'answer' && part.seller === number) answers.push(part);
    if (part.kind === 'settling' && part.seller === number) settlings.push(part);
    if (part.kind === 'door' && part.seller === number) doors.push(part);
  }
  const ownTokens = tokens.filter(({ worth }) => worth === 0n);
  const answered = new Map<string, string>();
  let asked = 0;

  /** Returns the price in millionths of a dollar. */
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
    return at === undefined ? pinned(USDC) : ownTokens[at % ownTokens.length];
  };

  const isYoung = terms.has('young version 1');
  const version = isYoung || terms.has('version 1') ? 1 : 2;
  const memoFor = (url: URL): string | undefined =>
    terms.has('memo') ? `order ${itemOf(url)}` : undefined;

  const unpaid = (url: URL): Response => {
    const token = tokenFor();
    if (token === undefined) throw new Error('The seller has no token.');
    asked += 1;
    const amountOf = (token: Token) => {
      // The seller controls the market of its token, and sometimes changes the price.
      if (token.worth === 0n && (!market.prices.has(token.mint) || random.chance(0.1)))
        market.prices.set(token.mint, BigInt(random.pick([1_000, 100_000, 950_000])));
      const unit = 10n ** BigInt(token.decimals);
      const worth = token.worth > 0n ? token.worth : (market.prices.get(token.mint) ?? 1n);
      return (price() * unit + worth - 1n) / worth;
    };
    const memo = memoFor(url);
    const offer = (token: Token, units: bigint) => ({
      scheme: 'exact',
      network: version === 1 && !isYoung ? 'solana' : NETWORK,
      ...(version === 1 ? { maxAmountRequired: String(units) } : { amount: String(units) }),
      ...{
        asset: token.mint,
        payTo: SELLERS[(number + (terms.has('other payees') ? asked : 0)) % SELLERS.length],
        maxTimeoutSeconds: 60,
        resource: url.href,
        description: 'a thing',
        mimeType: 'text/plain',
      },
      extra: {
        feePayer: FACILITATOR,
        ...(memo === undefined ? {} : { memo }),
        // Terms of faremeter have these fields; its facilitator demands a memo.
        ...(isYoung
          ? {
              recentBlockhash: ledger.hashAt(ledger.slot() - 1),
              tokenProgram: token.program,
              features: { xSettlementAccountSupported: true },
            }
          : {}),
      },
    });
    const amount = amountOf(token);
    const others = terms.has('many tokens')
      ? ownTokens.slice(0, terms.get('many tokens')).filter((other) => other !== token)
      : [];
    const accepts = [
      ...others.map((other) => offer(other, amountOf(other))),
      offer(token, amount),
      ...(terms.has('many') ? [offer(token, amount * 2n)] : []),
    ];
    const extensions = terms.has('payment id')
      ? { 'payment-identifier': { info: { required: false } } }
      : undefined;
    const body = {
      x402Version: version,
      error: 'Payment required',
      resource: { url: url.href },
      accepts,
      ...(extensions && { extensions }),
    };
    const lasting = plan.states ? { 'cache-control': 'max-age=600' } : {};
    if (version === 1) return json(402, body, lasting);
    return json(402, {}, { 'payment-required': encode(body), ...lasting });
  };

  /**
   * Returns true if the facilitator accepts the memo of a payment. A facilitator of version 1
   * refuses a memo, and a younger version 1 facilitator demands a memo.
   */
  const isFit = (url: URL, message: Uint8Array): boolean => {
    const memo = readMessage(message).steps.find(({ program }) => program === MEMO);
    const wanted = memoFor(url);
    if (wanted !== undefined)
      return memo !== undefined && Buffer.from(memo.data).toString('utf8') === wanted;
    return version === 2 || isYoung === (memo !== undefined);
  };

  const settle = (url: URL, header: string): Settled & { readonly ms: number } => {
    const { signatures, message } = readWire(readHeader(header).bytes);
    if (!isFit(url, message)) {
      misfits.push(`${url.href} was sent a payment whose memo its seller cannot take`);
      return { said: false, id: '', ms: random.int(50, 500) };
    }
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
    if (how === 'twice')
      after(
        delay,
        () => void ledger.land(writeWire(message, [random.bytes(64), ...signatures.slice(1)])),
      );
    const went = typeof landed !== 'string' && landed.error === null;
    return {
      said: went && how !== 'denies',
      id: typeof landed === 'string' ? '' : landed.id,
      ms: random.int(300, 1_500),
    };
  };

  const paid = (url: URL, header: string): Served => {
    const { said, id, ms } = settle(url, header);
    const word = {
      'payment-response': encode({
        success: said,
        transaction: id,
        network: NETWORK,
        errorReason: said ? undefined : 'invalid_transaction',
      }),
    };
    const how: Answer | undefined =
      answers.find(({ share }) => random.chance(share))?.what ?? (said ? undefined : 'denied');
    const text =
      answered.get(header) ?? JSON.stringify({ item: itemOf(url), text: 'x'.repeat(40) });
    answered.set(header, text);
    switch (how) {
      case undefined:
        return {
          ms,
          response: new Response(streamOf(text, false), {
            status: 200,
            headers: { ...word, 'content-type': 'application/json' },
          }),
        };
      case 'bare':
        return { ms, response: new Response(text, { status: 200 }) };
      case 'breaks':
        return { ms, response: new Response(streamOf(text, true), { status: 200, headers: word }) };
      case 'error':
        return { ms, response: json(500, { error: 'broken' }, word) };
      case 'busy':
        return { ms, response: json(503, { error: 'busy' }, { ...word, 'retry-after': '1' }) };
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
            {
              'payment-response': encode({
                success: false,
                errorReason: 'settlement_pending',
                transaction: id,
                network: NETWORK,
              }),
            },
          ),
        };
      case 'redirects':
        return {
          ms,
          response: new Response(null, {
            status: 302,
            headers: { ...word, location: `https://${hostOf((number + 1) % 3)}/elsewhere` },
          }),
        };
      case 'lost':
      case 'hangs':
        return how;
    }
  };

  /** Answers a request without a payment. A redirected request is not redirected again. */
  const answer = (url: URL): Served => {
    const how: Door | undefined = !url.searchParams.has('moved')
      ? doors.find(({ share }) => random.chance(share))?.what
      : undefined;
    const ms = random.int(10, 200);
    if (how === undefined) return { ms, response: unpaid(url) };
    if (how === 'lost') return how;
    if (how === 'busy')
      return {
        ms,
        response: json(503, { error: 'busy' }, random.chance(0.5) ? { 'retry-after': '2' } : {}),
      };
    const location = `https://${hostOf((number + random.int(0, 1)) % 3)}${url.pathname}${url.search}&moved`;
    return {
      ms,
      response: new Response(null, { status: how === 'moves' ? 302 : 307, headers: { location } }),
    };
  };

  return {
    async serve(url, headers) {
      const header = paymentIn(headers);
      return header === undefined ? answer(url) : paid(url, header);
    },
    misfits,
  };
}

function json(
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  });
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64');
}

/** Makes a body in two parts; if it `breaks`, the second part never comes. */
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
