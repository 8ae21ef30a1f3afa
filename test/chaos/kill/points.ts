import type { Moment } from './task.js';

/**
 * A purchase with the kills of its process and of the processes that resume it. The process after
 * the last kill lives.
 */
export interface Point {
  readonly name: string;
  /** `held`: the wallet holds the price. `swap`: the wallet holds only SOL. */
  readonly wallet: 'held' | 'swap';
  readonly method: 'GET' | 'POST';
  /** The call has an idempotency key. */
  readonly keyed: boolean;
  readonly kills: readonly Kill[];
  /** The seller recognizes a payment by its id, and repeats its answer. */
  readonly identified: boolean;
  /** The surviving process calls without `resume()` first. */
  readonly unresumed: boolean;
  /** The call is repeated after it succeeded or was reported as paid. */
  readonly thrice: boolean;
}

export interface Kill extends Moment {
  /** Every blockhash expires before the next process begins. */
  readonly expire?: boolean;
  /** Milliseconds until transactions of this process are confirmed. */
  readonly confirmationMs?: number;
}

type Form = 'GET' | 'POST' | 'keyed GET' | 'keyed POST';
const FORMS: readonly Form[] = ['GET', 'POST', 'keyed GET', 'keyed POST'];

type More = Partial<Pick<Point, 'identified' | 'unresumed' | 'thrice'>>;

/** A kill at the count-th time that the call passes the edge. */
const at = (edge: string, count = 1, more: Pick<Kill, 'expire' | 'confirmationMs'> = {}): Kill => ({
  step: 'call',
  edge,
  count,
  ...more,
});
const inResume = (edge: string, count = 1): Kill => ({ step: 'resume', edge, count });

const around = (...names: readonly string[]) =>
  names.flatMap((name) => [`${name} before`, `${name} after`]);
const inTurn = <T>(list: readonly T[], index: number): T => list[index % list.length]!;

function point(
  wallet: Point['wallet'],
  form: Form,
  kills: readonly Kill[],
  more: More = {},
): Point {
  const { identified = false, unresumed = false, thrice = false } = more;
  const name = [
    `${wallet}, ${form}: ${kills.map(nameOf).join(', then ')}`,
    ...(identified ? ['with a payment id'] : []),
    ...(unresumed ? ['without resume()'] : []),
    ...(thrice ? ['called three times'] : []),
  ].join('; ');
  const method = form.endsWith('GET') ? 'GET' : 'POST';
  return {
    name,
    wallet,
    method,
    keyed: form.startsWith('keyed'),
    kills,
    identified,
    unresumed,
    thrice,
  };
}

function nameOf({ step, edge, count, expire, confirmationMs }: Kill): string {
  return [
    ...(step === 'resume' ? ['resume()'] : []),
    edge,
    ...(count === 1 ? [] : [`(${count})`]),
    ...(confirmationMs === undefined ? [] : ['confirmed late']),
    ...(expire === true ? ['expired'] : []),
  ].join(' ');
}

const SLOWLY = { confirmationMs: 1_000 };
/** The next process begins before the transaction is processed. */
const IN_FLIGHT = { confirmationMs: 10_000 };

// A killed process leaves what is on disk and what its peers know. So of edges between which
// neither changes, such as those around a read or a sync, one is here.

const UNSIGNED = [
  'seller unpaid after',
  'rpc getMultipleAccounts after',
  'event payment.chosen',
  'journal reserve after',
  'signer payment after',
  'journal put signed before',
];

/** Edges with the payment on record and its answer not: delivery needs an answer read in full. */
const SIGNED = [
  'journal put signed after',
  ...around('seller paid'),
  'caller answered',
  'caller half read',
  'journal put answered before',
];
/** The payment has not left; it has settled, and the seller has answered. */
const [BEFORE_SENDING, AFTER_ANSWER] = ['journal put signed after', 'caller half read'];

/**
 * Edges with the answer on record, or almost. Once it is on record, an equal call without a key is
 * a new purchase.
 */
const ANSWERED = [
  'event payment.answered',
  'journal put answered after',
  'caller read',
  ...around('journal put settled'),
];

const SWAPPING = [
  'jupiter quote after',
  'rpc simulateTransaction after',
  'journal raise after',
  'signer swap after',
  'journal put swap after',
  'rpc sendTransaction after',
  'rpc getTransaction after',
  'event swap.confirmed',
];

const AFTER_SWAP = [
  'signer payment after',
  'journal put signed after',
  'seller paid after',
  'caller half read',
];

/** Edges of a new journal: it is made as a draft, linked, and the process takes its seat. */
const MAKING = [
  'disk create draft after',
  'disk write header torn',
  'disk sync header before',
  'disk link journal after',
  'disk unlink draft after',
  'disk write seat torn',
];

/** A write that is cut off, and a write that is complete. */
const writing = (content: string) => [`disk write ${content} torn`, `disk write ${content} after`];

/** Edges of a rewrite: closed attempts go to the history, and the journal is written again. */
const REWRITING = [
  ...['disk write lock after', 'disk create history after', 'disk write history torn'],
  'disk sync history before',
  'disk create copy after',
  ...['disk write all anew torn', 'disk sync all anew before'],
  ...writing('sealed'),
  'disk rename journal after',
].map((edge) => at(edge));

/** Ways in which a killed process leaves a payment for the next process. */
const UNSENT = at('journal put signed after');
const EXPIRED = at('journal put signed after', 1, { expire: true });
const SETTLED = at('seller paid after');
const RESERVED = at('signer payment before');
const SWAP_UNSENT = at('journal put swap after');
const SWAP_EXPIRED = at('journal put swap after', 1, { expire: true });
const SWAPPED = at('event swap.confirmed');

const again = (
  wallet: Point['wallet'],
  first: Kill,
  form: Form,
  seconds: readonly Kill[],
  more?: More,
) => seconds.map((second) => point(wallet, form, [first, second], more));

/** Edges before an answer can be on record as delivered, and edges after it surely is. */
export const undelivered: readonly string[] = [...SIGNED, 'event payment.answered'];
export const delivered: readonly string[] = ['journal put answered after', 'caller read'];

/** Every point, grouped by the work that the kill interrupts. */
export const points = {
  unsigned: [
    ...UNSIGNED.map((edge, index) => point('held', inTurn(FORMS, index), [at(edge)])),
    ...FORMS.map((form) => point('held', form, [RESERVED], { unresumed: true })),
  ],
  signed: [
    ...[BEFORE_SENDING, AFTER_ANSWER].flatMap((edge) =>
      FORMS.map((form) => point('held', form, [at(edge)], { thrice: form.endsWith('POST') })),
    ),
    ...SIGNED.filter((edge) => edge !== BEFORE_SENDING && edge !== AFTER_ANSWER).map(
      (edge, index) => point('held', inTurn(FORMS, index), [at(edge)]),
    ),
    ...(['GET', 'keyed POST'] as const).flatMap((form) => [
      point('held', form, [at(BEFORE_SENDING)], { unresumed: true }),
      point('held', form, [EXPIRED]),
    ]),
    ...(['POST', 'keyed GET'] as const).map((form) =>
      point('held', form, [at(AFTER_ANSWER)], { unresumed: true }),
    ),
    ...[BEFORE_SENDING, AFTER_ANSWER].flatMap((edge) =>
      (['POST', 'keyed POST'] as const).map((form) =>
        point('held', form, [at(edge)], { identified: true }),
      ),
    ),
  ],
  answered: [
    ...ANSWERED.map((edge, index) =>
      point('held', inTurn(['keyed GET', 'GET', 'keyed POST', 'POST'], index), [at(edge)]),
    ),
    ...['caller read', 'journal put settled after'].map((edge) =>
      point('held', 'keyed POST', [at(edge)], { identified: true }),
    ),
  ],
  waiting: [
    ...(['POST', 'keyed GET'] as const).map((form) =>
      point('held', form, [at('facilitator verifies')]),
    ),
    ...FORMS.map((form) => point('held', form, [at('facilitator settles')])),
    ...(['GET', 'keyed POST'] as const).map((form) =>
      point('held', form, [at('payment is processed', 1, SLOWLY)]),
    ),
    ...FORMS.slice(0, 2).map((form) => point('swap', form, [at('swap is processed', 1, SLOWLY)])),
    ...['rpc sendTransaction after', 'rpc getSignatureStatuses before'].map((edge, index) =>
      point('swap', inTurn(FORMS, index), [at(edge, 1, IN_FLIGHT)]),
    ),
  ],
  swap: [
    ...SWAPPING.map((edge, index) => point('swap', inTurn(FORMS, index), [at(edge)])),
    ...AFTER_SWAP.map((edge, index) =>
      point('swap', inTurn(FORMS, index), [at(edge)], { thrice: true }),
    ),
    point('swap', 'POST', [SWAP_EXPIRED]),
    ...[SWAP_UNSENT, SWAPPED].map((kill, index) =>
      point('swap', inTurn(FORMS, index), [kill], { unresumed: true }),
    ),
  ],
  disk: [
    ...[
      ...MAKING,
      ...['reserved', 'answered', 'signed'].map((content) => `disk write ${content} torn`),
      ...['settled', 'gone'].flatMap(writing),
    ].map((edge, index) => point('held', inTurn(FORMS, index), [at(edge)])),
    point('swap', 'GET', [at('disk write swap torn')]),
    ...REWRITING.map((kill) => point('held', 'keyed GET', [kill])),
  ],
  again: [
    ...again('held', UNSENT, 'POST', [inResume('rpc getSignaturesForAddress after')]),
    ...again('held', EXPIRED, 'keyed POST', [
      inResume('rpc getFirstAvailableBlock after'),
      inResume('journal put unsettled after'),
      inResume('disk write unsettled torn'),
      inResume('event payment.unsettled'),
      at('journal reserve after'),
      at('seller paid after'),
    ]),
    ...again('held', SETTLED, 'GET', [
      inResume('rpc getTransaction after'),
      inResume('journal put settled after'),
      inResume('disk write settled torn'),
      ...around('journal put told').map((edge) => at(edge)),
    ]),
    ...again('held', UNSENT, 'keyed GET', [
      ...around('seller paid').map((edge) => at(edge)),
      at('event payment.answered'),
    ]),
    ...again('held', RESERVED, 'keyed GET', [
      ...around('journal release').map((edge) => inResume(edge)),
      inResume('disk write release torn'),
      at('journal reserve after'),
    ]),
    ...again('held', RESERVED, 'GET', [inResume('disk write seat torn')]),
    ...again('swap', SWAP_UNSENT, 'POST', [
      ...around('journal put abandoned').map((edge) => inResume(edge)),
      inResume('disk write abandoned torn'),
      ...around('rpc sendTransaction', 'journal put unpaid').map((edge) => at(edge)),
      at('signer payment after'),
      at('seller paid after'),
    ]),
    ...again('swap', SWAP_EXPIRED, 'GET', [
      inResume('journal release before'),
      at('journal put swap after'),
      at('rpc sendTransaction after', 1, IN_FLIGHT),
    ]),
    point('held', 'GET', [
      UNSENT,
      inResume('rpc getEpochInfo before'),
      at('seller paid after'),
      at('journal put told before'),
    ]),
    ...['disk write history torn', 'disk write sealed torn', 'disk rename journal after'].map(
      (edge, index) =>
        point('held', inTurn(FORMS, index), [at(edge), inResume('disk write seat after')]),
    ),
    point('swap', 'keyed POST', [
      SWAP_UNSENT,
      at('rpc sendTransaction after'),
      at('journal put signed after', 1, { expire: true }),
      at('seller paid after'),
    ]),
  ],
} satisfies Readonly<Record<string, readonly Point[]>>;
