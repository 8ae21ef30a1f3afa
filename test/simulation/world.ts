import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExactChangeError, ParsedOffer, Plan as Approved } from '../../src/index.js';
import { leakIn, NODE_KEYS } from './keys.js';
import { mintAccount, tokenAccount, wallet } from './accounts.js';
import { createClock, type Clock } from './clock.js';
import { createLedger, SLOT_MS, type Ledger } from './ledger.js';
import { calm, createMarket, PINNED, vaultOf, type MarketState, type Token } from './market.js';
import { answerRpc, honest, type NodeState } from './node.js';
import {
  accountOf,
  FACILITATOR,
  OWN_MINTS,
  POOL_AUTHORITY,
  RELAYER,
  RELAYER_PAYEE,
  SELLERS,
  STRANGER,
  TOKEN,
  TOKEN_2022,
  WALLET,
} from './places.js';
import { hostOf, type Part, type Plan } from './plan.js';
import { strikeBy, type Strike, type Trouble } from './ports.js';
import { createRandom, type Random } from './random.js';
import { createRelayer, type Relayer, type RelayerTroubles } from './relayer.js';
import { createSeller, type Seller, type Served } from './seller.js';
import type { ServiceState } from './service.js';
import { createSockets, type SocketState } from './socket.js';
import { createStranger } from './stranger.js';
import { createWork, type Work } from './work.js';
import { createTraffic, type Traffic } from './traffic.js';

/** Everything around the process: the chain, nodes, Jupiter, sellers, and their faults. */
export interface World {
  readonly plan: Plan;
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly tokens: readonly Token[];
  readonly random: Random;
  /** Answers a request of the process or of a caller. */
  serve(
    url: URL,
    init: { readonly method: string; readonly headers: Headers; readonly body: string },
  ): Promise<Served>;
  /** Runs a step of the journal or of the signer, with the current faults. */
  readonly strike: Strike;
  /** Schedules a fault after `ms`; it does not happen if the world has healed by then. */
  upset(ms: number, call: () => void): void;
  /** Ends all faults. */
  heal(): void;
  readonly traffic: Traffic;
  readonly relayer: Pick<Relayer, 'asked'>;
  /** Current faults of the service at `apiUrl`. */
  readonly service: Readonly<ServiceState>;
  readonly work: Work;
  /** Returns payments that sellers could not accept although they fit the terms. */
  misfits(): readonly string[];
  /** Signal that all calls of a run share, if the plan has a signal. */
  readonly signal: AbortSignal | undefined;
  /** Checks a text that a caller sees for API keys. */
  shows(text: string): void;
  readonly lies: string[];
  /** Plans that `policy.approve` approved. */
  readonly approvals: Approved[];
  /** The ordered swap that the current work is for. */
  readonly ordering: AsyncLocalStorage<{ readonly counted: boolean }>;
  /** API keys found in texts that a caller sees. */
  readonly leaks: readonly string[];
  /** Offers that the service called settled. */
  readonly settled: ParsedOffer[];
  /** Errors of calls that pay. */
  readonly thrown: Thrown[];
  /** Ids of attempts that belong to a call already: equal calls may run at once. */
  readonly attemptsOfCalls: Set<string>;
  /** Functions that cancel the unread bodies that callers keep. */
  readonly kept: (() => Promise<void>)[];
  trace(line: string): void;
  readonly lines: readonly string[];
}

/** An error of a call that pays, with the call's item. */
export interface Thrown {
  readonly item: string;
  readonly at: number;
  /** Ids of the call's attempts. */
  readonly ids: ReadonlySet<string>;
  readonly error: ExactChangeError;
}

export const NODE_URLS: readonly string[] = NODE_KEYS.map(
  (key, node) => `https://n${node}.test/${key}`,
);
export const JUPITER_URL = 'https://jup.test';
export const SERVICE_URL = 'https://service.test';
export const RELAYER_URL = 'https://relay.test';

export function createWorld(plan: Plan): World & { install(): () => void } {
  const random = createRandom(`world ${plan.seed}`);
  const clock = createClock(random.fork('clock'));
  const lines: string[] = [];
  const leaks: string[] = [];
  const work = createWork(clock);
  const trace = (line: string) => void lines.push(`${(clock.now() / 1000).toFixed(3)} ${line}`);
  const market = calm();
  const decimals = random.fork('decimals');
  const ownTokens: Token[] = OWN_MINTS.map((mint, index) => ({
    ...{ mint, worth: 0n, decimals: decimals.int(0, 9) },
    program: index % 4 === 3 ? TOKEN_2022 : TOKEN,
  }));
  const tokens = [...PINNED, ...ownTokens];
  const traders = createMarket(tokens, market, random.fork('market'));
  const ledger = createLedger(`chain ${plan.seed}`, clock, traders.venue);
  createAccounts(ledger, plan, tokens);
  // A token that the wallet holds has a price, or no swap could take it.
  const worths = random.fork('worths');
  for (const { mint, worth } of tokens)
    if (worth === 0n && plan.funds[mint] !== undefined)
      market.prices.set(mint, BigInt(worths.pick([1_000, 100_000, 950_000])));

  const nodes = Array.from({ length: plan.nodes }, honest);
  const sellers: Seller[] = SELLERS.map((_, number) =>
    createSeller(number, {
      plan,
      parts: plan.parts,
      ledger,
      market,
      tokens,
      random: random.fork(`seller ${number}`),
      after: clock.after,
    }),
  );
  const service: ServiceState = { failing: 0, lying: 0 };
  const socket: SocketState = { refusing: 0, silent: 0, lying: 0, closing: 0 };
  const relayerTroubles: RelayerTroubles = new Map();
  const relayer = createRelayer(tokens, relayerTroubles, random.fork('relayer'));
  const stranger = createStranger(ledger, tokens, random.fork('stranger'));
  const troubles = new Set<Trouble>();
  let losing = 0;
  let isHealed = false;
  const upset = (ms: number, call: () => void) => clock.after(ms, () => !isHealed && call());
  for (const part of plan.parts) schedule(part);

  function schedule(part: Part): void {
    if (part.kind === 'node') {
      const state: NodeState | undefined = nodes[part.node];
      if (state === undefined) return;
      const set = (size: number) => {
        if (part.what === 'isDown' || part.what === 'isHasty') state[part.what] = size !== 0;
        else state[part.what] = size;
      };
      upset(part.at, () => set(part.size));
      upset(part.until, () => set(0));
    }
    if (part.kind === 'market') {
      const set = (share: number) => {
        if (part.what === 'isDown') market.isDown = share > 0;
        else market[part.what] = share;
      };
      upset(part.at, () => set(part.share));
      upset(part.until, () => set(0));
    }
    if (part.kind === 'port') {
      upset(part.at, () => void troubles.add(part));
      upset(part.until, () => void troubles.delete(part));
    }
    if (part.kind === 'sends') losing = part.share;
    if (part.kind === 'service') {
      upset(part.at, () => void (service[part.what] = part.share));
      upset(part.until, () => void (service[part.what] = 0));
    }
    if (part.kind === 'socket') {
      upset(part.at, () => void (socket[part.what] = part.share));
      upset(part.until, () => void (socket[part.what] = 0));
    }
    if (part.kind === 'relayer') {
      upset(part.at, () => void relayerTroubles.set(part.what, part.share));
      upset(part.until, () => void relayerTroubles.delete(part.what));
    }
    if (part.kind === 'jump') upset(part.at, () => clock.jump(part.ms));
    if (part.kind === 'dust') upset(part.at, () => stranger.send(part.mint, part.amount));
    if (part.kind === 'spend') upset(part.at, () => stranger.spend(part.mint, part.amount));
    if (part.kind === 'fork') {
      upset(part.at, () => {
        const from = ledger.slot();
        clock.after(part.slots * SLOT_MS, () => {
          const dropped = ledger.drop(from);
          trace(`fork of ${part.slots} slots dropped with ${dropped.length} transactions`);
          if (part.again) for (const { bytes } of dropped) ledger.land(bytes);
        });
      });
    }
  }

  const chance = random.fork('network');
  const crowd = random.fork('crowd');
  const tooMany = () => ({
    ms: crowd.int(5, 60),
    response: new Response('Too many requests', {
      status: 429,
      headers: crowd.chance(0.5) ? { 'retry-after': '1' } : {},
    }),
  });
  return {
    ...{
      plan,
      clock,
      ledger,
      tokens,
      random,
      upset,
      trace,
      lines,
      leaks,
      lies: [],
      approvals: [],
      ordering: new AsyncLocalStorage(),
      settled: [],
      thrown: [],
      attemptsOfCalls: new Set(),
      kept: [],
      traffic: createTraffic(clock),
      relayer,
      service,
      work,
    },
    shows(text) {
      const leak = leakIn(text);
      if (leak !== undefined) leaks.push(leak);
    },
    strike: strikeBy(troubles, random.fork('ports'), trace),
    misfits: () => sellers.flatMap(({ misfits }) => misfits),
    signal: plan.hasSignal ? new AbortController().signal : undefined,
    install() {
      const undo = clock.install();
      const sockets = createSockets(ledger, socket, random.fork('socket'));
      if (plan.hasSocket) Reflect.set(globalThis, 'WebSocket', sockets);
      return undo;
    },
    async serve(url, { method, headers, body }) {
      const node = NODE_URLS.indexOf(url.href);
      if (node >= 0) {
        const state = nodes[node];
        if (state === undefined || state.isDown) return chance.chance(0.5) ? 'lost' : 'hangs';
        if (crowd.chance(state.busy / 100)) return tooMany();
        const submit = (bytes: Uint8Array) => {
          if (chance.chance(losing)) return;
          clock.after(chance.int(200, 1_500), () => void ledger.land(relayer.sends(bytes)));
        };
        return {
          ms: chance.int(5, 60),
          response: new Response(answerRpc(ledger, state, url.href, body, submit)),
        };
      }
      if (url.origin === RELAYER_URL) return relayer.serve(body);
      if (url.origin === JUPITER_URL) {
        work.asksJupiter(url);
        if (chance.chance(market.hanging)) return 'hangs';
        if (crowd.chance(market.busy)) return tooMany();
        const { status, body: answer } = traders.answer(
          method,
          url,
          body,
          headers.get('x-api-key') ?? '',
        );
        return {
          ms: chance.int(20, 150),
          response: new Response(JSON.stringify(answer), { status }),
        };
      }
      const seller = sellers.find((_, number) => url.host === hostOf(number));
      const served = seller === undefined ? 'lost' : await seller.serve(url, headers);
      if (typeof served !== 'string' && served.response?.status === 402) work.isPriced();
      return served;
    },
    heal() {
      isHealed = true;
      for (const state of nodes) Object.assign(state, honest());
      Object.assign(market, {
        isDown: false,
        hanging: 0,
        gone: 0,
        failing: 0,
        stealing: 0,
        busy: 0,
        tampering: 0,
      } satisfies Partial<MarketState>);
      losing = 0;
      troubles.clear();
      relayerTroubles.clear();
      Object.assign(service, { failing: 0, lying: 0 } satisfies ServiceState);
      Object.assign(socket, {
        ...{ refusing: 0, silent: 0, lying: 0, closing: 0 },
      } satisfies SocketState);
    },
  };
}

/** Creates the accounts that exist when the world begins. */
function createAccounts(ledger: Ledger, { funds }: Plan, tokens: readonly Token[]): void {
  // Nodes give lamports as JSON numbers, so the amounts stay below 2^53.
  const plenty = 10n ** 15n;
  ledger.put(FACILITATOR, wallet(plenty));
  ledger.put(RELAYER, wallet(plenty));
  ledger.put(STRANGER, wallet(plenty));
  ledger.put(WALLET, wallet(funds['lamports'] ?? 0n), STRANGER);
  ledger.put(POOL_AUTHORITY, wallet(plenty));
  for (const token of tokens) {
    const { mint, program, decimals } = token;
    ledger.put(mint, mintAccount(program, decimals));
    ledger.put(vaultOf(token), tokenAccount(program, mint, POOL_AUTHORITY, plenty));
    for (const payee of [...SELLERS, RELAYER_PAYEE])
      ledger.put(accountOf(payee, mint, program), tokenAccount(program, mint, payee, 0n));
    ledger.put(accountOf(STRANGER, mint, program), tokenAccount(program, mint, STRANGER, plenty));
    const held = funds[mint] ?? 0n;
    if (held > 0n)
      ledger.put(
        accountOf(WALLET, mint, program),
        tokenAccount(program, mint, WALLET, held),
        STRANGER,
      );
  }
}
