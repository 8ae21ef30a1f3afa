import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isExactChangeError } from 'exact-change';
import { sleep } from './measure.js';
import { payers, type Kind, type Payer, type PayerOptions } from './payers.js';
import { answer, cpuMs } from './process.js';

// One client alone in its process: what the process takes, the client takes.

let payer: Payer | undefined;
/** Milliseconds of requests to sellers, up to their status. */
let legsMs = 0;

const paying = (): Payer => {
  if (payer === undefined) throw new Error('No client is open.');
  return payer;
};

/** Every client finds it as the global one at each call. */
function timeLegs(nodes: readonly string[]): void {
  const { fetch } = globalThis;
  globalThis.fetch = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const from = performance.now();
    const response = await fetch(input, init);
    if (!nodes.some((node) => url.startsWith(node))) legsMs += performance.now() - from;
    return response;
  };
}

async function pay(url: string): Promise<{ readonly ms: number; readonly outsideMs: number }> {
  legsMs = 0;
  const from = performance.now();
  const response = await paying().fetch(url);
  const ms = performance.now() - from;
  const outsideMs = ms - legsMs;
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  await response.text();
  return { ms, outsideMs };
}

const client = {
  async open(kind: Kind, options: PayerOptions) {
    timeLegs([options.rpcUrl, options.jupiterUrl]);
    payer = await payers[kind](options);
  },
  prepare: (url: string, count: number) => paying().prepare(url, count),
  /** Pays one after the other; CPU to the end of all that the payments leave to do. */
  async batch(url: string, count: number) {
    const before = cpuMs();
    const each: { readonly ms: number; readonly outsideMs: number }[] = [];
    while (each.length < count) each.push(await pay(url));
    await paying().settled();
    return { each, cpuMs: (cpuMs() - before) / count };
  },
  /** Pays at once, or one every so many milliseconds. */
  async crowd(url: string, count: number, everyMs = 0) {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const from = performance.now();
    const codes = await Promise.all(
      Array.from({ length: count }, async (_, at) => {
        if (everyMs > 0) await sleep(at * everyMs);
        return pay(url).then(() => 'paid', codeOf);
      }),
    );
    const ms = performance.now() - from;
    delay.disable();
    await paying().settled();
    const refused = codes.filter((code) => code !== 'paid');
    return { ms, stallMs: delay.max / 1e6, paid: count - refused.length, refused };
  },
};

function codeOf(error: unknown): string {
  return isExactChangeError(error) ? error.code : String(error);
}

export type Client = typeof client;
answer(client);
