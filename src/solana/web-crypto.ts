export const ED25519 = { name: 'Ed25519' };

/**
 * WebCrypto, unless its Ed25519 prints a warning: Node did until 20.20, 22.13 and 23.5. Absent
 * before Node 19 and in insecure pages.
 */
export function quietSubtle(): SubtleCrypto | undefined {
  // The types promise both everywhere; neither is there in each runtime.
  const { crypto, process } = globalThis as {
    crypto?: Partial<Crypto>;
    process?: { versions?: { node?: string } };
  };
  const node = process?.versions?.node;
  const [major = NaN, minor = NaN] = (node ?? '').split('.').map(Number);
  const firstQuiet: Readonly<Record<number, number>> = { 20: 20, 22: 13, 23: 5 };
  if (node !== undefined && major < 24 && !(minor >= (firstQuiet[major] ?? Infinity)))
    return undefined;
  return crypto?.subtle;
}
