import type { PolicyOptions } from '../../src/policy/policy.js';
import type { LimitOptions } from '../../src/policy/limits.js';
import type { Timeouts } from '../../src/config/options.js';
import type { StepName } from '../../src/events.js';
import type { NodeState } from './node.js';
import { OWN_MINTS, PYUSD, SOL, USDC, USDT } from './places.js';
import { createRandom, type Random } from './random.js';
import type { ServiceState } from './service.js';
import type { SocketState } from './socket.js';

/** How a caller reads the body of an answer. A `stalls` reader stops half way and keeps the body. */
export type Reader =
  'text' | 'json' | 'bytes' | 'stream' | 'clone' | 'half' | 'late' | 'stalls' | 'never';

export type Answer =
  | 'bare'
  | 'breaks'
  | 'error'
  | 'busy'
  | 'again'
  | 'denied'
  | 'lost'
  | 'hangs'
  | 'redirects'
  | 'pending';
/** A seller's answer to a request without a payment, instead of its terms. */
export type Door = 'busy' | 'lost' | 'moves' | 'moves with its method';
/** A fault of the relayer. It signs anew what the client sent: the transaction has another id. */
export type RelayerTrouble = 'is lost' | 'hangs' | 'refuses' | 'is dear' | 'changes' | 'signs anew';
export type Settling = 'late' | 'never' | 'denies' | 'twice';
export type Terms =
  | 'own token'
  | 'new tokens'
  | 'raises'
  | 'other payees'
  | 'version 1'
  | 'young version 1'
  | 'memo'
  | 'payment id'
  | 'in SOL'
  | 'in PYUSD'
  | 'many'
  | 'many tokens';

/**
 * An event or a fault of a run. A plan is a list of parts, so dropping a part shrinks the run.
 * Times are in milliseconds.
 */
export type Part =
  | {
      readonly kind: 'buy';
      readonly at: number;
      readonly seller: number;
      readonly item: number;
      readonly client: number;
      readonly key: boolean;
      /** The item with the key that the call brings, if it brings a key: mostly its own. */
      readonly under: number;
      /** True if the key comes in a header. */
      readonly inHeader: boolean;
      readonly repeatable: boolean;
      readonly reader: Reader;
      readonly tries: number;
      readonly gap: number;
      readonly method: 'GET' | 'POST';
      /** True if the caller gets the payment header by `pay`, and sends it itself. */
      readonly own: boolean;
      /** True if the caller calls `plan` first. */
      readonly plans: boolean;
      /** Milliseconds that the caller waits for the chain with `settled`, before it reads. */
      readonly settles: number | undefined;
      /** Milliseconds after which the caller aborts a try. */
      readonly abort: number | undefined;
      /** The caller aborts its first `times` tries `ms` after a step, and calls again at once. */
      readonly stops:
        { readonly step: StepName; readonly ms: number; readonly times: number } | undefined;
    }
  | {
      readonly kind: 'kill';
      readonly at: number;
      readonly calls: number;
      readonly power: boolean;
      readonly down: number;
    }
  | {
      readonly kind: 'node';
      readonly node: number;
      readonly what: keyof NodeState;
      readonly size: number;
      readonly at: number;
      readonly until: number;
    }
  | {
      readonly kind: 'market';
      readonly what: 'isDown' | 'hanging' | 'gone' | 'failing' | 'stealing' | 'busy' | 'tampering';
      readonly share: number;
      readonly at: number;
      readonly until: number;
    }
  | { readonly kind: 'fork'; readonly at: number; readonly slots: number; readonly again: boolean }
  | { readonly kind: 'jump'; readonly at: number; readonly ms: number }
  | {
      readonly kind: 'dust' | 'spend';
      readonly at: number;
      readonly mint: string;
      readonly amount: number;
    }
  | { readonly kind: 'terms'; readonly seller: number; readonly what: Terms; readonly size: number }
  | {
      readonly kind: 'answer';
      readonly seller: number;
      readonly what: Answer;
      readonly share: number;
    }
  | { readonly kind: 'door'; readonly seller: number; readonly what: Door; readonly share: number }
  | {
      readonly kind: 'settling';
      readonly seller: number;
      readonly what: Settling;
      readonly share: number;
      readonly delay: number;
    }
  | { readonly kind: 'sends'; readonly share: number }
  | {
      readonly kind: 'service';
      readonly what: keyof ServiceState;
      readonly share: number;
      readonly at: number;
      readonly until: number;
    }
  | {
      readonly kind: 'socket';
      readonly what: keyof SocketState;
      readonly share: number;
      readonly at: number;
      readonly until: number;
    }
  | {
      readonly kind: 'relayer';
      readonly what: RelayerTrouble;
      readonly share: number;
      readonly at: number;
      readonly until: number;
    }
  /**
   * A fault of the signer, of a step of the journal, or of all its steps. A step that `fails` is not
   * done. A step that `is lost` is done, but its caller gets an error.
   */
  | {
      readonly kind: 'port';
      readonly step: string;
      readonly what: 'fails' | 'is lost' | 'comes late' | 'answers late';
      readonly share: number;
      readonly ms: number;
      readonly at: number;
      readonly until: number;
    }
  /**
   * Closes a client at a step of its payment, not before `at`; or at `at` if there is no step. A
   * new client takes its place at once, or after the close if `waits` is set.
   */
  | {
      readonly kind: 'close';
      readonly at: number;
      readonly step: StepName | undefined;
      readonly waits: boolean;
    }
  /**
   * A caller orders a swap, which the caps count if `counted` is set. If `isBounded` is set, it is
   * no worse than a quote.
   */
  | {
      readonly kind: 'swap';
      readonly at: number;
      readonly client: number;
      readonly input: string;
      readonly output: string;
      readonly mode: 'ExactIn' | 'ExactOut';
      readonly amount: number;
      readonly counted: boolean;
      readonly isBounded: boolean;
      readonly tries: number;
      readonly abort: number | undefined;
    }
  /** A caller calls a method of a client beside the payments. */
  | {
      readonly kind: 'tend';
      readonly at: number;
      readonly client: number;
      readonly what: 'warm' | 'resume' | 'balance';
    }
  /** The signed bytes for `item` are also sent to the service with the key of item `under`. */
  | { readonly kind: 'theft'; readonly item: number; readonly under: number };

/** A cap in the simulator's own form. */
export interface Limit {
  /** `USD`, `lamports`, `swaps`, `payments` or a mint. */
  readonly unit: string;
  /** In the unit; dollars in millionths. */
  readonly limit: bigint;
  /** 0 if the cap is for each payment; undefined if it has no window. */
  readonly windowMs: number | undefined;
  /** `*`: a cap for each host. */
  readonly host?: string | undefined;
  /** `*`: a cap for each payee. */
  readonly payee?: string | undefined;
}

export interface Plan {
  readonly seed: number;
  readonly clients: number;
  readonly nodes: number;
  /** True if the journal is a file, which outlives the process. */
  readonly isDurable: boolean;
  /** False if clients use the journal that the library keeps for the wallet. */
  readonly hasJournal: boolean;
  /** True if all calls of a run share a signal, which never fires. */
  readonly hasSignal: boolean;
  /** True if callers use a service in the process and sign its plans, without a client. */
  readonly isService: boolean;
  readonly autoSwap: boolean;
  readonly resign: 0 | 1;
  /** Thousandths of a dollar: the float of USDC that clients keep. */
  readonly topUp: { readonly below: number; readonly to: number } | undefined;
  /** True if clients get quotes, swaps and balances from a service at `apiUrl`. */
  readonly isRemote: boolean;
  /** True if every second client neither swaps nor pays ahead: another program of the owner. */
  readonly isMixed: boolean;
  /** True if the first node has a WebSocket. */
  readonly hasSocket: boolean;
  /** True if clients have a relayer, which pays for swaps if the wallet has too little SOL. */
  readonly relays: boolean;
  /** Share of plans that `policy.approve` approves; undefined if there is no such hook. */
  readonly approves: number | undefined;
  /** True if the hook asks its clients for budget and balance before it answers. */
  readonly looks: boolean;
  /** What the hook does with any other plan. */
  readonly refusal: 'no' | 'throws' | 'hangs';
  /** Mints to swap from; undefined if the library chooses. */
  readonly swapFrom: readonly string[] | undefined;
  readonly timeouts: Timeouts | undefined;
  readonly retryWindow: number | undefined;
  /** A second process on the same journal. */
  readonly twins: boolean;
  /** True if clients pay ahead at all sellers. */
  readonly presigns: boolean;
  /** True if sellers say how long their terms hold, and clients pay ahead by that. */
  readonly states: boolean;
  /** True if a new process settles the open payments after the world has healed. */
  readonly endsAnew: boolean;
  /** Balances of the wallet in base units by mint; its lamports under `lamports`. */
  readonly funds: Readonly<Record<string, bigint>>;
  /** Price of each seller in millionths of a dollar. */
  readonly prices: readonly number[];
  readonly limits: readonly Limit[];
  readonly parts: readonly Part[];
  readonly length: number;
}

export const hostOf = (seller: number): string => `s${seller}.test`;
/** Returns the item of a URL, at any host. */
export const itemOf = (url: string | URL): string => new URL(url).searchParams.get('id') ?? '';
export const isSeller = ({ host }: URL): boolean => /^s\d\.test$/.test(host);

/** Returns the number of callers that want an item, each without a key. */
export function callersOf({ parts }: Plan, item: string): number {
  const wants = (part: Part) => part.kind === 'buy' && !part.key && String(part.item) === item;
  return parts.filter(wants).length;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * Makes the plan of a seed. Each kind of fault is only in some plans, so that no fault hides the
 * effects of another fault.
 */
export function planOf(seed: number): Plan {
  const random = createRandom(`plan ${seed}`);
  const length = random.pick([2, 4, 4, 12]) * MINUTE;
  const nodes = random.pick([1, 1, 2, 3]);
  const isDurable = random.chance(0.6);
  const isService = random.chance(0.2);
  const presigns = random.fork('presign').chance(0.25);
  const parts: Part[] = [];
  const swarm = (name: string, share: number, add: (random: Random) => void): void => {
    const own = random.fork(name);
    if (own.chance(share)) add(own);
  };
  const time = (own: Random) => own.int(0, length);
  const span = (own: Random) => {
    const at = own.chance(0.5) ? 0 : own.int(0, length);
    return { at, until: own.chance(0.5) ? length : at + own.int(1_000, length) };
  };

  for (let seller = 0; seller < 3; seller += 1) {
    const each = (name: string, share: number, add: (random: Random) => void) =>
      swarm(`${name} ${seller}`, share, add);
    each('token', 0.45, (own) =>
      parts.push({
        kind: 'terms',
        seller,
        what: own.pick(['own token', 'new tokens', 'in SOL', 'in PYUSD']),
        size: own.int(0, 9),
      }),
    );
    each('form', 0.3, (own) =>
      parts.push({ kind: 'terms', seller, what: own.pick(FORMS), size: own.int(8, 24) }),
    );
    each('raise', 0.15, (own) =>
      parts.push({ kind: 'terms', seller, what: 'raises', size: own.int(5, 200) }),
    );
    each('settling', 0.5, (own) => {
      const what = own.pick<Settling>(['late', 'late', 'never', 'never', 'denies', 'twice']);
      parts.push({
        kind: 'settling',
        seller,
        what,
        share: own.pick([0.3, 1]),
        delay: own.int(1_000, 70_000),
      });
    });
    each('answer', 0.6, (own) => {
      const what = own.pick<Answer>([
        'bare',
        'breaks',
        'breaks',
        'error',
        'busy',
        'again',
        'denied',
        'lost',
        'hangs',
        'redirects',
        'pending',
      ]);
      parts.push({ kind: 'answer', seller, what, share: own.pick([0.3, 0.7, 1]) });
    });
  }
  for (let seller = 0; seller < 3; seller += 1)
    swarm(`door ${seller}`, 0.25, (own) => {
      const what = own.pick<Door>(['busy', 'lost', 'moves', 'moves with its method']);
      parts.push({ kind: 'door', seller, what, share: own.pick([0.3, 0.7, 1]) });
    });
  swarm('node', 0.5, (own) => {
    for (let node = 0; node < nodes; node += 1) {
      if (own.chance(0.3)) continue;
      // A node tells at most a single kind of lie, because the library does not promise to survive
      // two kinds at once.
      const { what, size } = lieOf(own);
      parts.push({ kind: 'node', node, what, size, ...span(own) });
    }
  });
  swarm('outage', 0.2, (own) => {
    const what = own.pick(['isDown', 'behind'] as const);
    parts.push({
      kind: 'node',
      node: own.int(0, nodes - 1),
      what,
      size: own.int(10, 200),
      ...span(own),
    });
  });
  swarm('busy', 0.12, (own) => {
    const busy = { what: 'busy' } as const;
    if (own.chance(0.5))
      parts.push({ kind: 'market', ...busy, share: own.pick([0.3, 0.9]), ...span(own) });
    for (let node = 0; node < nodes; node += 1)
      parts.push({ kind: 'node', node, ...busy, size: own.pick([0, 30, 90]), ...span(own) });
  });
  swarm('payees', 0.08, (own) =>
    parts.push({ kind: 'terms', seller: own.int(0, 2), what: 'other payees', size: 0 }),
  );
  swarm('market', 0.35, (own) =>
    parts.push({
      kind: 'market',
      what: own.pick(['isDown', 'hanging', 'hanging', 'gone', 'failing', 'failing', 'stealing']),
      share: own.pick([0.3, 0.6, 1]),
      ...span(own),
    }),
  );
  swarm('tampering', 0.15, (own) =>
    parts.push({
      kind: 'market',
      what: 'tampering',
      share: own.pick([0.3, 0.6, 1]),
      ...span(own),
    }),
  );
  swarm('sends', 0.2, (own) => parts.push({ kind: 'sends', share: own.pick([0.3, 0.9, 1]) }));
  const relays = !isService && random.fork('relays').chance(0.15);
  swarm('relayer', relays ? 0.6 : 0, (own) => {
    for (let count = own.int(1, 3); count > 0; count -= 1)
      parts.push({
        kind: 'relayer',
        what: own.pick(['is lost', 'hangs', 'refuses', 'is dear', 'changes', 'signs anew']),
        share: own.pick([0.3, 0.6, 1]),
        ...span(own),
      });
  });
  const isRemote = !isService && random.fork('remote').chance(0.15);
  swarm('service', isRemote ? 0.7 : 0, (own) => {
    for (const what of own.pick([['failing'], ['lying'], ['lying'], ['failing', 'lying']] as const))
      parts.push({ kind: 'service', what, share: own.pick([0.2, 0.5, 1]), ...span(own) });
  });
  const hasSocket = random.fork('has socket').chance(0.25);
  swarm('socket', hasSocket ? 0.7 : 0, (own) => {
    for (const what of ['refusing', 'silent', 'lying', 'closing'] as const)
      if (own.chance(0.4))
        parts.push({ kind: 'socket', what, share: own.pick([0.05, 0.3, 1]), ...span(own) });
  });
  swarm('journal', 0.35, (own) => {
    for (let count = own.int(1, 3); count > 0; count -= 1)
      parts.push({
        kind: 'port',
        step: own.pick(JOURNAL_STEPS),
        what: own.pick(['fails', 'is lost', 'comes late', 'answers late']),
        share: own.pick([0.1, 0.4, 1]),
        ms: own.pick([500, 5_000, 12_000, 40_000]),
        ...span(own),
      });
  });
  swarm('signer', isService ? 0 : 0.15, (own) =>
    parts.push({
      kind: 'port',
      step: 'signer',
      what: own.pick(['fails', 'is lost', 'comes late', 'answers late', 'answers late']),
      share: own.pick([0.3, 1]),
      ms: own.pick([5_000, 60_000, 130_000, 300_000]),
      ...span(own),
    }),
  );
  swarm('close', isService ? 0 : 0.2, (own) => {
    for (let count = own.int(1, 4); count > 0; count -= 1)
      parts.push({
        kind: 'close',
        at: time(own),
        step: own.pick(STEPS),
        waits: own.chance(0.5),
      });
  });
  swarm('close at once', isService ? 0 : 0.15, (own) => {
    for (let count = own.int(1, 4); count > 0; count -= 1)
      parts.push({ kind: 'close', at: time(own), step: undefined, waits: own.chance(0.5) });
  });
  swarm('more jumps', 0.06, (own) => {
    for (let count = own.int(1, 3); count > 0; count -= 1)
      parts.push({
        kind: 'jump',
        at: time(own),
        ms: own.pick([-1, 1]) * own.pick([2_000, MINUTE]),
      });
  });
  swarm('fork', 0.15, (own) =>
    parts.push({ kind: 'fork', at: time(own), slots: own.int(2, 25), again: own.chance(0.5) }),
  );
  swarm('jump', 0.12, (own) =>
    parts.push({
      kind: 'jump',
      at: time(own),
      ms: own.pick([-1, 1]) * own.pick([2_000, MINUTE, HOUR]),
    }),
  );
  const transfers = [
    ['dust', 2_000],
    ['spend', 3_000_000],
  ] as const;
  for (const [kind, most] of transfers)
    swarm(kind, 0.15, (own) =>
      parts.push({
        kind,
        at: time(own),
        mint: own.pick([USDC, USDT, SOL]),
        amount: own.int(1, most),
      }),
    );
  swarm('kill', isDurable ? 0.5 : 0, (own) => {
    for (let count = own.int(1, 3); count > 0; count -= 1) {
      const calls = own.chance(0.3) ? 0 : own.int(1, 60);
      parts.push({
        kind: 'kill',
        at: time(own),
        calls,
        power: own.chance(0.3),
        down: own.pick([0, 1_000, MINUTE]),
      });
    }
  });

  const more = random.fork('more');
  const extra = more.chance(isService ? 0 : 0.7);
  const [below, gap] = [more.pick([50, 300, 900]), more.pick([100, 700, 1_500])];
  const topUp = extra && more.chance(0.6) ? { below, to: below + gap } : undefined;
  const approves = extra && more.chance(0.25) ? more.pick([0.5, 0.9, 1]) : undefined;
  const retryWindow = extra && more.chance(0.2) ? more.pick([0, 5_000]) : undefined;
  const twins = extra && isDurable && more.chance(0.4);
  const bounding = random.fork('bounding');
  swarm('swaps', extra ? 0.5 : 0, (own) => {
    for (let count = own.int(1, 6); count > 0; count -= 1)
      parts.push({
        kind: 'swap',
        at: own.chance(0.5) ? own.int(0, 1_000) : time(own),
        client: own.int(0, 3),
        input: own.pick([USDC, USDT, SOL, PYUSD, 'own']),
        output: own.pick([USDC, USDT, SOL, PYUSD, 'own']),
        mode: own.pick(['ExactIn', 'ExactOut']),
        amount: own.int(1_000, 900_000),
        counted: own.chance(0.7),
        isBounded: bounding.chance(0.3),
        tries: own.int(1, 3),
        abort: own.chance(0.2) ? own.int(50, 5_000) : undefined,
      });
  });

  swarm('tending', isService ? 0 : 0.3, (own) => {
    for (let count = own.int(1, 8); count > 0; count -= 1)
      parts.push({
        kind: 'tend',
        at: own.chance(0.5) ? own.int(0, 2_000) : time(own),
        client: own.int(0, 3),
        what: own.pick(['warm', 'resume', 'resume', 'balance']),
      });
  });

  const settling = random.fork('settled');
  const awaits = settling.chance(0.3);
  const buying = random.fork('buying');
  const ways = random.fork('ways');
  const byThemselves = ways.pick([0, 0, 0.3, 1]);
  const clients = buying.pick([1, 1, 2, 4]);
  const usual = buying.chance(presigns ? 1 : 0.5) ? buying.int(0, 2) : undefined;
  // A seller that answers a payment with a new 402 is the likeliest to be paid twice.
  if (usual !== undefined)
    swarm('again', presigns ? 0.6 : 0, () =>
      parts.push({ kind: 'answer', seller: usual, what: 'again', share: 0.5 }),
    );
  const crowd = buying.chance(0.3);
  const stopping = random.fork('stopping');
  const stops = stopping.chance(isService ? 0 : 0.3);
  const reading = random.fork('reading');
  const naming = random.fork('naming');
  const [borrows, repeats, pairs] = [0.15, 0.2, 0.2].map((share) => naming.chance(share));
  const lingers = reading.chance(0.25);
  const patience = buying.pick([1, 3, 3, 6]);
  const lingering = (usual: Reader): Reader =>
    lingers && reading.chance(0.6) ? reading.pick<Reader>(['late', 'stalls', 'never']) : usual;
  for (
    let item = buying.pick(isService ? [1, 2, 4, 8, 16, 24] : [1, 2, 4, 4, 8, 16]);
    item > 0;
    item -= 1
  ) {
    const key = buying.chance(0.35);
    const seller = usual ?? buying.int(0, 2);
    const buy: Part & { kind: 'buy' } = {
      kind: 'buy',
      at: crowd ? buying.int(0, 300) : buying.int(0, length),
      seller,
      item,
      client: buying.int(0, clients - 1),
      key,
      under: borrows && naming.chance(0.5) ? 1 : item,
      inHeader: naming.chance(0.3),
      repeatable: repeats === true && naming.chance(0.6),
      reader: lingering(
        buying.pick<Reader>(['text', 'text', 'json', 'bytes', 'stream', 'clone', 'half']),
      ),
      tries: buying.int(1, patience),
      gap: buying.pick([100, 5_000, 30_000, 90_000]),
      method: buying.chance(0.5) ? 'GET' : 'POST',
      settles:
        awaits && settling.chance(0.7) ? settling.pick([0, 500, 30_000, 300_000]) : undefined,
      abort: buying.chance(0.1) ? buying.int(50, 5_000) : undefined,
      stops:
        stops && stopping.chance(0.6)
          ? {
              step: stopping.pick(STEPS),
              ms: stopping.pick([0, 0, 100, 400, 2_000]),
              times: stopping.int(1, 4),
            }
          : undefined,
      own: !key && ways.chance(byThemselves),
      plans: ways.chance(0.25),
    };
    parts.push(buy);
    // Two concurrent calls with the same key are a single purchase.
    if (key && buying.chance(0.2))
      parts.push({
        ...buy,
        at: buy.at + buying.pick([0, 500, 20_000]),
        client: buying.int(0, clients - 1),
      });
    // Two concurrent calls without a key are a purchase each.
    if (!key && pairs && naming.chance(0.5))
      parts.push({
        ...buy,
        at: buy.at + naming.pick([0, 0, 500, 20_000]),
        client: naming.int(0, clients - 1),
      });
  }

  swarm('theft', isService ? 0.4 : 0, (own) => {
    const items = parts.flatMap((part) => (part.kind === 'buy' ? [part.item] : []));
    parts.push({ kind: 'theft', item: own.pick(items), under: own.pick(items) });
  });

  // A seller that refuses a payment, and settles it while a second payment is made.
  const regrets = !isService && random.fork('regrets').chance(0.1);
  swarm('regret', regrets ? 1 : 0, (own) => {
    const seller = own.int(0, 2);
    parts.push({ kind: 'answer', seller, what: 'again', share: 1 });
    const delay = own.int(200, 4_000);
    parts.push({ kind: 'settling', seller, what: 'late', share: 1, delay });
  });

  const money = random.fork('money');
  const scarce = money.chance(presigns ? 0.3 : 0.7);
  const amount = (whole: number) => BigInt(Math.floor(money.next() * whole * 1_000_000));
  const lamports = money.pick([5_000_000, 60_000_000, 400_000_000]);
  const poor = random.fork('poor');
  const choosing = random.fork('swap from');
  const wallet = random.fork('wallet');
  const own = wallet.chance(0.2) ? OWN_MINTS.slice(0, wallet.int(1, 3)) : [];
  return {
    ...{ seed, clients, nodes, isDurable, isService, presigns, length },
    ...{ topUp, retryWindow, twins, relays, isRemote, hasSocket },
    approves: approves ?? (regrets ? 1 : undefined),
    isMixed: random.fork('mixed').chance(0.15),
    hasJournal: isDurable || isService || random.fork('own journal').chance(0.5),
    states: !presigns && random.fork('states').chance(0.12),
    looks: random.fork('looks').chance(0.3),
    refusal: random.fork('refusal').pick(['no', 'no', 'throws', 'hangs']),
    swapFrom: choosing.chance(0.25)
      ? [USDT, SOL, PYUSD, USDC, ...own].filter(() => choosing.chance(0.5))
      : undefined,
    timeouts: timeoutsOf(random.fork('timeouts')),
    hasSignal: ways.chance(0.3),
    autoSwap: money.chance(0.8) || topUp !== undefined,
    resign: money.chance(0.15) || regrets ? 1 : 0,
    endsAnew: random.fork('end').chance(0.5),
    funds: {
      lamports: BigInt(
        poor.chance(relays ? 0.8 : 0.1) ? poor.pick([0, 890_880, 2_000_000, 3_500_000]) : lamports,
      ),
      [USDC]: scarce ? amount(0.5) : amount(20),
      [USDT]: money.chance(0.6) ? amount(20) : 0n,
      [PYUSD]: money.chance(0.2) ? amount(20) : 0n,
      [SOL]: money.chance(0.1) ? amount(20) : 0n,
      ...Object.fromEntries(own.map((mint) => [mint, BigInt(wallet.int(1, 20_000_000_000))])),
    },
    prices: [0, 1, 2].map(() => money.pick([1, 10_000, 90_000, 300_000, 950_000])),
    limits: limitsOf(random.fork('limits')),
    parts,
  };
}

function timeoutsOf(own: Random): Timeouts | undefined {
  if (!own.chance(0.12)) return undefined;
  return {
    payment: own.pick([2_000, 20_000, 120_000]),
    journal: own.pick([400, 3_000]),
    signer: own.pick([1_000, 30_000]),
    rpc: own.pick([300, 3_000]),
  };
}

/** Steps of a journal that may fail; steps that decide about a signature are listed more often. */
const JOURNAL_STEPS = [
  ...['reserve', 'put', 'put', 'put', 'raise', 'release', 'similar', 'attempts.next', 'used'],
  ...['claims.take', 'claims.drop', 'claims.drop', 'claims.drop', 'claims.live', 'ledger'],
  ...['ledger.hold', 'journal'],
];

const STEPS: readonly StepName[] = [
  'payment.required',
  'payment.chosen',
  'balance.checked',
  'swap.quoted',
  'swap.signed',
  'swap.confirmed',
  'payment.signed',
  'payment.signed',
  'payment.sent',
  'payment.sent',
  'payment.answered',
  'payment.uncertain',
  'payment.settled',
];

const FORMS: readonly Terms[] = [
  'version 1',
  'version 1',
  'young version 1',
  'memo',
  'payment id',
  'many',
  'many tokens',
];

/** Lies of a node with their sizes; lies that once hid a payment have more weight. */
const LIES: readonly (readonly [
  what: keyof NodeState,
  sizes: readonly number[],
  weight: number,
])[] = [
  ['indexBehind', [60, 250, 250, 2_000], 3],
  ['statusBehind', [5, 60, 250, 2_000], 1],
  ['accountsBehind', [5, 60, 250, 2_000], 1],
  ['heightOff', [-400, -400, -100, 400], 2],
  ['slotOff', [-250, 250], 1],
  ['isHasty', [1], 1],
];

function lieOf(own: Random): { what: keyof NodeState; size: number } {
  const [what, sizes] = own.pick(LIES.flatMap((lie) => Array.from({ length: lie[2] }, () => lie)));
  return { what, size: own.pick(sizes) };
}

function limitsOf(own: Random): Limit[] {
  const usd = (limit: number, windowMs: number | undefined, host?: string): Limit => ({
    unit: 'USD',
    limit: BigInt(limit),
    windowMs,
    host,
  });
  const limits = [usd(1_000_000, 0), usd(own.pick([10_000_000, 2_000_000]), DAY)];
  if (own.chance(0.4)) limits.push(usd(own.pick([500_000, 1_000_000, 2_500_000]), undefined));
  if (own.chance(0.25))
    limits.push(usd(own.pick([400_000, 1_000_000]), DAY, hostOf(own.int(0, 2))));
  if (own.chance(0.2)) limits.push(usd(own.pick([300_000, 1_000_000]), own.pick([MINUTE, HOUR])));
  limits.push({
    unit: 'lamports',
    limit: BigInt(own.pick([50_000_000, 50_000_000, 4_200_000, 2_200_000, 60_000])),
    windowMs: DAY,
  });
  if (own.chance(0.2))
    limits.push({
      unit: 'swaps',
      limit: BigInt(own.int(1, 4)),
      windowMs: own.pick([MINUTE, HOUR]),
    });
  if (own.chance(0.15))
    limits.push({
      unit: 'payments',
      limit: BigInt(own.int(1, 5)),
      windowMs: own.pick([MINUTE, HOUR]),
    });
  const units = own.fork('units');
  if (units.chance(0.25))
    limits.push({
      unit: units.pick([USDC, USDT]),
      limit: BigInt(units.pick([100_000, 400_000, 1_000_000])),
      windowMs: units.pick([0, MINUTE, HOUR, DAY]),
      ...(units.chance(0.2) ? { host: hostOf(units.int(0, 2)) } : {}),
    });
  const each = own.fork('each');
  if (each.chance(0.3)) {
    const limit = BigInt(each.pick([100_000, 400_000, 1_000_000]));
    const about = each.chance(0.5) ? { host: '*' } : { payee: '*' };
    limits.push({ unit: 'USD', limit, windowMs: each.pick([0, MINUTE, HOUR, DAY]), ...about });
  }
  return limits;
}

/** Returns the limits in the form of the library's options. */
export function policyOf({ limits, resign, topUp }: Plan): PolicyOptions {
  const float = (milli: number) => (milli / 1000).toFixed(3);
  const dollars = (micro: bigint) =>
    `${micro / 1_000_000n}.${String(micro % 1_000_000n).padStart(6, '0')}`;
  const find = (unit: Limit['unit'], windowMs: number | undefined) =>
    limits.find(
      (limit) =>
        limit.unit === unit &&
        limit.windowMs === windowMs &&
        (limit.host ?? limit.payee) === undefined,
    );
  const named = [find('USD', 0), find('USD', DAY), find('USD', undefined), find('lamports', DAY)];
  const [payment, day, total, lamports] = named;
  const others: LimitOptions[] = limits
    .filter((limit) => !named.includes(limit))
    .map(({ unit, limit, windowMs, host, payee }) => ({
      ...(unit === 'USD'
        ? { usd: dollars(limit) }
        : unit === 'lamports'
          ? { lamports: limit }
          : unit === 'swaps' || unit === 'payments'
            ? { [unit]: Number(limit) }
            : { amount: limit, mint: unit }),
      per:
        windowMs === 0
          ? 'payment'
          : windowMs === MINUTE
            ? 'minute'
            : windowMs === HOUR
              ? 'hour'
              : 'day',
      ...(host === undefined ? {} : { host }),
      ...(payee === undefined ? {} : { payee }),
    }));
  return {
    ...(payment && { maxPerPayment: dollars(payment.limit) }),
    ...(day && { maxPerDay: dollars(day.limit) }),
    ...(total && { maxTotal: dollars(total.limit) }),
    ...(lamports && { maxLamportsPerDay: lamports.limit }),
    ...(topUp && { topUp: { token: 'USDC', below: float(topUp.below), to: float(topUp.to) } }),
    limits: others,
    resign,
  };
}
