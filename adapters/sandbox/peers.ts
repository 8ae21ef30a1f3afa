/** The optional peers of the sandbox, at the versions it is made for, and how each is loaded. */
export const PEERS: readonly Peer[] = [
  { name: '@solana/kit', range: '^5.5.1', load: () => import('@solana/kit') },
  { name: '@x402/core', range: '^2.27.0', load: () => import('@x402/core/server') },
  { name: '@x402/express', range: '^2.27.0', load: () => import('@x402/express') },
  { name: '@x402/svm', range: '^2.27.0', load: () => import('@x402/svm') },
  { name: 'express', range: '^5.0.0', load: () => import('express') },
  { name: 'litesvm', range: '^1.4.1', load: () => import('litesvm') },
  { name: 'ws', range: '^8.18.0', load: () => import('ws') },
];

export interface Peer {
  readonly name: string;
  readonly range: string;
  readonly load: () => Promise<unknown>;
}

/** Optional packages of the sandbox are not installed. */
export class MissingDependencyError extends Error {
  readonly code = 'missing_dependency';
  /** Names of the packages. */
  readonly packages: readonly string[];

  constructor(peers: readonly Peer[], cause: unknown) {
    const specs = peers.map(({ name, range }) => `'${name}@${range}'`).join(' ');
    const names = peers.map(({ name }) => name).join(', ');
    super(`The sandbox needs packages that are not installed: ${names}. Install them with: npm install --save-dev ${specs}`, { cause });
    this.name = 'MissingDependencyError';
    this.packages = peers.map(({ name }) => name);
  }
}

/** Rejects with a {@link MissingDependencyError} that names every missing peer at once. An error inside an installed one goes through as it is. */
export async function requirePeers(peers: readonly Peer[] = PEERS): Promise<void> {
  const results = await Promise.allSettled(peers.map((peer) => peer.load()));
  const missing: Peer[] = [];
  let cause: unknown;
  results.forEach((result, index) => {
    const peer = peers[index];
    if (result.status === 'fulfilled' || peer === undefined) return;
    if (!isNotFound(result.reason)) throw result.reason;
    missing.push(peer);
    cause ??= result.reason;
  });
  if (missing.length > 0) throw new MissingDependencyError(missing, cause);
}

function isNotFound(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || !('code' in error)) return false;
  return error.code === 'ERR_MODULE_NOT_FOUND' || error.code === 'MODULE_NOT_FOUND';
}
