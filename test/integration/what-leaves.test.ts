import { address } from '@solana/kit';
import { memoryJournal, type ClientOptions, type CostParts, type Receipt } from 'exact-change';
import type { MintSymbol, SandboxWallet } from 'exact-change-sandbox';
import { describe, expect, it } from 'vitest';
import { listOf } from '../helpers/attempts.js';
import { buyerOf, startService, type AutoPayService } from '../helpers/auto-pay.js';
import { landed, signaturesOf, until, type ChainTransaction } from '../helpers/chain.js';
import { JOURNALS, journalOf } from '../helpers/journals.js';
import { payerOn, type Payer } from '../helpers/payer.js';
import { inChaos, unsampled } from '../helpers/sampled.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest } from '../helpers/seller.js';
import { answer, offerOf, settle, settlementHeader } from '../helpers/settling.js';
import { timesSpent } from '../helpers/spends.js';
import { microUsd, worth } from '../helpers/worth.js';

// A failed swap is tried once more when its block is finalized, 32 slots later.
const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });

const DOLLAR = 10n ** 12n;
const SYMBOLS: readonly MintSymbol[] = ['SOL', 'USDC', 'USDT', 'PYUSD', 'BONK'];
const PLACES = [...JOURNALS, 'memory, by quotes of a service'] as const;

/** Returns the options for a journal at this place. */
async function placed(kind: (typeof PLACES)[number]): Promise<ClientOptions> {
  if (kind !== 'memory, by quotes of a service') return { journal: await journalOf(kind) };
  const service = await startService(sandbox, memoryJournal());
  return { journal: memoryJournal(), apiUrl: service.url };
}

/**
 * Starts a seller that asks for a new token of its own on each call, with a market that pays the
 * seller. It refuses every payment.
 */
async function greedySeller(dollars: number) {
  const own = address((await sandbox.createWallet({ SOL: '0.1' })).address);
  let calls = 0;
  const terms = async () => {
    const decimals = [0, 6, 9][(calls += 1) % 3] ?? 0;
    const price = BigInt(Math.round(dollars * 1e6)) * (DOLLAR / 1_000_000n);
    const wholeToken = 10n ** BigInt(decimals);
    // A base unit costs a whole number of picodollars.
    const amount = wholeToken < price ? wholeToken : price;
    const mint = await sandbox.createMint({
      decimals,
      authority: own,
      proceedsTo: own,
      picoUsd: price / amount,
    });
    await sandbox.chain.fundToken(own, mint, 0n);
    return offerOf(sandbox, { asset: mint.address, payTo: own, amount: String(amount) });
  };
  const seller = await sellerOfTest((request, response) => {
    if (isPaid(request)) return answer(response, 402, {});
    terms().then(
      (offer) => answerTerms(response, { x402Version: 2, accepts: [offer] }),
      () => request.socket.destroy(),
    );
  });
  return seller.url;
}

/** Starts a seller that settles its payments in USDC to the merchant. */
async function honestSeller(amount: string): Promise<string> {
  const seller = await sellerOfTest((request, response) => {
    if (!isPaid(request))
      return answerTerms(response, { x402Version: 2, accepts: [offerOf(sandbox, { amount })] });
    settle(sandbox, request).then(
      (settled) =>
        answer(response, settled.success ? 200 : 402, {}, settlementHeader({ ...settled })),
      () => request.socket.destroy(),
    );
  });
  return seller.url;
}

async function balancesOf(wallet: string): Promise<Record<MintSymbol, bigint>> {
  const entries = await Promise.all(
    SYMBOLS.map(async (symbol) => [symbol, await sandbox.balance(wallet, symbol)] as const),
  );
  // The entries have a value for each symbol.
  return Object.fromEntries(entries) as Record<MintSymbol, bigint>;
}

/**
 * Returns a payer and a function for the worth that has left it by the chain, in picodollars.
 * Tokens that only their seller prices are worth nothing.
 */
async function watched(
  options: ClientOptions,
  funds: Partial<Record<MintSymbol, string>> = { SOL: '1', USDC: '30' },
) {
  const payer = await payerOn(sandbox, funds, { autoSwap: true, ...options });
  const given = worth(sandbox, await balancesOf(payer.address));
  return { ...payer, left: async () => given - worth(sandbox, await balancesOf(payer.address)) };
}

type Watched = Awaited<ReturnType<typeof watched>>;

/** Expects every cap in dollars to hold, and to count no less than what left. */
async function expectWithinCaps({ client, left }: Watched): Promise<bigint> {
  const gone = await left();
  for (const { cap, limit, used, unit } of await client.spent()) {
    if (unit !== 'USD') continue;
    expect([cap, gone <= microUsd(limit) * 1_000_000n]).toEqual([cap, true]);
    expect([cap, used, microUsd(used) * 1_000_000n >= gone]).toEqual([cap, used, true]);
  }
  return gone;
}

const outcomeOf = (call: Promise<Response>) =>
  call.then(
    ({ status }) => String(status),
    (error: unknown) => String(Reflect.get(Object(error), 'code')),
  );
const swaps = ({ signed }: Payer) => signed.filter(({ kind }) => kind === 'swap').length;

/** Returns the transactions that a wallet paid for: its swaps, the failed swaps too. */
async function swapsOf(wallet: string): Promise<readonly ChainTransaction[]> {
  const found = await Promise.all(
    (await signaturesOf(sandbox.rpcUrl, wallet)).map((signature) =>
      landed(sandbox.rpcUrl, signature),
    ),
  );
  return found.filter(({ lamports }) => (lamports.get(wallet) ?? 0n) < 0n);
}

/** The amounts that left a wallet by the chain, and the payments that its signer saw. */
interface Gone {
  readonly picoUsd: bigint;
  readonly usdc: bigint;
  readonly lamports: bigint;
  readonly payments: bigint;
  readonly swaps: bigint;
}

type Spender = Pick<Payer, 'address'> & Partial<Pick<Payer, 'signed'>>;

async function goneFrom(
  { address: wallet, signed = [] }: Spender,
  given: Readonly<Record<MintSymbol, bigint>>,
): Promise<Gone> {
  const now = await balancesOf(wallet);
  return {
    payments: BigInt(signed.filter(({ kind }) => kind === 'payment').length),
    picoUsd: worth(sandbox, given) - worth(sandbox, now),
    usdc: given.USDC - now.USDC,
    lamports: given.SOL - now.SOL,
    swaps: BigInt((await swapsOf(wallet)).length),
  };
}

type CapRow = readonly [
  what: string,
  policy: ClientOptions['policy'],
  most: bigint,
  leftBy: (gone: Gone) => bigint,
];

const CAPS: readonly CapRow[] = [
  ['dollars in an hour', { maxPerHour: '1.20' }, (12n * DOLLAR) / 10n, ({ picoUsd }) => picoUsd],
  [
    'dollars in a minute',
    { limits: [{ usd: '1.20', per: 'minute' }] },
    (12n * DOLLAR) / 10n,
    ({ picoUsd }) => picoUsd,
  ],
  [
    'dollars to a payee',
    { limits: [{ usd: '1.20', per: 'day', payee: '*' }] },
    (12n * DOLLAR) / 10n,
    ({ picoUsd }) => picoUsd,
  ],
  [
    'base units of the sold token',
    { limits: [{ amount: '500000', mint: 'USDC', per: 'day' }] },
    500_000n,
    ({ usdc }) => usdc,
  ],
  [
    'lamports',
    { limits: [{ lamports: 5_000_000n, per: 'total' }] },
    5_000_000n,
    ({ lamports }) => lamports,
  ],
  ['payments', { limits: [{ payments: 2, per: 'hour' }] }, 2n, ({ payments }) => payments],
  ['swaps', { limits: [{ swaps: 2, per: 'hour' }] }, 2n, ({ swaps: made }) => made],
];

/** Caps with room for some fees only. */
const CAPS_ON_FEES: readonly CapRow[] = [
  ['lamports in a day', { maxLamportsPerDay: 20_000n }, 20_000n, ({ lamports }) => lamports],
  ['dollars', { maxTotal: '0.025' }, (25n * DOLLAR) / 1_000n, ({ picoUsd }) => picoUsd],
  ['swaps', { limits: [{ swaps: 5, per: 'hour' }] }, 5n, ({ swaps: made }) => made],
  [
    'lamports in an hour',
    { limits: [{ lamports: 20_000n, per: 'hour' }] },
    20_000n,
    ({ lamports }) => lamports,
  ],
];

/** Caps on a single payment: with too little room for 20 cents and their swap, and with enough. */
const CAPS_OF_ONE: readonly (readonly [
  what: string,
  policy: (most: bigint) => ClientOptions['policy'],
  room: readonly [tooLittle: bigint, enough: bigint],
  leftBy: (gone: Gone) => bigint,
])[] = [
  [
    'base units of the sent token',
    (most) => ({ maxAmount: { USDC: most } }),
    [190_000n, 210_000n],
    ({ usdc }) => usdc,
  ],
  [
    'dollars',
    (cents) => ({ maxPerPayment: `0.${cents}` }),
    [30n, 60n],
    ({ picoUsd }) => picoUsd / (DOLLAR / 100n),
  ],
  [
    'lamports',
    (most) => ({ limits: [{ lamports: most, per: 'payment' }] }),
    [2_000_000n, 2_500_000n],
    ({ lamports }) => lamports,
  ],
  [
    'base units of the sold token',
    (most) => ({ limits: [{ amount: most, mint: 'USDC', per: 'payment' }] }),
    [190_000n, 210_000n],
    ({ usdc }) => usdc,
  ],
];

/**
 * Runs each row at one place, and in `npm test` some rows at another. The contract of journals shows
 * that every journal counts alike.
 */
function inPlace<T>(
  rows: readonly T[],
  kind: (typeof PLACES)[number],
  places: readonly (typeof PLACES)[number][] = PLACES,
): readonly T[] {
  const turn = places.indexOf(kind);
  return rows.filter((_, index) =>
    inChaos ? turn === (index + 2) % places.length : (index + turn) % 6 === 0,
  );
}

/** Returns a fetch that sends every name under .example to the same seller. */
function netOf(seller: string): typeof fetch {
  return async (input, init) => {
    const { host, pathname } = new URL(input instanceof Request ? input.url : input);
    if (!host.endsWith('.example')) return fetch(input, init);
    const response = await fetch(seller + pathname, init);
    return new Response(response.body, response);
  };
}

/** Makes each swap fail when it lands. Returns a check that the client reported its true cost. */
function failsSwaps({ client }: Payer, times = Infinity): () => Promise<void> {
  const { aggregator } = sandbox.controls;
  const told: { readonly signature: string; readonly cost?: Receipt['cost'] }[] = [];
  client.on('swap.signed', () => {
    if (told.length < times) aggregator.setVenue({ deviationBps: 80 });
  });
  client.on('swap.failed', (event) => {
    told.push(event);
    aggregator.setVenue({});
  });
  return async () => {
    expect(told.length).toBeGreaterThan(0);
    for (const { signature, cost } of told) {
      const { fee } = await landed(sandbox.rpcUrl, signature);
      const usd = cost?.usd ?? '';
      expect(cost).toEqual({
        ...{
          usd,
          parts: { payments: '0', swaps: '0', fees: usd },
          networkFeeLamports: fee.toString(),
          rentLamports: '0',
        },
      });
      expectWorth(usd, fee * sandbox.mints.SOL.picoUsd);
    }
  };
}

/**
 * Expects that counted dollars cover the true worth. Tokens other than dollars may count up to 1 %
 * above their worth, and each of a few swaps is rounded up.
 */
function expectWorth(usd: string, pico: bigint, soft = pico): void {
  const above = microUsd(usd) * 1_000_000n - pico;
  expect([usd, above >= 0n, above <= soft / 100n + 6_000_000n]).toEqual([usd, true, true]);
}

describe.each(PLACES)('a seller with a new token on each call, over a journal in %s', (kind) => {
  const atOnce = inChaos ? 30 : 12;

  it.each(inPlace(['call by call'], kind))(
    'gets no more than the default caps allow in a day, %s',
    async () => {
      const payer = await watched(await placed(kind));
      const url = await greedySeller(inChaos ? 0.2 : 0.6);
      const outcomes: string[] = [];
      for (
        let call = 0;
        call < 30 && outcomes[outcomes.length - 1] !== 'budget_exhausted';
        call += 1
      ) {
        outcomes.push(await outcomeOf(payer.client.fetch(`${url}/${call}`)));
        await expectWithinCaps(payer);
      }
      // The caps let the seller in, and then stopped it.
      expect(outcomes).toContain('payment_rejected');
      expect(outcomes.slice(-1)).toEqual(['budget_exhausted']);
      expect(await expectWithinCaps(payer)).toBeGreaterThan(5n * DOLLAR);
    },
  );

  it.each(
    inPlace<[what: string, dollars: number, policy: ClientOptions['policy']]>(
      [
        ['dust, with the caps as they are', 0.000001, {}],
        ['dust, under maxTotal of a dollar', 0.000001, { maxTotal: '1.00' }],
        ['30 cents, under maxTotal of a dollar', 0.3, { maxTotal: '1.00' }],
        [
          '30 cents, under 2 dollars an hour for each host',
          0.3,
          { limits: [{ usd: '2', per: 'hour', host: '*' }] },
        ],
        ['30 cents, under 2 dollars for its host', 0.3, { maxPerHost: { '127.0.0.1': '2' } }],
      ],
      kind,
    ),
  )(
    `gets no more than the caps allow from ${atOnce} calls at once: %s`,
    async (_, dollars, policy) => {
      const payer = await watched({ ...(await placed(kind)), policy });
      const url = await greedySeller(dollars);
      await Promise.all(
        Array.from({ length: atOnce }, (__, call) =>
          outcomeOf(payer.client.fetch(`${url}/${call}`)),
        ),
      );
      await until(
        'what is under way has ended',
        async () => (await payer.client.resume().then(() => true)) || undefined,
      );
      await expectWithinCaps(payer);
      expect(swaps(payer)).toBeGreaterThan(0);
    },
  );

  it.each(
    inPlace<[calls: number, dollars: number]>(
      [[12, 0.6], ...(inChaos ? [[30, 0.05] as [number, number]] : [])],
      kind,
    ),
  )(
    'gets no more than the caps allow from %d calls at once to different hosts: %d dollars',
    async (calls, dollars) => {
      const url = await greedySeller(dollars);
      const payer = await watched({ ...(await placed(kind)), fetch: netOf(url) });
      const outcomes = await Promise.all(
        Array.from({ length: calls }, (_, call) =>
          outcomeOf(payer.client.fetch(`https://shop-${call}.example/${call}`)),
        ),
      );
      expect(new Set(outcomes)).toEqual(new Set(['payment_rejected', 'budget_exhausted']));
      expect(await expectWithinCaps(payer)).toBeGreaterThan(5n * DOLLAR);
    },
  );

  it.each(inPlace(['with a total cap', 'without a total cap'] as const, kind))(
    'gets no more than a cap for each host allows, %s',
    async (what) => {
      const url = await greedySeller(0.2);
      const whole = what === 'without a total cap' ? {} : { maxTotal: '2.20' };
      const policy = { ...whole, limits: [{ usd: '1.20', per: 'hour', host: '*' }] } as const;
      const payer = await watched({ ...(await placed(kind)), policy, fetch: netOf(url) });
      const refused = new Set<string>();
      for (const host of ['one.example', 'two.example', 'three.example']) {
        const before = await payer.left();
        for (let call = 0; call < 3; call += 1)
          refused.add(`${host} ${await outcomeOf(payer.client.fetch(`https://${host}/${call}`))}`);
        const gone = (await payer.left()) - before;
        const [row] = (await payer.client.spent()).filter((cap) => cap.host === host);
        expect([
          host,
          gone <= (12n * DOLLAR) / 10n,
          microUsd(row?.used ?? '0') * 1_000_000n >= gone,
        ]).toEqual([host, true, true]);
        expect(refused).toContain(`${host} budget_exhausted`);
      }
      expect(refused).toContain('one.example payment_rejected');
      expect(refused.has('three.example payment_rejected')).toBe(what === 'without a total cap');
      const total = await payer.left();
      expect(total <= (22n * DOLLAR) / 10n).toBe(what !== 'without a total cap');
    },
  );

  it.each(inPlace(CAPS, kind))(
    'gets no more than a cap on %s allows',
    async (_, policy, most, leftBy) => {
      const payer = await watched({ ...(await placed(kind)), swapFrom: ['USDC'], policy });
      const given = await balancesOf(payer.address);
      const url = await greedySeller(0.2);
      const outcomes = await Promise.all(
        Array.from({ length: 6 }, (__, call) => outcomeOf(payer.client.fetch(`${url}/${call}`))),
      );
      const gone = leftBy(await goneFrom(payer, given));
      expect(gone).toBeGreaterThan(0n);
      expect(gone).toBeLessThanOrEqual(most);
      // The caps let the seller in, and then stopped it.
      expect(new Set(outcomes)).toEqual(new Set(['payment_rejected', 'budget_exhausted']));
      await expectWithinCaps(payer);
    },
  );

  it.each(inPlace(CAPS_OF_ONE, kind))(
    'gets no more than a cap on %s of a single payment allows',
    async (_, policyOf, room, leftBy) => {
      const url = await greedySeller(0.2);
      const outcomes: string[] = [];
      for (const most of room) {
        const payer = await watched({
          ...(await placed(kind)),
          swapFrom: ['USDC'],
          policy: policyOf(most),
        });
        const given = await balancesOf(payer.address);
        outcomes.push(await outcomeOf(payer.client.fetch(url)));
        const gone = await goneFrom(payer, given);
        expect([most, leftBy(gone) <= most, gone.swaps]).toEqual([
          most,
          true,
          most === room[1] ? 1n : 0n,
        ]);
        await expectWithinCaps(payer);
      }
      expect(outcomes).toEqual(['amount_over_limit', 'payment_rejected']);
    },
  );
});

const withFees = <P extends (typeof PLACES)[number]>(places: readonly P[]): readonly P[] =>
  places.filter((kind) => inPlace(CAPS_ON_FEES, kind, places).length > 0);

describe.each(withFees(PLACES))('failing swaps over a journal in %s', (kind) => {
  it.each(inPlace(CAPS_ON_FEES, kind))(
    'burn no more than a cap on %s allows, and all of it is counted and reported',
    async (_, policy, most, leftBy) => {
      const payer = await watched(
        { ...(await placed(kind)), policy },
        { SOL: '1', USDC: '30', USDT: '0.001' },
      );
      const given = await balancesOf(payer.address);
      const asTold = failsSwaps(payer);
      const outcomes: string[] = [];
      for (
        let call = 0;
        call < 60 && outcomes[outcomes.length - 1] !== 'budget_exhausted';
        call += 1
      ) {
        outcomes.push(await outcomeOf(payer.client.fetch(`${sandbox.apiUrl}/usdt?n=${call}`)));
      }
      expect(new Set(outcomes)).toEqual(new Set(['swap_failed', 'budget_exhausted']));
      const gone = await goneFrom(payer, given);
      expect(leftBy(gone)).toBeGreaterThan(0n);
      expect(leftBy(gone)).toBeLessThanOrEqual(most);
      // Only fees left the wallet, and all of them are counted.
      const spent = await payer.client.spent();
      const used = (unit: string) =>
        spent.filter((cap) => cap.unit === unit).map((cap) => cap.used);
      expect([gone.picoUsd, gone.payments, new Set(used('lamports'))]).toEqual([
        gone.lamports * sandbox.mints.SOL.picoUsd,
        0n,
        new Set([gone.lamports.toString()]),
      ]);
      expect(used('swaps').every((amount) => amount === gone.swaps.toString())).toBe(true);
      await asTold();
      await expectWithinCaps(payer);
    },
  );
});

/**
 * Signs and presents each step that a service plans for a purchase. Resolves with the last state or
 * code of the service.
 */
async function buyAt(
  service: AutoPayService,
  wallet: SandboxWallet,
  url: string,
  lands?: () => void,
): Promise<string> {
  const buyer = await buyerOf(wallet, url);
  let answer = await buyer.post(service);
  for (let step = 0; step < 10; step += 1) {
    const { swap, payment, header, state, code } = answer.body;
    if (header !== undefined) return String((await buyer.present(answer)).status);
    const signed =
      swap !== undefined
        ? { signedSwap: await buyer.sign(swap.transaction) }
        : payment !== undefined
          ? { signedPayment: await buyer.sign(payment.transaction) }
          : undefined;
    if (signed === undefined) return code ?? state;
    lands?.();
    answer = await until('the service has decided', async () => {
      const next = await buyer.post(service, signed);
      return next.body.state === 'swap_submitted' ? undefined : next;
    });
  }
  return 'too many steps';
}

describe.each(JOURNALS)(
  'a seller with a new token on each call, at a service with a journal in %s',
  (kind) => {
    type Row = readonly [name: string, dollars: bigint, policy: ClientOptions['policy']];
    const total: Row = ['maxTotal of a dollar', 1n, { maxTotal: '1.00' }];
    const number: Row = ['two swaps an hour', 2n, { limits: [{ swaps: 2, per: 'hour' }] }];
    // This takes some forty purchases.
    const day: Row = ['the caps as they are', 10n, {}];
    const isFile = kind === 'file';
    const sample = isFile ? [total, number] : [total];
    it.each(inChaos ? [isFile ? day : number] : sample)(
      'gets no more than the caps allow, under %s',
      async (_, dollars, policy) => {
        const wallet = await sandbox.createWallet({ SOL: '1', USDC: '30' });
        const service = await startService(sandbox, await journalOf(kind), { policy });
        const given = worth(sandbox, await balancesOf(wallet.address));
        const url = await greedySeller(0.3);
        const outcomes: string[] = [];
        for (let call = 0; call < 40 && !outcomes.includes('budget_exhausted'); call += 1) {
          outcomes.push(await buyAt(service, wallet, `${url}/${call}`));
          expect(given - worth(sandbox, await balancesOf(wallet.address))).toBeLessThanOrEqual(
            dollars * DOLLAR,
          );
        }
        // The caps let the seller in, and then stopped it.
        expect(outcomes).toContain('402');
        expect(outcomes.slice(-1)).toEqual(['budget_exhausted']);
      },
    );
  },
);

describe.each(withFees(JOURNALS))('failing swaps at a service with a journal in %s', (kind) => {
  it.each(inPlace(CAPS_ON_FEES, kind, JOURNALS))(
    'burn no more than a cap on %s allows',
    async (_, policy, most, leftBy) => {
      const wallet = await sandbox.createWallet({ SOL: '1', USDC: '30', USDT: '0.001' });
      const service = await startService(sandbox, await journalOf(kind), { policy });
      const given = await balancesOf(wallet.address);
      const outcomes: string[] = [];
      for (let call = 0; call < 60 && !outcomes.includes('budget_exhausted'); call += 1) {
        sandbox.controls.aggregator.setVenue({});
        const fails = () => sandbox.controls.aggregator.setVenue({ deviationBps: 80 });
        outcomes.push(await buyAt(service, wallet, `${sandbox.apiUrl}/usdt?n=${call}`, fails));
      }
      const gone = await goneFrom({ address: wallet.address }, given);
      expect([outcomes.slice(-1), new Set(outcomes).size]).toEqual([['budget_exhausted'], 2]);
      expect([leftBy(gone) > 0n, leftBy(gone) <= most, gone.picoUsd]).toEqual([
        true,
        true,
        gone.lamports * sandbox.mints.SOL.picoUsd,
      ]);
    },
  );
});

describe('swaps for payments', () => {
  it('burn no more lamports than a cap allows while SOL has no price', async () => {
    for (const dollar of ['USDC', 'USDT'] as const)
      sandbox.controls.aggregator.noRoute('SOL', dollar);
    // The default cap takes some thirty purchases to fill.
    const [cap, policy] = inChaos
      ? [50_000_000n, {}]
      : [5_000_000n, { maxLamportsPerDay: 5_000_000n }];
    const payer = await watched({ swapFrom: ['USDC'], policy });
    const before = await sandbox.balance(payer.address, 'SOL');
    const url = await greedySeller(0.01);
    const outcomes: string[] = [];
    for (
      let call = 0;
      call < 40 && outcomes[outcomes.length - 1] !== 'budget_exhausted';
      call += 1
    ) {
      outcomes.push(await outcomeOf(payer.client.fetch(`${url}/${call}`)));
    }
    expect(new Set(outcomes)).toEqual(new Set(['payment_rejected', 'budget_exhausted']));
    const burned = before - (await sandbox.balance(payer.address, 'SOL'));
    expect(burned).toBeGreaterThan(0n);
    expect(burned).toBeLessThanOrEqual(cap);
    const rows = await payer.client.spent();
    expect(rows.find(({ cap }) => cap === 'maxLamportsPerDay')?.used).toBe(burned.toString());
    // Fees and rent count no dollars, and the sold tokens count in full.
    const day = rows.find(({ cap }) => cap === 'maxPerDay');
    expect(day?.parts?.fees).toBe('0');
    expect(microUsd(day?.used ?? '0') * 1_000_000n).toBeGreaterThanOrEqual(
      (30_000_000n - (await sandbox.balance(payer.address, 'USDC'))) * 1_000_000n,
    );
  });
});

unsampled('swaps for payments', () => {
  it('count in parts as the chain shows them: prices, losses of swaps, fees and rent', async () => {
    const policy = { limits: [{ payments: 2, per: 'hour' }] } as const;
    const payer = await watched(
      { swapFrom: [sandbox.mints.BONK.address], policy },
      { SOL: '1', BONK: '5000000' },
    );
    const [given, paidBefore] = [
      await balancesOf(payer.address),
      await sandbox.balance(sandbox.merchant, 'USDC'),
    ];
    const url = await honestSeller('200000');
    const asTold = failsSwaps(payer, 1);
    const outcomes: string[] = [];
    for (let call = 0; call < 3; call += 1)
      outcomes.push(await outcomeOf(payer.client.fetch(`${url}/${call}`)));
    expect(outcomes).toEqual(['200', '200', 'budget_exhausted']);
    await asTold();
    const now = await balancesOf(payer.address);
    const paid = (await sandbox.balance(sandbox.merchant, 'USDC')) - paidBefore;
    const [gone, landedSwaps, times] = [
      await goneFrom(payer, given),
      await swapsOf(payer.address),
      await timesSpent(sandbox, payer, 'USDC'),
    ];
    expect([
      paid,
      times,
      landedSwaps.filter(({ error }) => error === null).length,
      gone.swaps,
    ]).toEqual([400_000n, 2, 2, 3n]);
    const spent = new Map((await payer.client.spent()).map((row) => [row.cap, row]));
    const { used = '', parts } = spent.get('maxPerDay') ?? {};
    const { payments = '', swaps: lost = '', fees = '' } = parts ?? {};
    const { SOL, USDC, BONK } = sandbox.mints;
    const sold = (given.BONK - now.BONK) * BONK.picoUsd;
    expect([microUsd(payments), microUsd(used)]).toEqual([
      paid,
      [payments, lost, fees].map(microUsd).reduce((sum, part) => sum + part),
    ]);
    expectWorth(lost, sold - (now.USDC + paid) * USDC.picoUsd, sold);
    expectWorth(fees, gone.lamports * SOL.picoUsd);
    expect([spent.get('maxLamportsPerDay')?.used, spent.get('limits[0]')?.used]).toEqual([
      gone.lamports.toString(),
      '2',
    ]);
    // Receipts show the same amounts.
    const costs = (await listOf(payer.client.receipts())).map(({ cost }) => cost.parts);
    const shown = (part: keyof CostParts) =>
      costs.reduce((sum, cost) => sum + microUsd(cost?.[part] ?? ''), 0n);
    expect([shown('payments'), shown('swaps'), shown('fees')]).toEqual(
      [payments, lost, fees].map(microUsd),
    );
    await expectWithinCaps(payer);
  });

  it('are limited in number by a cap on swaps', async () => {
    const payer = await watched({ policy: { limits: [{ swaps: 5, per: 'hour' }] } });
    const url = await greedySeller(0.01);
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, (_, call) => outcomeOf(payer.client.fetch(`${url}/${call}`))),
    );
    expect([
      swaps(payer),
      outcomes.filter((outcome) => outcome === 'budget_exhausted').length,
    ]).toEqual([5, 7]);
    await expectWithinCaps(payer);
  });

  it.each<[symbol: MintSymbol, amount: string, maxPerPayment: string]>([
    ['SOL', '3', '3'],
    ['USDT', '300', '2.9'],
  ])(
    'for all waiting payments above maxPerPayment, are made for a single payment, out of %s',
    async (symbol, amount, maxPerPayment) => {
      const PAYMENTS = 12;
      const url = await honestSeller('2500000');
      const policy = { maxPerPayment, maxPerDay: '200', maxLamportsPerDay: 10n ** 9n };
      const payer = await payerOn(
        sandbox,
        { SOL: '1', [symbol]: amount },
        { autoSwap: true, swapFrom: [symbol], policy },
      );
      const before = await balancesOf(payer.address);
      const paidBefore = await sandbox.balance(sandbox.merchant, 'USDC');
      const outcomes = await Promise.all(
        Array.from({ length: PAYMENTS }, (_, call) =>
          outcomeOf(payer.client.fetch(`${url}/${call}`)),
        ),
      );
      expect(outcomes.filter((outcome) => outcome !== '200')).toEqual([]);
      expect((await sandbox.balance(sandbox.merchant, 'USDC')) - paidBefore).toBe(
        BigInt(PAYMENTS) * 2_500_000n,
      );
      expect(swaps(payer)).toBeLessThanOrEqual(PAYMENTS);
      // The payments came from swaps, and the rest of the swapped tokens is still there.
      const receipts = await listOf(payer.client.receipts());
      const brought = receipts.reduce((sum, { swap }) => sum + BigInt(swap?.outAmount ?? 0), 0n);
      expect(await sandbox.balance(payer.address, 'USDC')).toBe(
        before.USDC + brought - BigInt(PAYMENTS) * 2_500_000n,
      );
      for (const { cost } of receipts)
        expect(microUsd(cost.usd ?? '0')).toBeLessThanOrEqual(microUsd(maxPerPayment));
      const [day] = (await payer.client.spent()).filter(({ cap }) => cap === 'maxPerDay');
      const left = worth(sandbox, before) - worth(sandbox, await balancesOf(payer.address));
      expect(microUsd(day?.used ?? '0') * 1_000_000n).toBeGreaterThanOrEqual(left);
    },
  );
});
