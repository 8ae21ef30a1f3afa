import { Resolver } from 'node:dns/promises';
import { throwIfAborted } from '../../src/internal/abort.js';

/** Returns all numeric addresses of a name. Rejects when the signal fires. */
export type Resolve = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;

const TRY_MS = 5_000;
const TRIES = 2;

/**
 * Asks DNS directly for IPv4 and IPv6 addresses. `dns.lookup` would also use the hosts file and the
 * domain of this machine. And while a name server is slow, it blocks one of the few threads that
 * also write files.
 */
export const resolveByDns: Resolve = async (hostname, signal) => {
  // RFC 6761: never ask DNS for localhost. Only allowed private targets come to this line.
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
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    const [failed] = answers.flatMap((answer) =>
      answer.status === 'rejected' ? [answer.reason as unknown] : [],
    );
    if (found.length === 0) throw failed;
    return found;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
};
