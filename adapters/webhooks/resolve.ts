import { Resolver } from 'node:dns/promises';
import { throwIfAborted } from '../../src/internal/abort.js';

/** All addresses of a name, in numbers. Ends when the signal does. */
export type Resolve = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;

const TRY_MS = 5_000;
const TRIES = 2;

/**
 * Asks DNS itself, for both kinds of addresses. `dns.lookup` would add what only this machine knows
 * (its hosts file, its own domain), and holds one of the few threads that files are written by for
 * as long as a slow name server likes.
 */
export const resolveByDns: Resolve = async (hostname, signal) => {
  // RFC 6761: never asked for. Only if private targets are allowed it comes to this.
  if (/(?:^|\.)localhost$/.test(hostname)) return ['127.0.0.1', '::1'];
  throwIfAborted(signal);
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES });
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const answers = await Promise.allSettled([
      resolver.resolve4(hostname),
      resolver.resolve6(hostname),
    ]);
    const found = answers.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    const [failed] = answers.flatMap((one) =>
      one.status === 'rejected' ? [one.reason as unknown] : [],
    );
    if (found.length === 0) throw failed;
    return found;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
};
