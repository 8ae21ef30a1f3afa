import { isExactChangeError, remote, type AutoPayRequest } from 'exact-change';
import type { MintSymbol } from 'exact-change-sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ATTACKER, MINTS, own, WALLET } from '../corpus/addresses.js';
import { keyBytes } from '../corpus/accounts.js';
import type { DirectionName } from '../corpus/bases.js';
import { FORMS } from '../corpus/forms.js';
import { hostile, type HostileCase } from '../corpus/index.js';
import {
  BALANCE,
  outcomeOf,
  PLANNED,
  preyOf,
  QUOTE,
  startStage,
  STEPWISE,
  SWAP,
  trial,
  type VictimOptions,
  type Stage,
  type ClientCall,
} from '../helpers/evil-audit.js';
import type { EvilLie, Json } from '../helpers/evil-front.js';
import {
  jsonLies,
  wireLies,
  type End,
  type Memory,
  type NamedLie,
  type WireLie,
} from '../helpers/evil-lies.js';
import type { Victim } from '../helpers/lying-service.js';
import { eachNth, inChaos, inTurn, share, unsampled } from '../helpers/sampled.js';

let stage: Stage;
let terms: string;
const memory: Memory = {};

beforeAll(async () => {
  stage = await startStage();
  terms = (await fetch(`${stage.sandbox.apiUrl}/usdc`)).headers.get('payment-required') ?? '';
  await remember();
});
afterAll(() => stage.close());

const paymentRequired = () => ({ headers: { 'payment-required': terms } });

/** Stores honest answers to another wallet, which some lies repeat. */
async function remember(): Promise<void> {
  const ask = async (path: string, body?: Json) => {
    const init =
      body === undefined
        ? {}
        : {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(body),
          };
    const answer = await fetch(`${stage.service}${path}`, init);
    expect(answer.status).toBe(200);
    return (await answer.json()) as Json; // The answer of the honest service.
  };
  const quote = await ask(
    '/api/quote?inputMint=USDT&outputMint=USDC&amount=50000&swapMode=ExactOut&slippageBps=50',
  );
  const build = await ask('/api/swap/build', { wallet: ATTACKER, quote });
  const balance = await ask(`/api/balance?wallet=${ATTACKER}&mint=USDC`);
  const autoPay = await ask('/api/x402/auto-pay', {
    wallet: ATTACKER,
    autoSwap: true,
    paymentRequired: paymentRequired(),
  });
  expect(autoPay).toMatchObject({ state: 'swap_required' });
  Object.assign(memory, { quote, build, balance, autoPay });
}

/** Returns how a call ends when the service tells a lie. */
async function end(
  way: ClientCall,
  lie: EvilLie,
  bait: Omit<VictimOptions, 'lie'> = {},
): Promise<End> {
  const { end: came, session } = await trial(stage, way, lie, bait);
  expect(session.told.length).toBeGreaterThan(0);
  // The client asks for a plan first, and the service lies about it too.
  if (way === PLANNED) expect(session.told[0]).toBe('autoPay');
  return came;
}

/** Whether a lie changes an answer that the way asks for. */
const concerns = (
  { quote, swap, asks, offer, step, balance }: EvilLie,
  { asks: places }: ClientCall,
): boolean =>
  (quote !== undefined && places.some((place) => place !== 'balance')) ||
  ((swap !== undefined || asks !== undefined) && places.includes('build')) ||
  ((offer !== undefined || step !== undefined) && places.includes('autoPay')) ||
  (balance !== undefined && places.includes('balance'));

const LIES = jsonLies(memory);
const WIRE_LIES = wireLies(() => terms);
const rows = <L extends NamedLie | WireLie>(lies: readonly L[]) =>
  lies.map((lie) => [lie.name, lie] as const);
const WAYS = [PLANNED, STEPWISE, SWAP, QUOTE, BALANCE];
/** Attacks on a built swap run for a direct swap only: a payment step by step asks the same way. */
const isToldTo = (lie: NamedLie, way: ClientCall) =>
  concerns(lie, way) && !(way === STEPWISE && lie.name.startsWith('swap attack'));
const EACH_BY_ALL_WAYS = LIES.map((lie) =>
  WAYS.filter((way) => isToldTo(lie, way)).map((way) => ({ way, lie })),
);
/**
 * Each lie is told in its first way, and in one of the others in turn, because they share their
 * checks. `npm test` runs a sixteenth of the lies, each by one way in turn.
 */
const TOLD = share(
  EACH_BY_ALL_WAYS.flatMap(([first, ...others], turn) => [
    ...(first === undefined ? [] : [first]),
    ...inTurn(others, turn),
  ]),
  eachNth(EACH_BY_ALL_WAYS, 16).flatMap((ways, turn) => inTurn(ways, turn)),
);
const toldTo = (way: ClientCall) =>
  rows(TOLD.filter((told) => told.way === way).map(({ lie }) => lie));

it('tests at least forty lies with distinct names', () => {
  const names = [...LIES, ...WIRE_LIES].map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThanOrEqual(40);
});

describe.concurrent('an honest service', () => {
  it.each(inChaos ? [PLANNED] : WAYS)('serves $name', async (way) => {
    const { end: came, session } = await trial(stage, way, {});
    expect([came, session.calls.length > 0, session.told]).toEqual(['done', true, []]);
  });
});

describe.concurrent('a lying service that plans a payment', () => {
  it.each(toldTo(PLANNED))('gets nothing beyond the terms: %s', async (_name, lie) => {
    expect(await end(PLANNED, lie)).toBe(lie.end);
  });
});

describe.concurrent('a lying service for a payment step by step', () => {
  it.each(toldTo(STEPWISE))('gets nothing beyond the terms: %s', async (_name, lie) => {
    expect(await end(STEPWISE, lie)).toBe(lie.end);
  });
});

describe.concurrent('a lying service for client.swap', () => {
  it.each(toldTo(SWAP))('gets nothing beyond the request: %s', async (_name, lie) => {
    expect(await end(SWAP, lie)).toBe(lie.swapEnd ?? lie.end);
  });
});

// A quote or a balance is only shown: no payment follows from it.
describe.concurrent.each([QUOTE, BALANCE].filter((way) => toldTo(way).length > 0))(
  'a lying service for $name',
  (way) => {
    it.each(toldTo(way))('gets no signature: %s', async (_name, lie) => {
      await end(way, lie);
    });
  },
);

/**
 * A lie is in every answer for a payment, and each third lie is only in its plan too. A plan is a
 * hint, so a wrong plan does not stop the payment.
 */
const IN = ['every answer', 'its plan'] as const;
const EACH_IN_ALL = WIRE_LIES.map((lie, turn) =>
  IN.slice(0, turn % 3 === 0 ? 2 : 1).map((place) => [lie.name, place, lie] as const),
);
const TOLD_ON_WIRE = share(
  EACH_IN_ALL.flat(),
  eachNth(EACH_IN_ALL, 8).flatMap((places, turn) => inTurn(places, turn)),
);
const wireRows = (slow: boolean) =>
  TOLD_ON_WIRE.filter(([, , lie]) => (lie.slow === true) === slow);
const placeOf = (place: (typeof IN)[number]): Omit<VictimOptions, 'lie'> =>
  place === 'its plan' ? { at: ['autoPay'] } : {};

describe.concurrent('a service that lies on the wire', () => {
  it.each(wireRows(false))(
    'gets nothing beyond the terms: %s, in %s',
    async (_name, place, lie) => {
      expect(await end(PLANNED, lie, placeOf(place))).toBe(
        place === 'its plan' || lie.harmless === true ? 'done' : 'refused',
      );
    },
  );
});

/** Returns the hostile transaction with the victim's accounts instead of the corpus's. */
function against({ transaction }: HostileCase, { wallet, own: accounts }: Victim): unknown {
  if (!(transaction instanceof Uint8Array)) return transaction;
  const pairs = [
    [WALLET, wallet],
    [own(MINTS.usdc), accounts.USDC],
    [own(MINTS.usdt), accounts.USDT],
    [own(MINTS.wsol), accounts.SOL],
    [own(MINTS.pyusd), accounts.PYUSD],
    [own(MINTS.bonk), accounts.BONK],
  ] as const;
  return pairs
    .reduce((bytes, [from, to]) => {
      for (let at = bytes.indexOf(keyBytes(from)); at >= 0; at = bytes.indexOf(keyBytes(from)))
        bytes.set(keyBytes(to), at);
      return bytes;
    }, Buffer.from(transaction))
    .toString('base64');
}

const SIDES: Readonly<Partial<Record<DirectionName, readonly [MintSymbol, MintSymbol]>>> = {
  ...{
    'usdc-usdt': ['USDC', 'USDT'],
    'sol-usdc': ['SOL', 'USDC'],
    'usdc-sol': ['USDC', 'SOL'],
    'usdc-pyusd': ['USDC', 'PYUSD'],
  },
  ...{ 'wsol-usdc': ['SOL', 'USDC'], 'usdc-wsol': ['USDC', 'SOL'] },
};
/** An attack for each rule of each family. */
const ATTACKS = [
  ...new Map(
    hostile
      .filter(({ accounts }) => accounts === undefined)
      .map((hostileCase) => [`${hostileCase.family}/${hostileCase.rule}`, hostileCase]),
  ).values(),
];

describe('a service that builds the hostile swaps of the corpus', () => {
  const families = [...new Set(ATTACKS.map(({ family }) => family))];
  it.each(share(families, eachNth(families, 4)))('gets no signature: %s', async (family) => {
    let attack: HostileCase | undefined;
    const lie: EvilLie = {
      swap: (swap, { victim }) =>
        attack === undefined ? swap : { ...swap, transaction: against(attack, victim) },
    };
    const { sandbox, front } = stage;
    const prey = await preyOf(sandbox, front, { lie });
    await sandbox.chain.fundToken(prey.estate.wallet, sandbox.mints.USDC, 200_000_000n);
    sandbox.chain.fundSol(prey.estate.wallet, 2_000_000_000n);
    const before = sandbox.chain.account(prey.estate.wallet);
    try {
      for (const hostileCase of ATTACKS.filter((candidate) => candidate.family === family)) {
        attack = hostileCase;
        const { id, direction, form, expected } = hostileCase;
        const [inputMint, outputMint] = SIDES[direction] ?? ['USDC', 'USDT'];
        const exactIn = FORMS[form].mode === 'ExactIn';
        const amount = exactIn ? expected.maxIn : expected.minOut;
        const swapMode = exactIn ? 'ExactIn' : 'ExactOut';
        const outcome = await outcomeOf(
          prey.client.swap({ inputMint, outputMint, amount, swapMode }),
        );
        const error = 'error' in outcome ? outcome.error : undefined;
        expect({ id, typed: isExactChangeError(error) }).toEqual({
          id,
          typed: true,
        });
        expect({ id, error, signed: prey.signed }).toMatchObject({
          id,
          error: { funds: 'untouched' },
          signed: [],
        });
      }
      expect(prey.session.faults).toEqual([]);
      expect(prey.session.told).toContain('build');
      expect(sandbox.chain.account(prey.estate.wallet)).toEqual(before);
    } finally {
      await prey.close();
    }
  });
});

/** Long enough for a prompt answer on a busy machine, in milliseconds. */
const SOON_MS = 5_000;

describe.concurrent('a service with an answer that only a timeout ends', () => {
  const options = { ...PLANNED.bait?.options, timeouts: { service: SOON_MS } };

  it.each(wireRows(true))('gets nothing beyond the terms: %s, in %s', async (_name, place, lie) => {
    expect(await end(PLANNED, lie, { ...placeOf(place), options })).toBe(
      place === 'its plan' ? 'done' : 'refused',
    );
  });
});

unsampled('an interceptor that replaces the global fetch', () => {
  const chosen = [...LIES, ...WIRE_LIES].filter(({ name }) =>
    /^(?:other payTo|asks to be paid|302|sets cookies$)/.test(name),
  );
  const way: ClientCall = { ...PLANNED, call: ({ wares }) => fetch(wares) };

  it.each(chosen.map((lie) => [lie.name, lie] as const))(
    'loses nothing: %s',
    async (_name, lie) => {
      const expected = 'end' in lie ? lie.end : lie.harmless === true ? 'done' : 'refused';
      expect(await end(way, lie, { installed: true })).toBe(expected);
    },
  );
});

describe('a caller that asks for single steps of a payment', () => {
  const steps = (request: Partial<AutoPayRequest> = {}): ClientCall => ({
    ...{ name: 'a step of a payment', aim: 'question', asks: ['autoPay'] },
    call: ({ estate, session }) =>
      remote(session.url).autoPay({
        ...{ paymentRequired: paymentRequired(), wallet: estate.wallet, autoSwap: true },
        ...request,
      }),
  });

  const inSteps = rows(LIES.filter(({ asks, offer, step }) => asks ?? offer ?? step));
  it.each(share(inSteps, eachNth(inSteps, 3)))('gets no signature: %s', async (_name, lie) => {
    await end(steps(), lie);
  });

  it('refuses a claim about money before it has posted any signed bytes', async () => {
    const claims = WIRE_LIES.filter(({ name }) => name.startsWith('claims'));
    const ends = await Promise.all(claims.map((lie) => end(steps(), lie)));
    expect([...new Set(ends)]).toEqual(['refused']);
  });
});

it('causes no request beyond the endpoints of the service', () => {
  expect(stage.front.strays).toEqual([]);
});
