import { Connection } from '@solana/web3.js';
import { ConfigError } from '../../errors.js';
import { hideAddress } from '../../internal/redact.js';
import { explainShape, explainWeb3Error } from './failover.js';
import type { Node } from './failover.js';
import { shownHost } from './fault.js';
import { rpcFetch } from './fetch.js';
import { COMMITMENT } from './tip.js';

export function toNode(url: string, given: typeof fetch | undefined): Node {
  return {
    host: shownHost(url),
    // One for each attempt costs microseconds, and binds its requests to that attempt's signal:
    // Connection takes none.
    connect: (signal) =>
      new Connection(url, {
        commitment: COMMITMENT,
        fetch: rpcFetch(given, signal),
        // web3.js would print to the console while it waits. No httpAgent either, not even false:
        // its build for browsers prints at any.
        disableRetryOnRateLimit: true,
      }),
    explain: explainShape,
  };
}

/** A Connection of the caller's has a fetch and errors of its own. */
export function ownNode(connection: Connection): Node {
  hideAddress(connection.rpcEndpoint);
  return {
    host: shownHost(connection.rpcEndpoint),
    connect: () => connection,
    explain: explainWeb3Error,
  };
}

export function checkUrls(option: string, urls: readonly string[], protocol: RegExp): void {
  const isUsable = (text: string) => {
    try {
      return protocol.test(new URL(text).protocol);
    } catch {
      return false;
    }
  };
  if (urls.length > 0 && urls.every(isUsable)) return;
  // The value is not quoted: such urls often carry a key.
  const kind = option === 'wsUrl' ? 'a ws: or wss: url' : 'one or more http: or https: urls';
  throw new ConfigError('invalid_option', `The option ${option} has to be ${kind}.`, {
    details: { option },
  });
}
